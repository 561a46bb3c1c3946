// Places of unequal machines: the weakest stage is as strong as can be, nothing starts where it does not fit, and equal
// machines are placed as by place().
#include "runtime/cluster/balance/machine_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "runtime/cluster/balance/host_room.h"
#include "runtime/cluster/balance/memory_refusals.h"

namespace shoal::machine_places_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kFile = "/r/config.toml";
constexpr std::uint64_t kGB = 1'000'000'000;

MachineOffer paced(std::uint64_t milliseconds) { return {0, milliseconds * 1000, 0, 0, 0, 0}; }
MachineOffer measured(std::uint64_t multiply_adds_s, std::uint32_t threads = 0) {
  return {multiply_adds_s, 0, threads, 0, 0, 0};
}
MachineOffer with_memory(std::uint64_t bytes) { return {0, 0, 0, bytes, 0, 0}; }

std::vector<Worker> workers_of(const std::vector<MachineOffer>& offers) {
  std::vector<Worker> workers;
  for (const MachineOffer& offer : offers) {
    workers.push_back({ProcessIncarnation{workers.size() + 1}, "n" + std::to_string(workers.size() + 1), offer});
  }
  return workers;
}

// Microbatches per second of each stage.
std::vector<double> capacities(const std::vector<Placement>& placed, const std::vector<Worker>& workers,
                               const PlacesWanted& wanted) {
  std::vector<double> out(wanted.replicas.size(), 0);
  for (const Placement& one : placed) {
    const StageNeed need = one.stage.value < wanted.needs.size() ? wanted.needs[one.stage.value] : StageNeed{};
    out[one.stage.value] += rate_of(workers[one.process.value - 1].offer, need, wanted.threads);
  }
  return out;
}

std::vector<std::uint64_t> processes_of(const std::vector<Placement>& placed, std::uint32_t stage) {
  std::vector<std::uint64_t> out;
  for (const Placement& one : placed) {
    if (one.stage.value == stage) out.push_back(one.process.value);
  }
  return out;
}

// Four stages: the inner ones pass on an activation and a gradient, the outer ones one of both. 10 Mbit/s carry a MB in
// 0.8 s; a training of three forwards of 100 ms takes 0.3.
TEST(MachinePlaces, AMachineBehindASlowLinkServesAnOuterStage) {
  PlacesWanted wanted{{1, 1, 1, 1}, {}, 1};
  for (const double letters : {1e6, 2e6, 2e6, 1e6}) wanted.needs.push_back({0, 0, 0, letters, letters});
  for (std::size_t slow = 0; slow < 4; ++slow) {
    std::vector<MachineOffer> offers(4, paced(100));
    offers[slow].up_bit_s = 10'000'000;
    const auto workers = workers_of(offers);
    const auto placed = place_machines(workers, wanted);
    ASSERT_TRUE(placed);
    const auto serves = [&](std::uint32_t stage) { return processes_of(*placed, stage).at(0) == slow + 1; };
    EXPECT_FALSE(serves(1) || serves(2)) << "machine " << slow;
    EXPECT_NEAR(std::ranges::min(capacities(*placed, workers, wanted)), 3 / 0.8, 1e-9);
  }
  const StageNeed inner = wanted.needs[1];
  EXPECT_NEAR(rate_of(paced(100), inner, 1), 10, 1e-9) << "without a limit its pace counts";
  MachineOffer down = paced(100);
  down.down_bit_s = 1'000'000'000;
  EXPECT_NEAR(rate_of(down, inner, 1), 10, 1e-9) << "so it does with one that is no bound";
  down.down_bit_s = 10'000'000;
  EXPECT_NEAR(rate_of(down, inner, 1), 3 / 1.6, 1e-9);
}

