// Sentences for machines that do not hold what the workers on them would serve. machine_places_test has those for their
// devices.
#include "runtime/cluster/balance/memory_refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cluster/balance/shared_places.h"

namespace shoal::memory_refusals_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kFile = "/r/config.toml";
constexpr std::uint64_t kGB = 1'000'000'000;

Worker gpu(std::uint64_t process, const std::string& node, std::uint64_t host_gigabytes) {
  Worker one{ProcessIncarnation{process}, node};
  one.offer.is_gpu = true;
  one.offer.memory_bytes = 80 * kGB;
  one.offer.host_bytes = host_gigabytes * kGB;
  return one;
}

// Stages that fit every card, and need so much of the machine beneath it.
std::vector<StageNeed> needs_of(const std::vector<std::uint64_t>& host_gigabytes) {
  std::vector<StageNeed> needs;
  for (const std::uint64_t gigabytes : host_gigabytes) {
    StageNeed& need = needs.emplace_back();
    need.memory_bytes = 20 * kGB;
    need.on_gpu = {10 * kGB, kGB, 10 * kGB, gigabytes * kGB, kGB};
  }
  return needs;
}

TEST(MemoryRefusal, SaysWhatAStageNeedsOfTheHostAndWhatTheMachineHas) {
  const std::vector<Worker> workers = {gpu(1, "a", 100), gpu(2, "a", 100)};
  const PlacesWanted wanted{{1, 1}, needs_of({60, 60}), 1};
  ASSERT_FALSE(place_machines(workers, wanted));
  EXPECT_EQ(
      memory_refusal(workers, wanted),
      "stages 0 and 1 do not fit: a replica of each needs 60.0 GB of host memory, and the machines have room for "
      "1 where 2 are needed (the machine of a has 100.0 GB for 2 workers); a node on another machine would do, or "
      "stages that need less: more pipeline.stages, or sync.backend=nccl, where it is not set: sums stay on the "
      "GPUs");
  EXPECT_EQ(memory_refusal({gpu(1, "a", 120), gpu(2, "a", 120)}, wanted), "") << "control";
}

TEST(MemoryRefusal, NamesTheNodesThatShareAMachine) {
  const auto with_nodes = [](std::uint64_t count, std::uint64_t machine) {
    std::vector<Worker> workers;
    for (std::uint64_t i = 1; i <= count; ++i) {
      workers.push_back(gpu(i, "n" + std::to_string(i), 100));
      workers.back().offer.machine = machine;
    }
    return workers;
  };
  const auto refusal = [&](const std::vector<Worker>& workers) {
    const PlacesWanted wanted{std::vector<std::uint32_t>(workers.size(), 1),
                              needs_of(std::vector<std::uint64_t>(workers.size(), 60)), 1};
    return place_machines(workers, wanted) ? "" : memory_refusal(workers, wanted);
  };
  EXPECT_THAT(refusal(with_nodes(2, 7)), HasSubstr("room for 1 where 2 are needed (the machine of n1 and n2 has 100.0 "
                                                   "GB for 2 workers); a node on another machine would do"));
  EXPECT_THAT(refusal(with_nodes(3, 7)), HasSubstr("(the machine of n1, n2 and n3 has 100.0 GB for 3 workers)"));
  EXPECT_THAT(refusal(with_nodes(9, 7)), HasSubstr("(the machine of n1, n2 and 7 other nodes has 100.0 GB for 9"));
  EXPECT_EQ(refusal(with_nodes(2, 0)), "") << "control: each its own machine";
}

TEST(MemoryRefusal, NamesFewerReplicasAndTheMachineWithMostRoom) {
  const std::vector<Worker> workers = {gpu(1, "a", 50), gpu(2, "a", 50), gpu(3, "b", 70), gpu(4, "b", 70)};
  EXPECT_THAT(memory_refusal(workers, {{2, 2}, needs_of({40, 30}), 1}),
              AllOf(HasSubstr("stage 1 does not fit: a replica of it needs 30.0 GB of host memory, and the "
                              "machines have room for 3 where 4 are needed, 2 for it and 2 for stages that need more "
                              "(the machine of b has 70.0 GB for 2 workers)"),
                    HasSubstr("or pipeline.replicas=1, or"), Not(HasSubstr("stage 0 "))));
}

