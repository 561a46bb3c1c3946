// Path policies: what each promises, fairness by measured speed, bans, and a control that fairness is not free.
#include "runtime/pipeline/path_planner.h"

#include <map>
#include <random>

#include <gmock/gmock.h>

#include "runtime/base/ensure.h"

namespace shoal::path_planner_test {
namespace {

using namespace std::chrono_literals;

Incarnation replica(std::uint64_t number) { return Incarnation{number}; }

struct Swarm {
  Members members;
  std::set<Incarnation> without_credit;
  Instant now{};

  std::optional<std::vector<Incarnation>> plan(PathPlanner& planner, std::uint32_t microbatch,
                                               const std::map<StageId, Incarnation>* held = nullptr) {
    return planner.plan({MicrobatchId{microbatch}, Purpose::kTrain, &members, &without_credit, held}, now);
  }
};

// Plans `count` microbatches; each hop takes its replica's milliseconds. How many each replica got.
std::map<Incarnation, int> drive(PathPlanner& planner, Swarm& swarm, const std::map<Incarnation, float>& speed_ms,
                                 std::uint32_t count) {
  std::map<Incarnation, int> visits;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto path = swarm.plan(planner, i);
    std::vector<Hop> trail;
    for (const Incarnation hop : path.value()) {
      ++visits[hop];
      trail.push_back({hop, 0, speed_ms.at(hop), 0});
    }
    planner.learn(trail);
  }
  return visits;
}

TEST(PathPlanner, StaticSendsMicrobatchIToReplicaIModuloR) {
  Swarm swarm{{{replica(1), replica(2)}, {replica(3), replica(4), replica(5)}}, {}, {}};
  const auto planner = make_path_planner(Routing::kStatic, 1);
  for (std::uint32_t i = 0; i < 12; ++i) {
    EXPECT_THAT(swarm.plan(*planner, i).value(),
                testing::ElementsAre(swarm.members[0][i % 2], swarm.members[1][i % 3]));
  }
}

TEST(PathPlanner, StaticWaitsForTheCreditsOfItsOneReplica) {
  Swarm swarm{{{replica(1), replica(2)}}, {replica(1)}, {}};
  const auto planner = make_path_planner(Routing::kStatic, 1);
  EXPECT_EQ(swarm.plan(*planner, 0), std::nullopt);
  EXPECT_NE(swarm.plan(*planner, 1), std::nullopt);
}

TEST(PathPlanner, UniformIsAFunctionOfItsSeed) {
  Swarm swarm{{{replica(1), replica(2), replica(3)}}, {}, {}};
  const auto draws = [&](std::uint64_t seed) {
    const auto planner = make_path_planner(Routing::kUniform, seed);
    std::vector<Incarnation> out;
    for (std::uint32_t i = 0; i < 64; ++i) out.push_back(swarm.plan(*planner, i)->front());
    return out;
  };
  EXPECT_EQ(draws(7), draws(7));
  EXPECT_NE(draws(7), draws(8));
}

TEST(PathPlanner, UniformGivesEveryReplicaItsShare) {
  Swarm swarm{{{replica(1), replica(2), replica(3)}}, {}, {}};
  const auto planner = make_path_planner(Routing::kUniform, 3);
  const auto visits = drive(*planner, swarm, {{replica(1), 1}, {replica(2), 1}, {replica(3), 1}}, 3000);
  for (const auto& [who, count] : visits) EXPECT_NEAR(count, 1000, 120) << who;
}

// In proportion to measured speed, for any speeds; the control: uniform does not.
TEST(PathPlanner, IwrrPassesByNobodyInStepsOfFewMicrobatches) {
  Swarm swarm{{{replica(1), replica(2), replica(3)}}, {}, {}};
  const auto planner = make_path_planner(Routing::kIwrr, 1);
  const std::map<Incarnation, float> speeds{{replica(1), 20}, {replica(2), 20}, {replica(3), 20}};
  std::map<Incarnation, int> given;
  for (int step = 0; step < 30; ++step) {
    planner->begin_work();
    for (const auto& [hop, count] : drive(*planner, swarm, speeds, 2)) {
      given[hop] += count;
    }
  }
  for (const auto& [hop, count] : given) EXPECT_EQ(count, 20) << hop.value;
  EXPECT_EQ(given.size(), 3U);
}

TEST(PathPlanner, IwrrSharesWorkBySpeedForRandomSpeeds) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    Swarm swarm;
    std::map<Incarnation, float> speed_ms;
    double rate_sum = 0;
    swarm.members.resize(1);
    for (std::uint64_t i = 1; i <= 2 + random() % 4; ++i) {
      swarm.members[0].push_back(replica(i));
      speed_ms[replica(i)] = std::uniform_real_distribution<float>(1, 20)(random);
      rate_sum += 1 / static_cast<double>(speed_ms[replica(i)]);
    }
    const auto planner = make_path_planner(Routing::kIwrr, seed);
    const auto visits = drive(*planner, swarm, speed_ms, 4000);
    for (const auto& [who, count] : visits) {
      const double share = 1 / static_cast<double>(speed_ms[who]) / rate_sum;
      EXPECT_NEAR(count, 4000 * share, 60) << "replica " << who << " at " << speed_ms[who] << " ms";
    }
  }
  Swarm pair{{{replica(1), replica(2)}}, {}, {}};
  const auto uniform = make_path_planner(Routing::kUniform, seed);
  const auto visits = drive(*uniform, pair, {{replica(1), 1}, {replica(2), 19}}, 4000);
  EXPECT_LT(visits.at(replica(1)), 3000) << "uniform routing cannot know speeds: the check above can fail";
}