TEST(MachinePlaces, EqualMachinesAreWhereTheyWereBefore) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 200; ++trial) {
    const auto stages = static_cast<std::uint32_t>(1 + random() % 4);
    const auto replicas = static_cast<std::uint32_t>(1 + random() % 3);
    std::vector<MachineOffer> offers(random() % 16);
    for (MachineOffer& offer : offers) {
      // Nothing is stated, or speeds that differ by less than measuring does, and memory enough.
      if (trial % 3 > 0) offer = {10'000'000'000 + random() % 4'000'000'000, 0, 0, 2 * kGB, 0, 0};
    }
    if (trial % 3 == 2 && !offers.empty()) offers.front() = MachineOffer{};
    auto workers = workers_of(offers);
    for (Worker& worker : workers) worker.node = "n" + std::to_string(random() % 4);
    std::ranges::shuffle(workers, random);
    const PlacesWanted wanted{std::vector<std::uint32_t>(stages, replicas), std::vector<StageNeed>(stages, {1e6, kGB}),
                              1};
    EXPECT_EQ(place_machines(workers, wanted), place(workers, stages, replicas));
    EXPECT_EQ(memory_refusal(workers, wanted), "");
  }
}

TEST(MachinePlaces, TheFastAndTheSlowShareAStage) {
  const auto workers = workers_of({paced(10), paced(10), paced(30), paced(30)});
  const PlacesWanted wanted{{2, 2}, {}, 1};
  const auto placed = place_machines(workers, wanted);
  ASSERT_TRUE(placed);
  EXPECT_EQ(capacities(*placed, workers, wanted)[0], capacities(*placed, workers, wanted)[1]);
  const auto by_count = place(workers, 2, 2);  // the control: what does not know of speeds may do worse
  ASSERT_TRUE(by_count);
  const auto joined_otherwise = workers_of({paced(10), paced(30), paced(10), paced(30)});
  const auto least = [&](const std::vector<Placement>& one) {
    return std::ranges::min(capacities(one, joined_otherwise, wanted));
  };
  EXPECT_GT(least(*place_machines(joined_otherwise, wanted)), 1.9 * least(*place(joined_otherwise, 2, 2)));
}

TEST(MachinePlaces, TheDearerStageGetsTheFasterMachine) {
  const auto workers = workers_of({measured(10), measured(30)});
  const auto placed = place_machines(workers, {{1, 1}, {{1, 0}, {3, 0}}, 1});
  ASSERT_TRUE(placed);
  EXPECT_EQ(processes_of(*placed, 1), (std::vector<std::uint64_t>{2}));
  const auto threads = place_machines(workers_of({measured(10, 8), measured(30)}), {{1, 1}, {{1, 0}, {3, 0}}, 1});
  ASSERT_TRUE(threads);
  EXPECT_EQ(processes_of(*threads, 1), (std::vector<std::uint64_t>{1})) << "eight threads of it are faster";
}

TEST(MachinePlaces, TheFastestServeAndTheRestAreSpares) {
  const auto placed = place_machines(workers_of({paced(90), paced(10), paced(20)}), {{1, 1}, {}, 1});
  ASSERT_TRUE(placed);
  for (const Placement& one : *placed) EXPECT_NE(one.process.value, 1u);
  auto workers = workers_of({paced(90), paced(10), paced(20)});
  workers[1].choice = 1;  // a replica could not start there
  const auto others = place_machines(workers, {{1, 1}, {}, 1});
  ASSERT_TRUE(others);
  for (const Placement& one : *others) EXPECT_NE(one.process.value, 2u);
}

TEST(MachinePlaces, AStageStartsOnlyWhereItFits) {
  const std::vector<StageNeed> needs = {{1, 4 * kGB}, {1, 9 * kGB}};
  const auto placed = place_machines(workers_of({with_memory(16 * kGB), with_memory(8 * kGB)}), {{1, 1}, needs, 1});
  ASSERT_TRUE(placed);
  EXPECT_EQ(processes_of(*placed, 1), (std::vector<std::uint64_t>{1})) << "not in the order of joining";
  const auto small = workers_of({with_memory(8 * kGB), with_memory(8 * kGB), with_memory(6 * kGB)});
  const PlacesWanted wanted{{1, 1}, needs, 1, kFile};
  EXPECT_FALSE(place_machines(small, wanted));
  EXPECT_THAT(memory_refusal(small, wanted),
              AllOf(HasSubstr("stage 1 does not fit: a replica of it needs 9.0 GB"), HasSubstr("0 workers give"),
                    HasSubstr("1 more worker with --memory 9.0G or more"), Not(HasSubstr("pipeline.replicas")),
                    HasSubstr("shoal plan /r/config.toml --memory 8.0G")));
  EXPECT_EQ(memory_refusal(workers_of({with_memory(kGB)}), wanted), "") << "there are too few anyway";
}

