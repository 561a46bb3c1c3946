// Tests who serves several stages where workers are fewer than places, and who gives one up again.
#include "runtime/cluster/recovery/shared_devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "runtime/cluster/balance/shared_places.h"

namespace shoal::shared_devices_test {
namespace {

using Stages = std::map<std::uint64_t, std::vector<std::uint32_t>>;  // by process

std::vector<Worker> workers(const std::vector<std::string>& nodes) {
  std::vector<Worker> all;
  for (const std::string& node : nodes) all.push_back({ProcessIncarnation{all.size() + 1}, node});
  return all;
}

PlacesWanted wanted(std::uint32_t stages, std::uint32_t replicas) {
  return {std::vector<std::uint32_t>(stages, replicas), {}, 1};
}

Stages placed(const std::vector<std::string>& nodes, std::uint32_t stages, std::uint32_t replicas) {
  Stages found;
  const auto placements = place_shared(workers(nodes), wanted(stages, replicas));
  for (const Placement& one : placements.value()) {
    found[one.process.value].push_back(one.stage.value);
  }
  return found;
}

FreeWorker worker(std::uint64_t process) {
  const std::string name = "node" + std::to_string(process);
  return {{ProcessIncarnation{process}, name}, name};
}

// Slots of a stage are given in the order of the list.
ReplacementQuestion question(std::uint32_t replicas, const Stages& serve, const std::vector<std::uint64_t>& free = {}) {
  ReplacementQuestion asked;
  asked.stages = 2;
  asked.replicas = replicas;
  std::map<std::uint32_t, std::uint32_t> slots;
  for (const auto& [process, stages] : serve) {
    for (const std::uint32_t stage : stages) {
      const ReplicaId slot{slots[stage]++};
      asked.taken.push_back({StageId{stage}, slot, worker(process).name, ProcessIncarnation{process}});
    }
    asked.sharing.push_back(worker(process));
  }
  for (const std::uint64_t process : free) asked.free.push_back(worker(process));
  return asked;
}

Placement at(std::uint32_t stage, std::uint32_t slot, std::uint64_t process) {
  return {StageId{stage}, ReplicaId{slot}, ProcessIncarnation{process}};
}

std::optional<Placement> where(const std::optional<Replacement>& plan) {
  return plan ? std::optional(plan->placement) : std::nullopt;
}

TEST(SharedDevices, OneWorkerServesAllStagesOnce) {
  EXPECT_EQ(placed({"a"}, 3, 2), (Stages{{1, {0, 1, 2}}}));
  EXPECT_FALSE(place_shared({}, wanted(3, 2)));
}

TEST(SharedDevices, EachWorkerHasARunOfStages) {
  EXPECT_EQ(placed({"a", "b"}, 4, 1), (Stages{{1, {0, 1}}, {2, {2, 3}}}));
  EXPECT_EQ(placed({"a", "b"}, 2, 2), (Stages{{1, {0, 1}}, {2, {0, 1}}}));
  EXPECT_EQ(placed({"a", "b", "c"}, 2, 2), (Stages{{1, {0, 1}}, {2, {0}}, {3, {1}}}));
}

TEST(SharedDevices, WorkersOfANodeServeDifferentStages) {
  const auto placements = place_shared(workers({"x", "y", "x", "y"}), wanted(4, 2)).value();
  std::map<std::pair<std::uint64_t, std::uint32_t>, int> serves;  // (node, stage)
  for (const Placement& one : placements) ++serves[{one.process.value % 2, one.stage.value}];
  for (const auto& [place, times] : serves) EXPECT_EQ(times, 1) << place.first << " " << place.second;
}

TEST(SharedDevices, NoWorkerHasAStageTwiceAndLoadsAreEvenForAnyNumbers) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 2000; ++trial) {
    const auto stages = static_cast<std::uint32_t>(1 + random() % 7);
    const auto replicas = static_cast<std::uint32_t>(1 + random() % 4);
    std::vector<std::string> nodes(1 + random() % 30);
    for (std::string& node : nodes) node = std::string(1, static_cast<char>('a' + random() % 5));
    std::map<ProcessIncarnation, std::set<StageId>> loads;
    std::map<StageId, std::set<ReplicaId>> slots;
    const auto placements = place_shared(workers(nodes), wanted(stages, replicas));
    for (const Placement& one : placements.value()) {
      ASSERT_TRUE(loads[one.process].insert(one.stage).second);
      ASSERT_TRUE(slots[one.stage].insert(one.slot).second);
    }
    const std::size_t each = std::min<std::size_t>(replicas, nodes.size());
    for (std::uint32_t stage = 0; stage < stages; ++stage) ASSERT_EQ(slots[StageId{stage}].size(), each);
    const std::size_t most = (each * stages + nodes.size() - 1) / nodes.size();
    for (const auto& [process, served] : loads) ASSERT_LE(served.size(), most);
  }
}

// A worker's memory bounds the sum of its stages (P-25c).
TEST(SharedDevices, AStageIsTakenInAdditionOnlyWhereItsMemoryFitsBesideTheOthers) {
  auto asked = question(1, {{1, {0}}, {2, {}}});
  asked.needs = {{1, 4}, {1, 5}};
  asked.sharing[0].worker.offer.memory_bytes = 9;
  asked.sharing[1].worker.offer.memory_bytes = 4;
  EXPECT_EQ(where(plan_doubling(asked, Doubling::kAnybody)), at(1, 0, 1)) << "2 serves less, and has no room";
  asked.sharing[0].worker.offer.memory_bytes = 8;
  EXPECT_FALSE(plan_doubling(asked, Doubling::kAnybody)) << "each alone would fit";
  asked.free = {worker(3)};
  asked.free[0].worker.offer.memory_bytes = 4;
  asked.sharing[0].worker.offer.memory_bytes = 9;
  EXPECT_EQ(where(plan_doubling(asked, Doubling::kAnybody)), at(1, 0, 1)) << "the free one is of no use";
}

