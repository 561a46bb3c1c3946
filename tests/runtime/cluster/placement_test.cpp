// Placement and admission: who may come in, and where the first replicas go.
#include "runtime/cluster/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "runtime/cluster/process_directory.h"
#include "runtime/cluster/restart_budget.h"

namespace shoal::placement_test {
namespace {

using std::chrono::seconds;

constexpr Instant kNow = Instant{} + std::chrono::hours(1);

Join join_of(const std::string& name, std::uint64_t nonce, const std::string& kernels = "mkl avx2 1") {
  Join join;
  join.name = name;
  join.nonce = nonce;
  join.fingerprint.text = kernels;
  return join;
}

TEST(Placement, WaitsForStagesTimesReplicasWorkers) {
  EXPECT_FALSE(place({{{1}, "a"}, {{2}, "b"}, {{3}, "c"}}, 2, 2));
  EXPECT_TRUE(place({{{1}, "a"}, {{2}, "b"}, {{3}, "c"}, {{4}, "d"}}, 2, 2));
}

TEST(Placement, FillsSlotsInTheOrderOfJoining) {
  const auto placed = place({{{4}, "d"}, {{2}, "b"}, {{3}, "c"}, {{1}, "a"}, {{5}, "spare"}}, 2, 2);
  ASSERT_TRUE(placed);
  EXPECT_EQ(*placed, (std::vector<Placement>{{{0}, {0}, {1}}, {{1}, {0}, {2}}, {{0}, {1}, {3}}, {{1}, {1}, {4}}}));
}

TEST(Placement, TakesThoseThatCouldNotStartAReplicaLast) {
  std::vector<Worker> workers{{{1}, "a"}, {{2}, "b"}, {{3}, "c"}, {{4}, "d"}};
  workers[1].choice = 1;
  const auto placed = place(workers, 3, 1);
  ASSERT_TRUE(placed);
  EXPECT_EQ(*placed, (std::vector<Placement>{{{0}, {0}, {1}}, {{1}, {0}, {3}}, {{2}, {0}, {4}}}));
  const auto all = place(workers, 2, 2);
  ASSERT_TRUE(all) << "where nobody else is left";
  EXPECT_EQ(all->back().process, ProcessIncarnation{2});
}

TEST(Placement, FillsTheSlotsOfEachStageAsListed) {
  const ReplicasWanted listed({3, 1});
  EXPECT_FALSE(place({{{1}, "a"}, {{2}, "b"}, {{3}, "c"}}, 2, listed));
  const auto placed = place({{{1}, "a"}, {{2}, "b"}, {{3}, "c"}, {{4}, "d"}, {{5}, "spare"}}, 2, listed);
  ASSERT_TRUE(placed);
  EXPECT_EQ(*placed, (std::vector<Placement>{{{0}, {0}, {1}}, {{1}, {0}, {2}}, {{0}, {1}, {3}}, {{0}, {2}, {4}}}));
}

TEST(Placement, ReplicasOfAStageSitOnDifferentNodesWherePossible) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 200; ++trial) {
    const auto stages = static_cast<std::uint32_t>(1 + random() % 3);
    const auto replicas = static_cast<std::uint32_t>(1 + random() % 3);
    std::vector<Worker> workers;  // `replicas` nodes with a worker for each stage
    for (std::uint32_t index = 0; index < stages * replicas; ++index) {
      workers.push_back({ProcessIncarnation{index + 1}, "node" + std::to_string(index / stages)});
    }
    std::shuffle(workers.begin(), workers.end(), random);
    const auto placed = place(workers, stages, replicas);
    ASSERT_TRUE(placed);
    std::set<ProcessIncarnation> used;
    std::map<std::uint32_t, std::set<std::uint64_t>> nodes;
    for (const Placement& placement : *placed) {
      used.insert(placement.process);
      nodes[placement.stage.value].insert((placement.process.value - 1) / stages);
    }
    EXPECT_EQ(used.size(), std::size_t{stages} * replicas);
    for (const auto& [stage, distinct] : nodes) EXPECT_EQ(distinct.size(), replicas) << "stage " << stage;
  }
}

TEST(ProcessDirectory, ARepeatedJoinGetsTheSameAnswer) {
  ProcessDirectory directory(FingerprintRule::kMayDiffer);
  EXPECT_TRUE(std::get<Admitted>(directory.admit(join_of("node1", 5), {7})).is_new);
  const auto again = std::get<Admitted>(directory.admit(join_of("node1", 5), {8}));
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.process, ProcessIncarnation{7});
}

TEST(ProcessDirectory, ANameIsTakenWhileItsProcessLives) {
  ProcessDirectory directory(FingerprintRule::kMayDiffer);
  (void)directory.admit(join_of("node1", 5), {7});
  const auto answer = directory.admit(join_of("node1", 6), {8});
  EXPECT_EQ(std::get<NotAdmitted>(answer).reason, JoinRefusal::kNameTaken);
  EXPECT_TRUE(directory.lose({7}));
  EXPECT_FALSE(directory.lose({7}));
  EXPECT_EQ(std::get<Admitted>(directory.admit(join_of("node1", 6), {8})).process, ProcessIncarnation{8});
}

TEST(ProcessDirectory, WhoComesBackAfterABrokenLinkIsANewProcess) {
  ProcessDirectory directory(FingerprintRule::kMayDiffer);
  (void)directory.admit(join_of("node1", 5), {7});
  Join back = join_of("node1", 6);
  back.previous = ProcessIncarnation{7};
  const auto admitted = std::get<Admitted>(directory.admit(back, {8}));
  EXPECT_EQ(admitted.process, ProcessIncarnation{8});
  EXPECT_EQ(admitted.replaces, ProcessIncarnation{7});
}