TEST(MachinePlaces, ARefusalSaysHowManyWorkersAreMissingAndWhetherFewerReplicasWouldDo) {
  const std::vector<StageNeed> needs = {{1, 4 * kGB}, {1, 9 * kGB}};
  const MachineOffer small = with_memory(6 * kGB);
  const PlacesWanted wanted{{3, 3}, needs, 1};
  EXPECT_THAT(memory_refusal(workers_of({with_memory(10 * kGB), small, small, small, small, small}), wanted),
              AllOf(HasSubstr("1 worker gives so much where 3 are needed; 2 more workers with --memory 9.0G or more"),
                    HasSubstr("or pipeline.replicas=1, or stages that need less")));
}

TEST(MachinePlaces, ARefusalNamesEveryStageThatDoesNotFit) {
  const std::vector<StageNeed> needs = {{1, 7 * kGB}, {1, 2 * kGB}, {1, 9 * kGB}, {1, 7 * kGB}};
  const auto workers = workers_of({with_memory(8 * kGB), with_memory(6 * kGB), with_memory(4 * kGB), with_memory(kGB)});
  EXPECT_EQ(memory_refusal(workers, {{1, 1, 1, 1}, needs, 1}),
            "stage 2 does not fit: a replica of it needs 9.0 GB, and 0 workers give so much where 1 is needed; "
            "stages 0 and 3 do not fit: a replica of each needs 7.0 GB, and 1 worker gives so much where 3 are needed, "
            "2 for them and 1 for stages that need more; "
            "stage 1 does not fit: a replica of it needs 2.0 GB, and 3 workers give so much where 4 are needed, "
            "1 for it and 3 for stages that need more; "
            "2 more workers with --memory 9.0G or more would do, or stages that need less: "
            "`shoal plan RUN/config.toml --memory 1.0G` says which settings make them fit");
  auto more = workers;
  for (const std::uint64_t process : {5U, 6U}) more.push_back({ProcessIncarnation{process}, "n", with_memory(9 * kGB)});
  EXPECT_TRUE(place_machines(more, {{1, 1, 1, 1}, needs, 1})) << "as it says";
  more.pop_back();
  EXPECT_FALSE(place_machines(more, {{1, 1, 1, 1}, needs, 1}));
}

// Needs are those with all credits that slow links may bring: who sets them needs less.
TEST(MachinePlaces, ARefusalNamesCreditsFirstWhereTheyWouldDo) {
  std::vector<StageNeed> needs = {{1, 4 * kGB}, {1, 9 * kGB}};
  needs[0].credits = needs[1].credits = 5;
  needs[0].bounded_bytes = 2 * kGB, needs[1].bounded_bytes = 6 * kGB;
  const auto refusal = [&](std::uint64_t gigabytes) {
    const auto workers = workers_of({with_memory(gigabytes * kGB), with_memory(gigabytes * kGB)});
    return memory_refusal(workers, {{1, 1}, needs, 1});
  };
  EXPECT_THAT(refusal(6), HasSubstr("1 is needed; pipeline.credits=5 would do; or 1 more worker with --memory"));
  EXPECT_THAT(refusal(5), AllOf(HasSubstr("does not fit"), Not(HasSubstr("pipeline.credits")))) << "control";
  EXPECT_THAT(fits_nowhere("a", with_memory(3 * kGB), needs, kFile),
              HasSubstr("; pipeline.credits=5 would do; or give"));
  EXPECT_THAT(fits_nowhere("a", with_memory(kGB), needs, kFile), Not(HasSubstr("pipeline.credits"))) << "control";
}