TEST(SharedDevices, AStageIsTakenOverOnlyByWhoHasRoomForIt) {
  auto asked = question(1, {{1, {0, 1}}}, {2});
  asked.needs = {{1, 4}, {1, 5}};
  asked.free[0].worker.offer.memory_bytes = 4;
  EXPECT_EQ(where(plan_take_over(asked)), at(0, 1, 2)) << "not the last one, which needs more";
  asked.free[0].worker.offer.memory_bytes = 3;
  EXPECT_FALSE(plan_take_over(asked));
}

TEST(SharedDevices, AStageThatLacksAReplicaIsTakenInAdditionByWhoServesLeast) {
  const auto plan = plan_doubling(question(2, {{1, {0, 1}}, {2, {0}}, {3, {}}}), Doubling::kAnybody);
  EXPECT_EQ(where(plan), at(1, 1, 3));
  EXPECT_EQ(plan->reason, "stage 1 has 1 of 2 replicas, and nobody is free; node3 takes it in addition");
}

TEST(SharedDevices, NobodyTakesAStageTwiceNorWhileSomebodyIsFree) {
  EXPECT_FALSE(plan_doubling(question(2, {{1, {0, 1}}}), Doubling::kAnybody));
  EXPECT_FALSE(plan_doubling(question(2, {{1, {0}}, {2, {1}}}, {3}), Doubling::kAnybody));
  EXPECT_FALSE(plan_doubling(question(1, {{1, {0}}, {2, {1}}}), Doubling::kAnybody)) << "nothing is lacking";
}

TEST(SharedDevices, WhoHadAPlaceTakesItAgainAtOnce) {
  auto asked = question(1, {{1, {0}}, {2, {}}});
  EXPECT_FALSE(plan_doubling(asked, Doubling::kWhoHadIt));
  asked.last_worker[{StageId{1}, ReplicaId{0}}] = "node1";
  EXPECT_EQ(where(plan_doubling(asked, Doubling::kWhoHadIt)), at(1, 0, 1));
  EXPECT_EQ(where(plan_doubling(asked, Doubling::kAnybody)), at(1, 0, 2)) << "it serves less";
}

TEST(SharedDevices, ANewcomerTakesTheLastStageOfTheBusiest) {
  const auto plan = plan_take_over(question(1, {{1, {0, 1}}}, {2}));
  EXPECT_EQ(where(plan), at(1, 1, 2));
  EXPECT_EQ(plan->reason, "a worker serves 2 stages; node2 takes stage 1 over");
}

TEST(SharedDevices, NothingIsTakenOverWhileLoadsAreEvenOrAMoveIsUnderWay) {
  EXPECT_FALSE(plan_take_over(question(1, {{1, {0}}, {2, {1}}}, {3}))) << "nobody serves two";
  EXPECT_FALSE(plan_take_over(question(2, {{1, {0, 1}}, {2, {0, 1}}}))) << "no newcomer";
  EXPECT_FALSE(plan_take_over(question(1, {{1, {0, 1}}, {2, {1}}}, {3}))) << "1 has not given way yet";
}

std::vector<SharedMember> members(const Stages& serve) {
  std::vector<SharedMember> all;
  for (const auto& [process, stages] : serve) {
    for (const std::uint32_t stage : stages) {
      all.push_back({ProcessIncarnation{process}, StageId{stage}, Incarnation{10 * process + stage}});
    }
  }
  return all;
}

TEST(SharedDevices, WhoServesSeveralGivesWayWhereAStageHasMoreThanItShould) {
  const auto found = find_superfluous(members({{1, {0, 1}}, {2, {1}}}), 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->replica, Incarnation{11});
  EXPECT_FALSE(find_superfluous(members({{1, {0, 1}}, {2, {1}}}), 2));
  EXPECT_FALSE(find_superfluous(members({{1, {0}}, {2, {1}}, {3, {1}}}), 1)) << "a spare that serves costs nothing";
}

// Whoever comes, moves come to an end, and leave one stage each as soon as that is possible.
TEST(SharedDevices, MovesComeToAnEnd) {
  for (std::uint32_t replicas = 1; replicas <= 3; ++replicas) {
    Stages serve{{1, {0, 1}}};
    int moves = 0;
    for (std::uint64_t newcomer = 2; newcomer <= 2 * replicas; ++newcomer) {
      std::vector<std::uint64_t> free{newcomer};
      while (++moves < 100) {
        const auto asked = question(replicas, serve, free);
        auto plan = plan_replacement(asked);
        if (!plan) plan = plan_take_over(asked);
        if (!plan) plan = plan_doubling(asked, Doubling::kAnybody);
        if (!plan) break;
        serve[plan->placement.process.value].push_back(plan->placement.stage.value);
        std::erase(free, plan->placement.process.value);
        while (const auto gives = find_superfluous(members(serve), replicas)) {
          std::erase(serve[gives->process.value], gives->stage.value);
        }
      }
    }
    EXPECT_LT(moves, 100);
    for (const auto& [process, stages] : serve) EXPECT_EQ(stages.size(), 1U) << "replicas " << replicas;
  }
}

}  // namespace
}  // namespace shoal::shared_devices_test
