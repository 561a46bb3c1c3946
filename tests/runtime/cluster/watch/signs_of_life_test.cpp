// Tests what silence, broken links and complaints come to together; each of them alone has its own test.
#include "runtime/cluster/watch/signs_of_life.h"

#include <gtest/gtest.h>

namespace shoal::signs_of_life_test {
namespace {

using namespace std::chrono_literals;
using Processes = std::vector<ProcessIncarnation>;

constexpr ProcessIncarnation kFirst{1}, kSecond{2};

// Two nodes of one stage, of whom heartbeats come every half second unless told otherwise.
class Scene {
 public:
  Scene() {
    for (const ProcessIncarnation process : {kFirst, kSecond}) {
      Join join;
      join.name = "node" + std::to_string(process.value);
      join.nonce = process.value;
      (void)processes.admit(join, process);
      signs.expect(process, now);
      parties.push_back({process, join.name, false, {StageId{0}}, 2});
    }
  }
  // The processes that are declared dead meanwhile.
  Processes pass(Duration duration, const Processes& beating = {kFirst, kSecond}) {
    Processes dead;
    for (const Instant end = now + duration; now < end;) {
      now += 500ms;
      for (const ProcessIncarnation process : beating) signs.hear(Heartbeat{process, 1, 0, {}}, now);
      for (const HealthChange& change : signs.look(now)) {
        if (change.health == Health::kDead) dead.push_back(change.process);
      }
    }
    return dead;
  }
  void break_link(ProcessIncarnation process) {
    signs.hear(ProcessLost{process, "reset by peer"}, now);
    processes.set_linked(process, false);
  }

  Instant now = Instant{} + 1h;
  SignsOfLife signs{DetectorLimits{}, ComplaintLimits{}};
  ProcessDirectory processes{FingerprintRule::kMayDiffer};
  std::vector<Party> parties;
};

TEST(SignsOfLife, WhoIsHeardOfIsTrustedAndNothingIsSaidOfIt) {
  Scene scene;
  EXPECT_TRUE(scene.pass(60s).empty());
  EXPECT_FALSE(scene.signs.is_doubtful(kFirst));
  EXPECT_EQ(scene.signs.state_of(kFirst, "serving"), "serving");
  EXPECT_EQ(scene.signs.explain(scene.parties), "");
}

TEST(SignsOfLife, SilenceIsFirstADoubtThenADeath) {
  Scene scene;
  (void)scene.pass(60s);
  EXPECT_TRUE(scene.pass(4s, {kFirst}).empty());
  EXPECT_TRUE(scene.signs.is_doubtful(kSecond));
  EXPECT_FALSE(scene.signs.is_doubtful(kFirst));
  EXPECT_EQ(scene.signs.state_of(kSecond, "serving"), "serving, silent for 4 s");
  EXPECT_EQ(scene.signs.explain(scene.parties), "; node2 is silent for 4 s");
  EXPECT_EQ(scene.pass(60s, {kFirst}), Processes{kSecond});
}

TEST(SignsOfLife, WhoIsForgottenIsNeitherDoubtedNorToldOf) {
  Scene scene;
  scene.signs.hear(Heartbeat{kSecond, 1, 0, {ActorHealth{"tracer", 1, "serving", 0, 0, {}, 0}}}, scene.now);
  ASSERT_NE(scene.signs.told_by(kSecond), nullptr);
  EXPECT_EQ(scene.signs.told_by(kSecond)->front().name, "tracer");
  EXPECT_EQ(scene.signs.told_by(kFirst), nullptr) << "it has told nothing";
  scene.signs.hear(PeerUnreachable{kFirst, kSecond, 1000}, scene.now);
  EXPECT_NE(scene.signs.explain(scene.parties), "");  // control
  scene.signs.forget(kSecond);
  EXPECT_EQ(scene.signs.told_by(kSecond), nullptr);
  EXPECT_TRUE(scene.pass(60s, {kFirst}).empty());
  scene.signs.expect(kSecond, scene.now);
  EXPECT_EQ(scene.signs.explain(scene.parties), "") << "a complaint about its last life is none about this one";
}

TEST(SignsOfLife, ABrokenLinkIsProbedUntilItIsWholeAgain) {
  Scene scene;
  (void)scene.pass(10s);
  scene.break_link(kSecond);
  EXPECT_TRUE(scene.signs.take_probes(scene.processes, scene.now).empty()) << "it is being asked";
  scene.now += LinkProbes::kAgain;
  EXPECT_EQ(scene.signs.take_probes(scene.processes, scene.now), Processes{kSecond});
  scene.processes.set_linked(kSecond, true);
  scene.now += LinkProbes::kAgain;
  EXPECT_TRUE(scene.signs.take_probes(scene.processes, scene.now).empty());

  scene.break_link(kSecond);
  scene.processes.lose(kSecond);
  scene.now += LinkProbes::kAgain;
  EXPECT_TRUE(scene.signs.take_probes(scene.processes, scene.now).empty()) << "it was given up";
}

TEST(SignsOfLife, OneOfTwoThatDoNotReachEachOtherGoes) {
  Scene scene;
  std::optional<Expulsion> goes;
  for (int second = 0; second < 10 && !goes; ++second) {
    scene.now += 1s;
    scene.signs.hear(PeerUnreachable{kFirst, kSecond, 1000}, scene.now);
    goes = scene.signs.judge(scene.parties, scene.now);
    EXPECT_NE(scene.signs.explain(scene.parties).find("node1 and node2"), std::string::npos);
  }
  ASSERT_TRUE(goes);
  EXPECT_EQ(goes->process, kSecond) << "the younger";
}

}  // namespace
}  // namespace shoal::signs_of_life_test