TEST(MachinePlaces, StagesOnOneWorkerAddUpAndItsProgramCountsOnce) {
  const std::vector<StageNeed> needs = {{1, 4 * kGB, kGB}, {1, 9 * kGB, kGB}};
  EXPECT_EQ(memory_of(needs), 12 * kGB);
  EXPECT_EQ(memory_of({}), 0U);
  EXPECT_TRUE(fits_together(with_memory(12 * kGB), needs));
  EXPECT_FALSE(fits_together(with_memory(12 * kGB - 1), needs));
  EXPECT_TRUE(fits_together(MachineOffer{}, needs)) << "it states nothing";
}

TEST(MachinePlaces, AWorkerThatFitsNowhereIsToldWhatWould) {
  const std::vector<StageNeed> needs = {{1, 4 * kGB}, {1, 9 * kGB}};
  EXPECT_EQ(fits_nowhere("a", with_memory(4 * kGB), needs, kFile), "");
  EXPECT_EQ(fits_nowhere("a", MachineOffer{}, needs, kFile), "") << "it states nothing";
  EXPECT_EQ(fits_nowhere("a", with_memory(1), {}, kFile), "") << "nothing is known of the stages";
  EXPECT_THAT(fits_nowhere("a", with_memory(3 * kGB), needs, kFile),
              AllOf(HasSubstr("a gives 3.0 GB and no stage fits: stage 0 needs least, 4.0 GB"),
                    HasSubstr("as `shoal plan /r/config.toml --memory 3.0G` says")));
}

TEST(MachinePlaces, OnAGpuAStageNeedsWhatAGpuKeeps) {
  std::vector<StageNeed> needs = {{1, 40 * kGB, kGB}, {1, 50 * kGB, kGB}};
  needs[0].on_gpu.memory_bytes = 20 * kGB, needs[1].on_gpu.memory_bytes = 10 * kGB;
  needs[0].on_gpu.shared_bytes = needs[1].on_gpu.shared_bytes = 2 * kGB;
  MachineOffer gpu = with_memory(28 * kGB);
  EXPECT_FALSE(fits(gpu, needs[0])) << "a processor";
  gpu.is_gpu = true;
  EXPECT_TRUE(fits_together(gpu, needs)) << "20 and 10, and the context once";
  gpu.memory_bytes -= 1;
  EXPECT_FALSE(fits_together(gpu, needs));
  MachineOffer small = gpu;
  small.memory_bytes = 10 * kGB;
  const auto placed = place_machines(workers_of({gpu, small}), {{1, 1}, needs, 1});
  ASSERT_TRUE(placed);
  EXPECT_EQ(processes_of(*placed, 1), (std::vector<std::uint64_t>{2})) << "the larger stage is another one there";
  EXPECT_THAT(memory_refusal(workers_of({small, small}), {{1, 1}, needs, 1}),
              AllOf(HasSubstr("stage 0 does not fit: a replica of it needs 20.0 GB"), HasSubstr("pipeline.credits"),
                    Not(HasSubstr("shoal plan"))));
  small.memory_bytes = kGB;
  EXPECT_THAT(fits_nowhere("a", small, needs, kFile), HasSubstr("stage 1 needs least, 10.0 GB"));
}

