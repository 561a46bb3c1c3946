// A person learns from the run whom its processes refuse, once, and as often as they look.
#include "runtime/cluster/watch/refused_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/supervisor_bench.h"

namespace shoal::refused_peers_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr ProcessIncarnation kFirst{1};
constexpr ProcessIncarnation kSecond{2};

PeerRefused refusal(const std::string& name, ProcessIncarnation process = kFirst) {
  return {process, ProcessRole::kNode, name};
}

TEST(RefusedPeers, AreNamedWithWhoRefusesThem) {
  RefusedPeers peers;
  EXPECT_EQ(peers.explain(), "");
  EXPECT_TRUE(peers.hear(refusal("guest"), "node1"));
  EXPECT_FALSE(peers.hear(refusal("guest"), "node1")) << "said again";
  EXPECT_TRUE(peers.hear(refusal("guest", kSpawnerProcess), "spawner"));
  EXPECT_TRUE(peers.hear({kFirst, ProcessRole::kStorage, "storage"}, "node1"));
  EXPECT_EQ(peers.explain(),
            "; refused for crashes: node/guest by node1, node/guest by spawner, storage/storage by node1 (the event "
            "peer_refused says what lets it in again)");
}

TEST(RefusedPeers, AreOnlyWhoCanBeOne) {
  RefusedPeers peers;
  EXPECT_FALSE(peers.hear({kFirst, ProcessRole::kSpawner, "spawner"}, "node1")) << "by which it is in";
  EXPECT_FALSE(peers.hear(refusal(""), "node1"));
  EXPECT_FALSE(peers.hear(refusal(std::string(RefusedPeers::kNameBytesMax + 1, 'n')), "node1"));
  EXPECT_TRUE(peers.hear(refusal(std::string(RefusedPeers::kNameBytesMax, 'n')), "node1")) << "the control";
}

TEST(RefusedPeers, AreForgottenWithWhoSaidSoAndWhenTheyAreThrownOut) {
  RefusedPeers peers;
  EXPECT_TRUE(peers.hear(refusal("guest", kFirst), "node1"));
  EXPECT_TRUE(peers.hear(refusal("guest", kSecond), "node2"));
  EXPECT_TRUE(peers.hear(refusal("other", kSecond), "node2"));
  peers.forget(kFirst);
  EXPECT_THAT(peers.explain(), HasSubstr(": node/guest by node2, node/other by node2"));
  EXPECT_TRUE(peers.hear(refusal("guest", ProcessIncarnation{3}), "node1")) << "its next life";
  peers.forget_node("guest");
  EXPECT_THAT(peers.explain(), HasSubstr(": node/other by node2 ("));
  peers.forget(kSecond);
  EXPECT_EQ(peers.explain(), "");
}

TEST(RefusedPeers, S6AreBoundedForEachProcessAndInAll) {
  RefusedPeers peers;
  for (std::uint64_t process = 1; process <= RefusedPeers::kKeptMax; ++process) {
    for (std::uint64_t peer = 0; peer <= RefusedPeers::kOfOneMax; ++peer) {
      const bool has_room =
          peer < RefusedPeers::kOfOneMax && (process - 1) * RefusedPeers::kOfOneMax + peer < RefusedPeers::kKeptMax;
      const auto one = refusal("n" + std::to_string(peer), ProcessIncarnation{process});
      ASSERT_EQ(peers.hear(one, "node" + std::to_string(process)), has_room) << process << ' ' << peer;
    }
  }
  peers.forget(kFirst);
  EXPECT_FALSE(peers.hear(refusal("late", kSecond), "node2")) << "it has said enough";
  EXPECT_TRUE(peers.hear(refusal("late", ProcessIncarnation{99}), "node99")) << "there is room again";
}

TEST(RefusedPeers, StandInTheStatusAndInTheMetrics) {
  SupervisorBench bench;
  bench.train();
  EXPECT_THAT(bench.core.explain_waiting(bench.now), Not(HasSubstr("refused")));
  for (int again = 0; again < 3; ++again) bench.hear(refusal("guest", kSpawnerProcess));
  bench.hear(refusal("other", ProcessIncarnation{999}));
  EXPECT_THAT(bench.core.explain_waiting(bench.now), HasSubstr("refused for crashes: node/guest by spawner ("));
  const auto events = bench.all<RunEvent>();
  EXPECT_EQ(std::ranges::count(events, "node/guest", &RunEvent::subject), 1);
  EXPECT_EQ(std::ranges::count(events, "node/other", &RunEvent::subject), 0) << "nobody of that number is in";
}

TEST(RefusedPeers, StandInTheStatusAlsoWhileNodesAreWaitedFor) {
  SupervisorBench bench;
  bench.hear(refusal("guest", kSpawnerProcess));
  ASSERT_NE(bench.core.phase(), SupervisorCore::Phase::kTraining);
  EXPECT_THAT(bench.core.explain_waiting(bench.now), HasSubstr("refused for crashes: node/guest by spawner ("));
}

TEST(RefusedPeers, AProcessThatIsLostSaysNothingAnyMore) {
  SupervisorBench bench;
  bench.train();
  const ProcessIncarnation process = bench.process_of(0, 0);
  bench.hear(refusal("guest", process));
  EXPECT_THAT(bench.core.explain_waiting(bench.now), HasSubstr("node/guest by "));
  bench.lose(process);
  EXPECT_THAT(bench.core.explain_waiting(bench.now), Not(HasSubstr("node/guest")));
}

TEST(RefusedPeers, ANodeThatIsThrownOutIsListedNoLonger) {
  SupervisorBench bench;
  bench.hear(refusal("guest", kSpawnerProcess));
  bench.hear(Revocations{1, {{"guest", {}}}});
  EXPECT_THAT(bench.core.explain_waiting(bench.now), Not(HasSubstr("node/guest")));
}

}  // namespace
}  // namespace shoal::refused_peers_test