TEST(ProcessDirectory, MixedKernelsAreRefusedOrWarnedAbout) {  // DESIGN.md §4.11
  ProcessDirectory strict(FingerprintRule::kMustAgree);
  (void)strict.admit(join_of("node1", 1), {1});
  EXPECT_TRUE(std::holds_alternative<Admitted>(strict.admit(join_of("node2", 2), {2})));
  const auto refused = strict.admit(join_of("node3", 3, "openblas"), {3});
  EXPECT_EQ(std::get<NotAdmitted>(refused).reason, JoinRefusal::kMixedKernels);
  ProcessDirectory lax(FingerprintRule::kMayDiffer);
  (void)lax.admit(join_of("node1", 1), {1});
  EXPECT_FALSE(std::get<Admitted>(lax.admit(join_of("node3", 3, "openblas"), {3})).warning.empty());
}

TEST(ProcessDirectory, KernelsAreComparedByWhatTheRunsPrecisionUses) {
  const Join with = join_of("node1", 1, "torch 2; gemm a; bf16 amx_bf16; threads 1");
  const Join without = join_of("node2", 2, "torch 2; gemm a; bf16 none; threads 1");
  const Join other = join_of("node3", 3, "torch 2; gemm b; bf16 amx_bf16; threads 1");
  ProcessDirectory fp32(FingerprintRule::kMustAgree, Precision::kFp32);
  (void)fp32.admit(with, {1});
  EXPECT_TRUE(std::holds_alternative<Admitted>(fp32.admit(without, {2})));
  EXPECT_TRUE(std::holds_alternative<NotAdmitted>(fp32.admit(other, {3}))) << "other products of float32";
  ProcessDirectory bf16(FingerprintRule::kMustAgree, Precision::kBf16);
  (void)bf16.admit(with, {1});
  EXPECT_TRUE(std::holds_alternative<NotAdmitted>(bf16.admit(without, {2})));
}

TEST(ProcessDirectory, TheRunsKernelsOutliveTheProcessesThatHadThem) {
  ProcessDirectory directory(FingerprintRule::kMustAgree);
  (void)directory.admit(join_of("early", 1, "openblas"), {1});
  (void)directory.lose({1});
  EXPECT_TRUE(std::holds_alternative<Admitted>(directory.admit(join_of("node1", 2), {2}))) << "nobody has trained";
  EXPECT_TRUE(directory.trains({2}));
  EXPECT_FALSE(directory.trains({2})) << "that is known";
  (void)directory.lose({2});
  const auto refused = directory.admit(join_of("late", 3, "openblas"), {3});
  EXPECT_EQ(std::get<NotAdmitted>(refused).reason, JoinRefusal::kMixedKernels);
  EXPECT_NE(std::get<NotAdmitted>(refused).explanation.find("differ from those with which the run has trained"),
            std::string::npos)
      << std::get<NotAdmitted>(refused).explanation;
  EXPECT_TRUE(std::holds_alternative<Admitted>(directory.admit(join_of("node1", 4), {4})));
}

TEST(ProcessDirectory, TheRunsKernelsAreThoseOfAMemberThatComesBackAndNotOfWhoeverCameFirst) {
  ProcessDirectory directory(FingerprintRule::kMustAgree);
  (void)directory.admit(join_of("early", 1, "openblas"), {1});
  const Join member = join_of("node1", 2);
  EXPECT_TRUE(std::holds_alternative<NotAdmitted>(directory.admit(member, {2}))) << "the control: a newcomer";
  EXPECT_TRUE(std::holds_alternative<Admitted>(directory.admit(member, {2}, Standing::kMember)));
  EXPECT_TRUE(directory.unlike().empty()) << "nobody has trained";
  EXPECT_TRUE(directory.trains({2}));
  const auto unlike = directory.unlike();
  ASSERT_EQ(unlike.size(), 1U);
  EXPECT_EQ(unlike[0].process, ProcessIncarnation{1});
  EXPECT_NE(unlike[0].why.find("'early' (openblas)"), std::string::npos) << unlike[0].why;
  (void)directory.lose({1});
  EXPECT_TRUE(directory.unlike().empty());
  const auto other = directory.admit(join_of("node3", 3, "openblas"), {3}, Standing::kMember);
  EXPECT_TRUE(std::holds_alternative<NotAdmitted>(other)) << "the first member's count";
}

TEST(ProcessDirectory, ARunThatHasTrainedBeforeThisTermHasItsKernels) {
  ProcessDirectory directory(FingerprintRule::kMustAgree);
  directory.has_trained_with("openblas");
  EXPECT_TRUE(std::holds_alternative<NotAdmitted>(directory.admit(join_of("node1", 1), {1})));
  EXPECT_TRUE(std::holds_alternative<Admitted>(directory.admit(join_of("node2", 2, "openblas"), {2})));
  EXPECT_FALSE(directory.trains({2}));
}

TEST(ProcessDirectory, ANameWhoseHolderHasNoLinkIsTakenOver) {
  ProcessDirectory directory(FingerprintRule::kMayDiffer);
  (void)directory.admit(join_of("node1", 5), {7});
  directory.set_linked({7}, false);
  const auto admitted = std::get<Admitted>(directory.admit(join_of("node1", 6), {8}));
  EXPECT_EQ(admitted.replaces, ProcessIncarnation{7});
}

TEST(RestartBudget, IsUsedUpWithinItsWindowOnly) {
  RestartBudget budget(2, seconds(10));
  EXPECT_TRUE(budget.spend(kNow));
  EXPECT_TRUE(budget.spend(kNow + seconds(1)));
  EXPECT_FALSE(budget.spend(kNow + seconds(2)));
  EXPECT_TRUE(budget.spend(kNow + seconds(11)));
}

}  // namespace
}  // namespace shoal::placement_test