TEST(MemoryRefusal, SaysBothWhereDevicesAndHostsLackMemory) {
  std::vector<StageNeed> needs = needs_of({60, 60});
  needs[1].on_gpu.memory_bytes = 90 * kGB;
  const std::string why = memory_refusal({gpu(1, "a", 100), gpu(2, "a", 100)}, {{1, 1}, needs, 1});
  EXPECT_THAT(why, AllOf(HasSubstr("stage 1 does not fit: a replica of it needs 90.0 GB, and 0 workers give"),
                         HasSubstr("; and stages 0 and 1 do not fit"), HasSubstr("of host memory")));
}

// None is too much for its machine alone, and each machine holds as many as it should: only not these together.
TEST(MemoryRefusal, SaysWhatAllNeedWhereCountingFindsNothing) {
  const std::vector<Worker> workers = {gpu(1, "a", 50), gpu(2, "a", 50), gpu(3, "a", 50)};
  const PlacesWanted wanted{{1, 1, 1}, needs_of({30, 15, 15}), 1};
  ASSERT_FALSE(place_machines(workers, wanted));
  EXPECT_THAT(
      memory_refusal(workers, wanted),
      HasSubstr(
          "the replicas together need 60.0 GB of host memory, and do not fit into the machines (the machine of a"));
}

TEST(MemoryRefusal, OfProcessorsThatShareAMachineNamesTheirShare) {
  std::vector<Worker> workers = {gpu(1, "a", 30), gpu(2, "a", 30)};
  for (Worker& worker : workers) worker.offer.is_gpu = false;
  EXPECT_THAT(memory_refusal(workers, {{1, 1}, needs_of({60, 60}), 1}),
              AllOf(HasSubstr("needs 20.0 GB of host memory, and the machines have room for 1 where 2 are needed"),
                    HasSubstr("shoal plan RUN/config.toml --memory 15.0G"), Not(HasSubstr("GPUs"))));
}

TEST(FitsNowhere, TellsAWorkerWhatItsMachineLacks) {
  EXPECT_EQ(fits_nowhere("a", gpu(1, "a", 60).offer, needs_of({80, 60}), kFile), "");
  EXPECT_EQ(
      fits_nowhere("a", gpu(1, "a", 59).offer, needs_of({80, 60}), kFile),
      "a: no stage fits: stage 1 needs 60.0 GB of host memory, its machine has 59.0 GB; a node on another machine "
      "would do, or stages that need less: more pipeline.stages, or sync.backend=nccl, where it is not set: sums "
      "stay on the GPUs");
  EXPECT_EQ(fits_nowhere("a", gpu(1, "a", 0).offer, needs_of({80}), kFile), "") << "it states nothing";
  MachineOffer small = gpu(1, "a", 59).offer;
  small.memory_bytes = kGB;
  EXPECT_THAT(fits_nowhere("a", small, needs_of({80, 60}), kFile), HasSubstr("a gives 1.0 GB and no stage fits"));
}

TEST(SharingRefusal, NamesTheHostWhereTheDevicesWouldDo) {
  const std::vector<Worker> workers = {gpu(1, "a", 50), gpu(2, "a", 50)};
  const PlacesWanted wanted{{1, 1, 1}, needs_of({30, 30, 30}), 1};
  ASSERT_FALSE(place_shared(workers, wanted));
  EXPECT_EQ(sharing_refusal(workers, wanted),
            "the stages do not fit into the host memory of 1 machine: one replica of each needs 88.0 GB of it, that of "
            "a has 50.0 GB; a node on another machine, or more pipeline.stages, help");
  std::vector<Worker> of_two_nodes = workers;
  of_two_nodes[1].node = "b";
  EXPECT_THAT(sharing_refusal(of_two_nodes, {{2, 2, 2, 2}, needs_of({30, 30, 30, 30}), 1}),
              HasSubstr("of 2 machines: one replica of each needs 117.0 GB of it, that of a has 50.0 GB, the largest"));
  for (Worker& worker : of_two_nodes) worker.offer.machine = 7;
  EXPECT_THAT(sharing_refusal(of_two_nodes, wanted), HasSubstr("of 1 machine: one replica of each needs 88.0 GB of it, "
                                                               "that of a and b has 50.0 GB; a node on"));
  PlacesWanted large = wanted;
  for (StageNeed& need : large.needs) need.on_gpu.memory_bytes = 81 * kGB;
  EXPECT_THAT(sharing_refusal(workers, large), HasSubstr("2 workers, which give 160.0 GB")) << "control";
}

}  // namespace
}  // namespace shoal::memory_refusals_test
