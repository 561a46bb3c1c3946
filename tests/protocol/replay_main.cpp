// Says whether the traces of runs are paths of the model, or what the first event is that the model does not allow.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/trace/report/run_trace.h"
#include "tests/protocol/observed/run.h"

namespace shoal::observed {
namespace {

constexpr int kAllowed = 0, kRefused = 1, kUsage = 2, kUnknown = 3;
constexpr std::size_t kTold = 12;  // events of the same process before the one that is refused

void tell_before(const RunTrace& trace, std::size_t event) {
  std::vector<std::size_t> before;
  for (std::size_t i = event; i-- > 0 && before.size() < kTold;) {
    if (trace.events[i].life == trace.events[event].life) before.push_back(i);
  }
  std::reverse(before.begin(), before.end());
  for (const std::size_t i : before) std::printf("    %s\n", text_of(trace, i).c_str());
}

int replay(const std::string& run) {
  const auto trace = read_run_trace(run);
  if (!trace) {
    std::fprintf(stderr, "%s\n", trace.failure().message.c_str());
    return kUnknown;
  }
  const Verdict verdict = judge(*trace);
  if (verdict.unknown) {
    std::printf("unknown: %s: %s\n", run.c_str(), verdict.unknown->c_str());
    return kUnknown;
  }
  if (verdict.is_path()) {
    std::printf("a path of the model: %s: %llu events, %zu states at most\n", run.c_str(),
                static_cast<unsigned long long>(verdict.judged), verdict.states_max);
    return kAllowed;
  }
  std::printf("no path of the model: %s: %s: %s\n", run.c_str(), verdict.objection->rule.c_str(),
              verdict.objection->text.c_str());
  if (verdict.event) {
    std::printf("  %s\n  before it:\n", text_of(*trace, *verdict.event).c_str());
    tell_before(*trace, *verdict.event);
  }
  return kRefused;
}

int replay_all(const std::vector<std::string>& runs) {
  if (runs.empty() || runs.front().starts_with("-")) {
    std::fprintf(stderr,
                 "usage: tests/protocol/replay RUN...\n"
                 "Says of each run directory whether its trace (trace.level = all) is a path of the model.\n"
                 "exit status: 0 each is, 1 one is not, 3 one cannot be judged\n");
    return kUsage;
  }
  int status = kAllowed;
  for (const std::string& run : runs) status = std::max(status, replay(run));
  return status;
}

}  // namespace
}  // namespace shoal::observed

int main(int argc, char** argv) { return shoal::observed::replay_all({argv + 1, argv + argc}); }
