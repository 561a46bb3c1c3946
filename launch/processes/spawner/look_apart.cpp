// Looks are counted, so that the end of the process knows of those that go on.
#include "launch/processes/spawner/look_apart.h"

#include <unistd.h>

#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/log.h"
#include "runtime/base/machine/unhindered_stream.h"

namespace shoal {
namespace {

constexpr auto kLastWords = std::chrono::milliseconds(200);

std::atomic<int> g_looks_under_way = 0;

Result<StartPoint> outcome_of(const std::function<Result<StartPoint>()>& look) {
  try {
    return look();
  } catch (const std::exception& problem) {
    return fail(Error::kIo, compose("the look for a checkpoint failed: ", problem.what()));
  }
}

}  // namespace

void look_apart(std::function<Result<StartPoint>()> look, std::function<void(Result<StartPoint>)> tell) {
  ++g_looks_under_way;
  try {
    std::thread([look, tell]() mutable {
      tell(outcome_of(look));
      look = nullptr;  // what they hold goes before the process may end
      tell = nullptr;
      --g_looks_under_way;
    }).detach();
  } catch (const std::system_error& problem) {
    --g_looks_under_way;
    tell(fail(Error::kIo, compose("no thread can be started to look for a checkpoint: ", problem.what())));
  }
}

void end_beside_look(int status) {
  if (g_looks_under_way == 0) return;
  flush_log();
  words_out().finish(kLastWords);
  ::_exit(status);
}

}  // namespace shoal
