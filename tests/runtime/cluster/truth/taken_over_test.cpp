// What the next spawner knows of its run though nobody told it: the kernels that it trains with, and that checkpoints
// which came to nothing are in nobody's way.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/supervisor_bench.h"

namespace shoal::taken_over_test {
namespace {

using std::chrono::seconds;
using Phase = SupervisorCore::Phase;

constexpr const char* kOwn = "torch 2; gemm mkl; threads 1";
constexpr const char* kOther = "torch 2; gemm openblas; threads 1";

SupervisorConfig exact(std::uint64_t term) {
  SupervisorConfig config = two_by_two();
  config.term = Term{term};
  config.steps_target = 20;
  config.fingerprints = FingerprintRule::kMustAgree;
  if (term > 1) config.return_within = seconds(10);
  return config;
}

Join newcomer(std::uint64_t number, const std::string& kernels) {
  Join join;
  join.name = "node" + std::to_string(number);
  join.nonce = number;
  join.fingerprint.text = kernels;
  return join;
}

Join member(const SupervisorBench& bench, const ReplicaMember& replica, StageId stage) {
  const View& view = bench.core.view();
  Join join = newcomer(100 + replica.process.value, kOwn);
  join.previous = replica.process;
  join.serves = {{stage, replica.slot, replica.incarnation, view.branch(), view.committed_steps()}};
  return join;
}

void all_come_back(SupervisorBench& bench) {
  for (const StageId stage : {StageId{0}, StageId{1}}) {
    for (const ReplicaMember& replica : bench.core.view().replicas_of(stage)) bench.hear(member(bench, replica, stage));
  }
}

bool is_refused(const SupervisorBench& bench, std::uint64_t nonce) {
  const auto all = bench.all<JoinRefused>();
  return std::ranges::any_of(all, [&](const JoinRefused& refused) {
    return refused.nonce == nonce && refused.reason == JoinRefusal::kMixedKernels;
  });
}

bool is_welcome(const SupervisorBench& bench, std::uint64_t nonce) {
  const auto all = bench.all<Welcome>();
  return std::ranges::any_of(all, [&](const Welcome& welcome) { return welcome.nonce == nonce; });
}

struct Killed {
  explicit Killed(SupervisorConfig config = exact(1)) : first(std::move(config)) {
    for (std::uint64_t number = 1; number <= 4; ++number) first.hear(newcomer(number, kOwn));
    first.ready();
    first.step();
  }
  SupervisorBench first;
};

TEST(TakenOver, TheKernelsOfTheRunAreOnRecordBeforeItsFirstMember) {
  SupervisorBench bench(exact(1));
  for (std::uint64_t number = 1; number <= 4; ++number) bench.hear(newcomer(number, kOwn));
  EXPECT_EQ(bench.kernels, "") << "nobody has trained";
  bench.is_disk_full = true;  // for entries
  bench.ready();
  EXPECT_EQ(bench.core.view().replica_count(), 0U);
  EXPECT_EQ(bench.kernels, kOwn);
}

TEST(TakenOver, ANodeWithOtherKernelsThatComesFirstIsRefusedAndNotTheMembers) {
  const Killed killed;
  SupervisorBench second(exact(2), killed.first.entries, killed.first.kernels);
  second.join(99, ProcessRole::kStorage);
  second.hear(newcomer(50, kOther));
  EXPECT_TRUE(is_refused(second, 50));
  EXPECT_FALSE(is_welcome(second, 50));
  all_come_back(second);
  EXPECT_EQ(second.all<JoinRefused>().size(), 1U);
  EXPECT_EQ(second.core.phase(), Phase::kTraining);
  second.step();
  EXPECT_EQ(second.core.view().committed_steps(), 2U);
}

TEST(TakenOver, OtherKernelsAreRefusedEvenWhereNobodyIsLeft) {
  const Killed killed;
  SupervisorBench second(exact(2), killed.first.entries, killed.first.kernels);
  second.watch(seconds(11));
  EXPECT_EQ(second.core.phase(), Phase::kGathering);
  second.hear(newcomer(50, kOther));
  EXPECT_TRUE(is_refused(second, 50));
  second.hear(newcomer(51, kOwn));
  EXPECT_TRUE(is_welcome(second, 51));
}

// A person goes on with it, or a version before this one recorded no kernels.
TEST(TakenOver, WithoutARecordTheKernelsAreThoseOfTheMemberThatComesBack) {
  const Killed killed;
  SupervisorBench second(exact(2), killed.first.entries);
  second.join(99, ProcessRole::kStorage);
  second.hear(newcomer(50, kOther));
  ASSERT_TRUE(is_welcome(second, 50)) << "it may be all that there is";
  all_come_back(second);
  EXPECT_TRUE(second.all<JoinRefused>().empty());
  EXPECT_EQ(second.core.phase(), Phase::kTraining);
  EXPECT_EQ(second.kernels, kOwn);
  ASSERT_EQ(second.all<EndProcess>().size(), 1U) << "it could serve nothing of this run";
  EXPECT_EQ(second.all<EndProcess>()[0].exit_status, 4U);
  EXPECT_TRUE(second.has_event(RunEventKind::kJoinRefused));
  second.hear(newcomer(51, kOther));
  EXPECT_TRUE(is_refused(second, 51));
}

TEST(TakenOver, WithoutARecordAndWithoutMembersTheKernelsAreThoseThatAreFound) {
  const Killed killed;
  SupervisorBench second(exact(2), killed.first.entries);
  second.checkpoint = StartPoint{1, 1, true, "sha"};
  for (std::uint64_t number = 51; number <= 54; ++number) second.hear(newcomer(number, kOther));
  second.watch(seconds(5));  // none of them was in the run: nobody else is coming back
  second.ready();
  EXPECT_EQ(second.core.phase(), Phase::kTraining);
  EXPECT_EQ(second.kernels, kOther);
}

// The journal names every order and no failure.
TEST(TakenOver, CheckpointsThatFailedBeforeDelayNoneAfterwards) {
  SupervisorConfig config = exact(1);
  config.checkpoint_every = 1;
  SupervisorBench first(config);
  first.join(99, ProcessRole::kStorage);
  for (std::uint64_t number = 1; number <= 4; ++number) first.hear(newcomer(number, kOwn));
  first.ready();
  for (std::uint64_t step = 1; step <= 6; ++step) {
    first.step();
    ASSERT_FALSE(first.last_commit().checkpoint_by.empty()) << step;
    first.hear(CheckpointFailed{Branch{0}, step, "no space left on device"});
  }
  config = exact(2);
  config.checkpoint_every = 1;
  SupervisorBench second(config, first.entries, first.kernels);
  second.join(99, ProcessRole::kStorage);
  all_come_back(second);
  ASSERT_EQ(second.core.phase(), Phase::kTraining);
  second.beat(3);
  EXPECT_TRUE(second.has_event(RunEventKind::kCheckpointRepeated));
  second.step();
  EXPECT_FALSE(second.last_commit().checkpoint_by.empty());
  EXPECT_FALSE(second.has_event(RunEventKind::kCheckpointDelayed));
}

}  // namespace
}  // namespace shoal::taken_over_test
