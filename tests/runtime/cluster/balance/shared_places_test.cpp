// Tests which stages workers serve together where memory decides, beside the orders in shared_devices_test.
#include "runtime/cluster/balance/shared_places.h"

#include <gmock/gmock.h>

#include <map>
#include <random>
#include <set>

namespace shoal::shared_places_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Stages = std::map<std::uint64_t, std::set<std::uint32_t>>;  // by process

std::vector<Worker> workers_with(const std::vector<std::uint64_t>& memories) {
  std::vector<Worker> workers;
  for (const std::uint64_t memory : memories) {
    const ProcessIncarnation process{workers.size() + 1};
    workers.push_back({process, "node" + std::to_string(process.value), {0, 0, 0, memory, 0, 0}});
  }
  return workers;
}

PlacesWanted wanted(const std::vector<std::uint64_t>& needs, std::uint32_t replicas) {
  PlacesWanted out{std::vector<std::uint32_t>(needs.size(), replicas), {}, 1};
  for (const std::uint64_t need : needs) out.needs.push_back({1, need});
  return out;
}

Stages stages_of(const std::vector<Placement>& placed) {
  Stages stages;
  for (const Placement& one : placed) EXPECT_TRUE(stages[one.process.value].insert(one.stage.value).second);
  return stages;
}

TEST(SharedPlaces, LeaveEvenRunsWhereTheyDoNotFit) {
  EXPECT_EQ(stages_of(place_shared(workers_with({9, 9}), wanted({3, 3, 3, 3}, 1)).value()),
            (Stages{{1, {0, 1}}, {2, {2, 3}}}));
  EXPECT_EQ(stages_of(place_shared(workers_with({9, 3}), wanted({3, 3, 3, 3}, 1)).value()),
            (Stages{{1, {0, 2, 3}}, {2, {1}}}));
  EXPECT_EQ(stages_of(place_shared(workers_with({5, 7}), wanted({4, 3, 5}, 1)).value()),
            (Stages{{1, {2}}, {2, {0, 1}}}));
}

TEST(SharedPlaces, HaveFewerReplicasWhereThatManyDoNotFit) {
  const auto placed = place_shared(workers_with({6, 5}), wanted({4, 4}, 2));
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->size(), 2U);
  EXPECT_EQ(place_shared(workers_with({8, 8}), wanted({4, 4}, 2))->size(), 4U) << "the control";
}

TEST(SharedPlaces, AreNoneWhereOneReplicaOfEachDoesNotFit) {
  EXPECT_FALSE(place_shared(workers_with({6, 3}), wanted({4, 4}, 1)));
  EXPECT_THAT(sharing_refusal(workers_with({6, 3}), wanted({4, 4}, 1)),
              AllOf(HasSubstr("2 workers, which give 9 bytes, 6 bytes the largest"), HasSubstr("each needs 8 bytes"),
                    HasSubstr("--memory")));
  EXPECT_THAT(sharing_refusal(workers_with({6}), wanted({4, 4}, 1)), HasSubstr("1 worker, which gives 6 bytes"));
  EXPECT_TRUE(place_shared(workers_with({8}), wanted({4, 4}, 1))) << "the control";
  EXPECT_EQ(sharing_refusal({}, wanted({4, 4}, 1)), "");
}

TEST(SharedPlaces, OfOneGpuAreThoseThatItsOwnNeedsAllow) {
  PlacesWanted both = wanted({40, 50}, 1);
  both.needs[0].on_gpu.memory_bytes = 20, both.needs[1].on_gpu.memory_bytes = 10;
  auto workers = workers_with({30});
  EXPECT_FALSE(place_shared(workers, both)) << "a processor";
  workers[0].offer.is_gpu = true;
  EXPECT_TRUE(place_shared(workers, both));
  workers[0].offer.memory_bytes = 29;
  EXPECT_FALSE(place_shared(workers, both));
  EXPECT_THAT(sharing_refusal(workers, both), AllOf(HasSubstr("each needs 30 bytes"), HasSubstr("pipeline.credits")));
}

// Two GPUs of one node, whose machine is counted once, and each process's program once.
TEST(SharedPlaces, OfANodeKeepToTheMemoryOfItsMachine) {
  PlacesWanted four = wanted({99, 99, 99, 99}, 1);
  for (StageNeed& need : four.needs) need.on_gpu = {1, 0, 1, 5, 2};
  auto workers = workers_with({100, 100});
  for (Worker& worker : workers) {
    worker.node = "a";
    worker.offer.is_gpu = true;
    worker.offer.host_bytes = 16;  // 2 x (2 + 2 x 3)
  }
  EXPECT_EQ(stages_of(place_shared(workers, four).value()), (Stages{{1, {0, 1}}, {2, {2, 3}}}));
  for (Worker& worker : workers) worker.offer.host_bytes = 15;
  EXPECT_EQ(stages_of(place_shared(workers, four).value()).size(), 1U) << "one program alone: 2 + 4 x 3";
  for (Worker& worker : workers) worker.offer.host_bytes = 13;
  EXPECT_FALSE(place_shared(workers, four));
  workers[1].node = "b";
  EXPECT_TRUE(place_shared(workers, four)) << "two machines";
  for (Worker& worker : workers) worker.offer.machine = 7;
  EXPECT_FALSE(place_shared(workers, four)) << "two nodes of one machine";
  workers[1].offer.machine = 8;
  EXPECT_TRUE(place_shared(workers, four));
}

// One replica of each, where any assignment at all fits: is one tried out?
bool can_be_packed(const std::vector<Worker>& workers, const PlacesWanted& all) {
  std::size_t count = 1;
  for (std::size_t stage = 0; stage < all.needs.size(); ++stage) count *= workers.size();
  for (std::size_t code = 0; code < count; ++code) {
    std::map<std::size_t, std::vector<StageNeed>> loads;
    std::size_t rest = code;
    for (const StageNeed& need : all.needs) {
      loads[rest % workers.size()].push_back(need);
      rest /= workers.size();
    }
    const auto fits_in = [&](const auto& load) { return fits_together(workers[load.first].offer, load.second); };
    if (std::ranges::all_of(loads, fits_in)) return true;
  }
  return false;
}

TEST(SharedPlaces, NeverExceedAWorkersMemoryAndRarelyMissWhatIsPossible) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int possible = 0;
  int found = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<std::uint64_t> memories(1 + random() % 3);
    for (std::uint64_t& memory : memories) memory = 1 + random() % 20;
    std::vector<std::uint64_t> needs(1 + random() % 5);
    for (std::uint64_t& need : needs) need = 1 + random() % 9;
    const auto workers = workers_with(memories);
    const PlacesWanted all = wanted(needs, static_cast<std::uint32_t>(1 + random() % 3));
    const bool is_possible = can_be_packed(workers, all);
    const auto placed = place_shared(workers, all);
    ASSERT_TRUE(is_possible || !placed);
    ASSERT_TRUE(placed || !sharing_refusal(workers, all).empty());
    possible += is_possible ? 1 : 0;
    found += placed ? 1 : 0;
    for (const auto& [process, stages] : stages_of(placed.value_or(std::vector<Placement>{}))) {
      std::vector<StageNeed> sum;
      for (const std::uint32_t stage : stages) sum.push_back(all.needs[stage]);
      ASSERT_LE(memory_of(sum), memories[process - 1]);
    }
  }
  EXPECT_GT(found, possible * 95 / 100) << possible;
}

}  // namespace
}  // namespace shoal::shared_places_test
