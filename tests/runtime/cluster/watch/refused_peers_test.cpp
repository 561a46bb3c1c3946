// A person learns from the run whom its processes refuse, once, and as often as they look.
#include "runtime/cluster/watch/refused_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/supervisor_bench.h"

namespace shoal {
namespace {

using testing::HasSubstr;
using testing::Not;

RunEvent refusal(const std::string& certificate, const std::string& process = "node1") {
  return {std::string(kPeerRefused), certificate, process + " refuses it", 0};
}

TEST(RefusedPeers, AreNamedOnceHoweverManyRefuseThem) {
  RefusedPeers peers;
  EXPECT_EQ(peers.explain(), "");
  EXPECT_TRUE(peers.hear(refusal("node/guest#3F")));
  EXPECT_FALSE(peers.hear(refusal("node/guest#3F"))) << "said again";
  EXPECT_TRUE(peers.hear(refusal("node/guest#3F", "spawner")));
  EXPECT_TRUE(peers.hear(refusal("node/other#40")));
  EXPECT_FALSE(peers.hear(RunEvent{"joined", "node/third#41", "", 0}));
  EXPECT_THAT(peers.explain(), HasSubstr("refused by certificate: node/guest#3F, node/other#40 ("));
}

TEST(RefusedPeers, S6AreBounded) {
  RefusedPeers peers;
  for (std::uint64_t peer = 0; peer <= RefusedPeers::kKeptMax; ++peer) {
    EXPECT_TRUE(peers.hear(refusal("node/n#" + std::to_string(peer))));
  }
  EXPECT_THAT(peers.explain(), Not(HasSubstr("node/n#0,")));
  EXPECT_THAT(peers.explain(), HasSubstr("node/n#1,"));
}

TEST(RefusedPeers, StandInTheStatusAndInTheMetrics) {
  SupervisorBench bench;
  bench.train();
  EXPECT_THAT(bench.core.explain_waiting(bench.now), Not(HasSubstr("refused")));
  for (int again = 0; again < 3; ++again) bench.hear(refusal("node/guest#3F"));
  EXPECT_THAT(bench.core.explain_waiting(bench.now), HasSubstr("refused by certificate: node/guest#3F"));
  const auto events = bench.all<RunEvent>();
  EXPECT_EQ(std::ranges::count(events, "node/guest#3F", &RunEvent::subject), 1);
}

}  // namespace
}  // namespace shoal