// Where some are GPUs, a stage counts with the larger of its needs; if that is too much, one kind alone may do.
TEST(MachinePlaces, GPUsAndProcessorsTogetherGetPlacesThatFit) {
  std::vector<StageNeed> needs = {{1, 8 * kGB}, {1, 8 * kGB}};
  needs[0].on_gpu.memory_bytes = needs[1].on_gpu.memory_bytes = 12 * kGB;
  MachineOffer gpu = with_memory(10 * kGB);
  gpu.is_gpu = true;
  const auto both = workers_of({gpu, with_memory(10 * kGB)});
  EXPECT_FALSE(place_machines(both, {{1, 1}, needs, 1})) << "none of the two fits the GPU";
  EXPECT_THAT(
      memory_refusal(both, {{1, 1}, needs, 1}),
      HasSubstr("stages 0 and 1 do not fit: a replica of each needs 12.0 GB, and 0 workers give so much where 2 are"));
  needs[0] = needs[1] = {1, 40 * kGB};
  needs[0].on_gpu.memory_bytes = needs[1].on_gpu.memory_bytes = 9 * kGB;
  const auto three = workers_of({with_memory(64 * kGB), gpu, gpu});
  const auto placed = place_machines(three, {{1, 1}, needs, 1});
  ASSERT_TRUE(placed);
  for (const Placement& one : *placed) EXPECT_NE(one.process.value, 1u) << "the GPUs alone do";
}

// A worker on a GPU of a node whose machine has so much for all of them.
Worker gpu_of(const std::string& node, std::uint64_t process, std::uint64_t host_bytes, std::uint64_t speed = 0) {
  MachineOffer offer = measured(speed);
  offer.is_gpu = true;
  offer.host_bytes = host_bytes;
  return {ProcessIncarnation{process}, node, offer};
}

std::vector<StageNeed> needs_of_hosts(const std::vector<std::uint64_t>& host_bytes) {
  std::vector<StageNeed> needs;
  for (const std::uint64_t bytes : host_bytes) {
    needs.push_back({1, 100 * kGB});
    needs.back().on_gpu = {1, 0, 1, bytes, 0};
  }
  return needs;
}

TEST(MachinePlaces, GPUsOfANodeShareTheMemoryOfItsMachine) {
  const PlacesWanted wanted{{1, 1}, needs_of_hosts({6, 6}), 1};
  EXPECT_FALSE(place_machines({gpu_of("a", 1, 10), gpu_of("a", 2, 10)}, wanted)) << "each alone would fit";
  EXPECT_TRUE(place_machines({gpu_of("a", 1, 12), gpu_of("a", 2, 12)}, wanted));
  EXPECT_TRUE(place_machines({gpu_of("a", 1, 10), gpu_of("b", 2, 10)}, wanted)) << "two machines";
  EXPECT_TRUE(place_machines({gpu_of("a", 1, 0), gpu_of("a", 2, 0)}, wanted)) << "they state nothing";
  EXPECT_FALSE(place_machines({gpu_of("a", 1, 5), gpu_of("b", 2, 100)}, wanted)) << "a holds none";
}

Worker on_machine(std::uint64_t machine, Worker one) {
  one.offer.machine = machine;
  return one;
}

// Places what `shoal train --device cuda:0 --device cuda:1` starts: a node for each device.
TEST(MachinePlaces, GPUsOfTwoNodesOnOneMachineShareItsMemory) {
  const PlacesWanted wanted{{1, 1}, needs_of_hosts({6, 6}), 1};
  const auto places = [&](std::uint64_t host_bytes, std::uint64_t of_a, std::uint64_t of_b) {
    return place_machines({on_machine(of_a, gpu_of("a", 1, host_bytes)), on_machine(of_b, gpu_of("b", 2, host_bytes))},
                          wanted);
  };
  EXPECT_FALSE(places(10, 7, 7)) << "each alone would fit";
  EXPECT_TRUE(places(12, 7, 7));
  EXPECT_TRUE(places(10, 7, 8)) << "two machines";
  EXPECT_TRUE(places(10, 0, 0)) << "they do not know theirs";
  EXPECT_TRUE(places(0, 7, 7)) << "they state nothing";
}

// Equal machines are dealt out node by node, but no node gets more than its machine holds.
TEST(MachinePlaces, ANodeServesAsManyReplicasAsItsMachineHolds) {
  std::vector<Worker> workers;
  for (std::uint64_t i = 1; i <= 4; ++i) workers.push_back(gpu_of("a", i, 10));
  for (std::uint64_t i = 5; i <= 8; ++i) workers.push_back(gpu_of("b", i, 100));
  const auto placed = place_machines(workers, {{3, 3}, needs_of_hosts({5, 5}), 1});
  ASSERT_TRUE(placed);
  EXPECT_EQ(std::ranges::count_if(*placed, [](const Placement& one) { return one.process.value <= 4; }), 2);
}