TEST(PathPlanner, ANewcomerEntersAtTheMinimumAndDoesNotGetEverything) {
  Swarm swarm{{{replica(1), replica(2)}}, {}, {}};
  const auto planner = make_path_planner(Routing::kIwrr, 1);
  const std::map<Incarnation, float> speed_ms{{replica(1), 5}, {replica(2), 5}, {replica(3), 5}};
  (void)drive(*planner, swarm, speed_ms, 1000);
  swarm.members[0].push_back(replica(3));
  const auto visits = drive(*planner, swarm, speed_ms, 300);
  EXPECT_NEAR(visits.at(replica(3)), 100, 4);
}

TEST(PathPlanner, AFailedReplicaIsPassedOverUntilItsBanEndsOrATrailShowsIt) {
  for (const Routing routing : {Routing::kIwrr, Routing::kUniform}) {
    Swarm swarm{{{replica(1), replica(2)}}, {}, Instant{} + 1h};
    const auto planner = make_path_planner(routing, 1);
    planner->failed(replica(1), swarm.now);
    for (std::uint32_t i = 0; i < 20; ++i) EXPECT_EQ(swarm.plan(*planner, i)->front(), replica(2));
    planner->learn({{replica(1), 0, 1, 0}});
    bool is_back = false;
    for (std::uint32_t i = 0; i < 40; ++i) is_back = is_back || swarm.plan(*planner, i)->front() == replica(1);
    EXPECT_TRUE(is_back);
  }
}

TEST(PathPlanner, ABanNeverLeavesAStageWithoutACandidate) {
  Swarm swarm{{{replica(1)}}, {}, Instant{} + 1h};
  const auto planner = make_path_planner(Routing::kIwrr, 1);
  planner->failed(replica(1), swarm.now);
  EXPECT_EQ(swarm.plan(*planner, 0)->front(), replica(1));
}

TEST(PathPlanner, AnEndedBanIsProbedWithOneMicrobatch) {
  Swarm swarm{{{replica(1), replica(2)}}, {}, Instant{} + 1h};
  const auto planner = make_path_planner(Routing::kIwrr, 1);
  planner->failed(replica(1), swarm.now);
  for (std::uint32_t i = 0; i < 10; ++i) (void)swarm.plan(*planner, i);
  swarm.now += PathPlanner::kBan + 1s;
  int probes = 0;
  for (std::uint32_t i = 0; i < 10; ++i) probes += swarm.plan(*planner, i)->front() == replica(1) ? 1 : 0;
  EXPECT_EQ(probes, 1);
}

TEST(PathPlanner, WhatSomebodyHoldsGoesThereAndIsItsLoad) {
  for (const Routing routing : {Routing::kStatic, Routing::kUniform, Routing::kIwrr}) {
    Swarm swarm{{{replica(1), replica(2)}}, {}, {}};
    const auto planner = make_path_planner(routing, 1);
    const std::map<StageId, Incarnation> held{{StageId{0}, replica(2)}};
    const std::map<StageId, Incarnation> gone{{StageId{0}, replica(9)}};
    for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(swarm.plan(*planner, i, &held).value().front(), replica(2));
    EXPECT_TRUE(swarm.plan(*planner, 6, &gone).has_value()) << "whoever is no member holds nothing";
    if (routing != Routing::kIwrr) continue;
    for (std::uint32_t i = 7; i < 11; ++i) EXPECT_EQ(swarm.plan(*planner, i).value().front(), replica(1));
  }
}

TEST(PathPlanner, AReplacementIsTheSameForWhoeverAsks) {
  const std::vector<Incarnation> members{replica(1), replica(2), replica(3)};
  for (std::uint32_t i = 0; i < 8; ++i) {
    const auto once = replacement_hop(members, MicrobatchId{i}, replica(2));
    EXPECT_NE(once, replica(2));
    EXPECT_EQ(once, replacement_hop(members, MicrobatchId{i}, replica(2)));
    EXPECT_EQ(once, replacement_hop({replica(1), replica(3)}, MicrobatchId{i}, replica(2)));
  }
  EXPECT_EQ(replacement_hop({replica(2)}, MicrobatchId{0}, replica(2)), std::nullopt);
}

TEST(PathPlanner, AnEmptyStageIsABug) {
  Swarm swarm{{{replica(1)}, {}}, {}, {}};
  const auto planner = make_path_planner(Routing::kIwrr, 1);
  EXPECT_THROW((void)swarm.plan(*planner, 0), Bug);
}

}  // namespace
}  // namespace shoal::path_planner_test
