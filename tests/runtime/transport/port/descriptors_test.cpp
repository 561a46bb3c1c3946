// A process that has no descriptor left for who comes to its port, tried in a process of its own: it waits, says so
// once, and goes on when there are some again.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "tests/runtime/transport/caf_process.h"
#include "tests/runtime/transport/stranger.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::descriptors_test {
namespace {

using std::chrono::milliseconds;
using test_support::CafProcess;
using test_support::TestRun;

constexpr milliseconds kLook{1'000};
const std::vector<PeerRole> kRoles = {PeerRole::kSpawner, PeerRole::kNode};

std::vector<Socket> take_all_descriptors() {
  std::vector<Socket> taken;
  for (;;) {
    Socket one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!one.is_open()) return taken;
    taken.push_back(std::move(one));
  }
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Tells what went wrong; empty: nothing.
std::string trouble_without_descriptors() {
  const TestRun run(0x5eed);
  CafProcess spawner(run.files(PeerRole::kSpawner, "spawner"), run.policy(kRoles));
  CafProcess node(run.files(PeerRole::kNode, "node1"), run.policy(kRoles));
  CafProcess late(run.files(PeerRole::kNode, "late"), run.policy(kRoles));
  const std::uint16_t port = spawner.publish();
  const auto speaker = node.connect(port);
  if (node.ask(speaker, "before") != "heard before") return "the node did not reach the spawner";

  const rlimit few{256, 256};
  if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return "the limit cannot be lowered";
  std::vector<Socket> taken = take_all_descriptors();
  if (taken.size() < 2) return "more descriptors are open than the limit";
  taken.pop_back();
  const Socket waiting = test_support::connect_raw(port);  // takes the last one
  const double before = processor_seconds();
  if (wait_readable(waiting.descriptor(), deadline_in(kLook))) return "who waits was let in";
  if (processor_seconds() - before > 0.1 * std::chrono::duration<double>(kLook).count()) return "it spins";
  const std::uint64_t pauses = spawner.transport().counters().accept_pauses;
  if (pauses < 2 || pauses > 10) return "it has paused " + std::to_string(pauses) + " times";
  if (node.ask(speaker, "meanwhile") != "heard meanwhile") return "the node does not reach the spawner any more";

  taken.clear();
  if (late.ask(late.connect(port), "after") != "heard after") return "nobody comes in afterwards";
  return {};
}

TEST(Descriptors, ThatAreMissingStopThePortForAWhileAndAreToldOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto tried = [] {
    const std::string trouble = trouble_without_descriptors();
    std::fputs(trouble.c_str(), stderr);
    std::exit(trouble.empty() ? 0 : 1);
  };
  const std::string told = "no descriptor is left";
  EXPECT_EXIT(tried(), ::testing::ExitedWithCode(0),
              ::testing::AllOf(::testing::ContainsRegex(told),
                               ::testing::Not(::testing::ContainsRegex(told + "(.|\n)*" + told))));
}

}  // namespace
}  // namespace shoal::descriptors_test