TEST(MachinePlaces, AStageThatNeedsMostOfTheHostIsGivenTheRoomiestNode) {
  const std::vector<Worker> workers = {gpu_of("a", 1, 100, 90), gpu_of("b", 2, 40, 10)};
  const auto placed = place_machines(workers, {{1, 1}, needs_of_hosts({30, 60}), 1});
  ASSERT_TRUE(placed);
  EXPECT_EQ(processes_of(*placed, 1), (std::vector<std::uint64_t>{1}));
}

// A fast machine whose node is full does not take the place of a slow one.
TEST(MachinePlaces, AnExchangeForSpeedKeepsToTheMemoryOfTheMachines) {
  const std::vector<Worker> workers = {gpu_of("a", 1, 10, 90), gpu_of("a", 2, 10, 90), gpu_of("b", 3, 10, 10)};
  const auto placed = place_machines(workers, {{1, 1}, needs_of_hosts({6, 6}), 1});
  ASSERT_TRUE(placed);
  EXPECT_EQ(std::ranges::count_if(*placed, [](const Placement& one) { return one.process.value == 3; }), 1);
}

TEST(MachinePlaces, AMachineCountsOnceForProcessorsAndGPUsOfANode) {
  PlacesWanted wanted{{1, 1}, {{1, 6}, {1, 6}}, 1};
  wanted.needs[0].on_gpu = wanted.needs[1].on_gpu = {6, 0, 6, 5, 0};
  Worker processor = gpu_of("a", 2, 10);
  processor.offer.is_gpu = false;
  EXPECT_FALSE(place_machines({gpu_of("a", 1, 10), processor}, wanted)) << "5 beside the GPU, and 6";
  processor.offer.host_bytes = 11;
  EXPECT_TRUE(place_machines({gpu_of("a", 1, 11), processor}, wanted));
}

// Bytes that a placement takes of each node's machine.
bool keeps_to_hosts(const std::vector<Placement>& placed, const std::vector<Worker>& workers,
                    const PlacesWanted& wanted) {
  HostRoom room(workers);
  return std::ranges::all_of(placed, [&](const Placement& one) {
    const std::size_t worker = one.process.value - 1;
    const std::uint64_t bytes = host_memory_of(workers[worker].offer, {wanted.needs[one.stage.value]});
    if (!room.holds(worker, bytes)) return false;
    room.take(worker, bytes);
    return true;
  });
}

// Any assignment at all, one by one.
bool can_hosts_hold(const std::vector<Worker>& workers, const PlacesWanted& wanted) {
  std::vector<std::size_t> stages;
  for (std::size_t stage = 0; stage < wanted.replicas.size(); ++stage) {
    stages.insert(stages.end(), wanted.replicas[stage], stage);
  }
  if (stages.size() > workers.size()) return false;
  stages.resize(workers.size(), wanted.replicas.size());  // the rest are spares
  do {
    std::vector<Placement> placed;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      const bool is_spare = stages[i] == wanted.replicas.size();
      if (!is_spare) placed.push_back({StageId{static_cast<std::uint32_t>(stages[i])}, {}, workers[i].process});
    }
    if (keeps_to_hosts(placed, workers, wanted)) return true;
  } while (std::ranges::next_permutation(stages).found);
  return false;
}

TEST(MachinePlaces, NeverExceedTheMemoryOfAMachineAndRarelyMissWhatIsPossible) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int possible = 0;
  int found = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const std::uint64_t rooms[] = {1 + random() % 20, 1 + random() % 20, random() % 20};
    std::vector<Worker> workers;
    const std::uint64_t count = 2 + random() % 5;
    for (std::uint64_t i = 1; i <= count; ++i) {
      const std::size_t node = random() % 3;
      workers.push_back(gpu_of(std::string(1, static_cast<char>('a' + node)), i, rooms[node], 10 + random() % 90));
    }
    std::vector<std::uint64_t> needs(1 + random() % 3);
    for (std::uint64_t& need : needs) need = 1 + random() % 9;
    const PlacesWanted wanted{std::vector<std::uint32_t>(needs.size(), static_cast<std::uint32_t>(1 + random() % 2)),
                              needs_of_hosts(needs), 1};
    const bool are_enough = workers.size() >= wanted.replicas.size() * wanted.replicas.front();
    const bool is_possible = can_hosts_hold(workers, wanted);
    const auto placed = place_machines(workers, wanted);
    ASSERT_TRUE(is_possible || !placed) << trial;
    ASSERT_TRUE(!placed || keeps_to_hosts(*placed, workers, wanted)) << trial;
    ASSERT_EQ(memory_refusal(workers, wanted).empty(), placed.has_value() || !are_enough) << trial;
    possible += is_possible ? 1 : 0;
    found += placed ? 1 : 0;
  }
  EXPECT_GT(found, possible * 98 / 100) << possible;
  EXPECT_GT(possible, 50);
}

// Returns the weakest stage of the best placement, of all that fit; -1: none does.
double best_of_all(const std::vector<Worker>& workers, const PlacesWanted& wanted) {
  std::vector<std::size_t> stage_of_place;
  for (std::size_t stage = 0; stage < wanted.replicas.size(); ++stage) {
    stage_of_place.insert(stage_of_place.end(), wanted.replicas[stage], stage);
  }
  std::vector<std::size_t> order(workers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  double best = -1;
  do {
    std::vector<double> capacity(wanted.replicas.size(), 0);
    bool can = true;
    for (std::size_t i = 0; i < stage_of_place.size() && can; ++i) {
      const std::size_t stage = stage_of_place[i];
      can = fits(workers[order[i]].offer, wanted.needs[stage]);
      capacity[stage] += rate_of(workers[order[i]].offer, wanted.needs[stage], 1);
    }
    if (can) best = std::max(best, std::ranges::min(capacity));
  } while (std::ranges::next_permutation(order).found);
  return best;
}

TEST(MachinePlaces, AreNearlyTheBestThereAreAndAlwaysFoundWhereThereAreAny) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  double sum = 0;
  int placements = 0;
  for (int trial = 0; trial < 150; ++trial) {
    const auto stages = static_cast<std::uint32_t>(2 + random() % 2);
    PlacesWanted wanted{{}, {}, 1};
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      wanted.replicas.push_back(static_cast<std::uint32_t>(1 + random() % 2));
      wanted.needs.push_back({1.0 + static_cast<double>(random() % 4), (random() % 8) * kGB});
    }
    std::vector<MachineOffer> offers;
    const std::size_t count = std::accumulate(wanted.replicas.begin(), wanted.replicas.end(), random() % 2);
    for (std::size_t i = 0; i < count; ++i) {
      offers.push_back(MachineOffer{10 + random() % 90, 0, 0, (random() % 10) * kGB, 0, 0});
    }
    const auto workers = workers_of(offers);
    const auto placed = place_machines(workers, wanted);
    const double best = best_of_all(workers, wanted);
    ASSERT_EQ(placed.has_value(), best >= 0) << trial;
    EXPECT_EQ(memory_refusal(workers, wanted).empty(), placed.has_value()) << trial;
    if (!placed) continue;
    for (const Placement& one : *placed) {
      EXPECT_TRUE(fits(workers[one.process.value - 1].offer, wanted.needs[one.stage.value]));
    }
    sum += std::ranges::min(capacities(*placed, workers, wanted)) / best;
    ++placements;
  }
  EXPECT_GE(sum / placements, 0.95) << "of the best, on average; a few machines are the hardest case";
}

}  // namespace
}  // namespace shoal::machine_places_test
