// SyncGroupCore rule by rule (P-14 .. P-21): one stage of two, its group fed by hand.
#include "runtime/sync/sync_group.h"

#include <gtest/gtest.h>

#include "runtime/sync/sync_group_verdict.h"
#include "tests/runtime/sync/sync_group_bench.h"

namespace shoal::sync_group_test {
namespace {

using std::chrono::seconds;

using test_support::kGroup;
using test_support::kStage;
using test_support::kUpstream;
using Bench = test_support::SyncGroupBench;

TEST(SyncGroup, BeginsWithOpenUnderItsOwnIncarnation) {  // P-21
  Bench bench;
  const auto opens = bench.all<Open>();
  ASSERT_EQ(opens.size(), 2U);
  EXPECT_EQ(opens[0].order.epoch, (Epoch{kGroup, 1}));
}

TEST(SyncGroup, PreparesWhenTheHintsCoverThePlan) {  // P-14
  Bench bench;
  bench.hear(Progress{bench.order(), Incarnation{11}, 3});
  EXPECT_TRUE(bench.all<Prepare>().empty());
  bench.hear(Progress{bench.order(), Incarnation{12}, 1});
  EXPECT_EQ(bench.all<Prepare>().size(), 2U);
}

TEST(SyncGroup, CountsNoProgressOfStrangers) {
  Bench bench;
  bench.hear(Progress{bench.order(), Incarnation{99}, 4});
  EXPECT_TRUE(bench.all<Prepare>().empty());
}

TEST(SyncGroup, S6KeepsNothingOfStrangers) {
  Bench bench;
  for (std::uint64_t stranger = 100; stranger < 10'100; ++stranger) {
    OrderId order = bench.order();
    order.step.value += stranger % 2;
    bench.hear(Progress{order, Incarnation{stranger}, 4});
  }
  bench.hear(Progress{bench.order(), Incarnation{11}, 1});
  bench.hear(Progress{bench.order(), Incarnation{12}, 1});
  EXPECT_EQ(bench.core.counts(), 2U);
}

TEST(SyncGroup, ReducesOnlyExactlyOnceManifestsOfAllMembers) {  // P-16
  Bench bench;
  bench.answered();
  bench.manifest(11, {0, 2});
  EXPECT_TRUE(bench.all<Reduce>().empty());
  bench.manifest(12, {1, 3});
  const auto reduces = bench.all<Reduce>();
  ASSERT_EQ(reduces.size(), 2U);
  EXPECT_EQ(reduces[0].members, (std::vector<Incarnation>{{11}, {12}}));
  EXPECT_EQ(reduces[0].token_count, 400U);
}

TEST(SyncGroup, AGapOpensAndAsksEveryReplicaUpstream) {  // P-16, P-17
  Bench bench;
  bench.answered();
  bench.manifest(11, {0});
  bench.manifest(12, {3});
  EXPECT_EQ(bench.all<Open>().size(), 2U);
  const auto missing = bench.all<Missing>();
  ASSERT_EQ(missing.size(), 2U);
  EXPECT_EQ(bench.sent.back().to, to_stage(ProcessIncarnation{2}, Incarnation{2}));
  EXPECT_EQ(missing[0].upstream, Incarnation{1});
  EXPECT_EQ(missing[1].upstream, Incarnation{2});
  EXPECT_EQ(missing[0].microbatches, (std::vector<MicrobatchId>{{1}, {2}}));
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kOpen);
}

TEST(SyncGroup, TheFirstStageAsksTheDataLoader) {  // P-17
  Bench bench(kUpstream);
  bench.answered();
  bench.manifest(1, {0, 1});
  bench.manifest(2, {2});
  const auto missing = bench.all<Missing>();
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].upstream, Incarnation{});
}

TEST(SyncGroup, MissingIsRepeatedUntilTheNextCompleteManifests) {  // P-17
  Bench bench;
  bench.answered();
  bench.manifest(11, {0});
  bench.manifest(12, {1, 3});
  bench.tick(seconds(60));
  EXPECT_EQ(bench.all<Missing>().size(), 2U);
  bench.hear(Progress{bench.order(), Incarnation{11}, 2});
  bench.manifest(11, {0, 2});
  bench.manifest(12, {1, 3});
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kReducing);
  bench.tick(seconds(20));
  EXPECT_TRUE(bench.all<Missing>().empty());
}

TEST(SyncGroup, ADuplicateZeroesAndAsksForEverything) {  // P-16
  Bench bench;
  bench.answered();
  bench.manifest(11, {0, 1, 2});
  bench.manifest(12, {2, 3});
  EXPECT_EQ(bench.all<Zero>().size(), 2U);
  EXPECT_TRUE(bench.all<Missing>().empty()) << "it may overtake the Zero";
  const auto events = bench.all<RunEvent>();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(events[0].reason.find("microbatch 2 was accumulated more than once"), std::string::npos);
  bench.hear(Progress{bench.order(), Incarnation{11}, 0});
  EXPECT_TRUE(bench.all<Missing>().empty()) << "12 may still answer from before";
  bench.hear(Progress{bench.order(), Incarnation{12}, 0});
  ASSERT_EQ(bench.all<Missing>().size(), 2U);
  EXPECT_EQ(bench.all<Missing>().at(0).microbatches.size(), 4U);
  bench.hear(Progress{bench.order(), Incarnation{12}, 0});
  EXPECT_TRUE(bench.all<Missing>().empty()) << "once";
}

TEST(SyncGroup, AfterAZeroASilentMemberIsNotWaitedForLong) {
  Bench bench;
  bench.answered();
  bench.manifest(11, {0, 1, 2});
  bench.manifest(12, {2, 3});
  bench.hear(Progress{bench.order(), Incarnation{11}, 0});
  bench.tick(seconds(1));
  EXPECT_EQ(bench.all<Missing>().size(), 2U);
  bench.hear(Progress{bench.order(), Incarnation{12}, 0});
  EXPECT_TRUE(bench.all<Missing>().empty());
  bench.tick(seconds(9));
  EXPECT_EQ(bench.all<Missing>().size(), 2U) << "however many epochs the step has had";
}

TEST(SyncGroup, PrepareNamesTheLastZeroOfItsStep) {  // P-16b
  Bench bench;
  bench.answered();
  EXPECT_EQ(bench.all<Prepare>().at(0).last_zero, Epoch{});
  bench.manifest(11, {0, 1, 2, 3});
  bench.manifest(12, {2});
  const Epoch zero = bench.core.epoch();
  bench.hear(Progress{bench.order(), Incarnation{11}, 4});
  EXPECT_EQ(bench.all<Prepare>().at(0).last_zero, zero);
}

TEST(SyncGroup, ProgressFromBeforeAZeroCountsNothing) {
  Bench bench;
  bench.answered();
  const OrderId before = bench.order();
  bench.manifest(11, {0, 1, 2, 3});
  bench.manifest(12, {2});
  bench.hear(Progress{before, Incarnation{11}, 4});
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kOpen);
}

TEST(SyncGroup, VotesOnlyWhenAllMembersHoldTheSameSum) {  // P-19
  Bench bench;
  bench.answered();
  const JournalPosition began = bench.core.view().position();
  bench.manifest(11, {0, 1});
  bench.manifest(12, {2, 3});
  bench.reduced(11, 7);
  EXPECT_TRUE(bench.all<Prepared>().empty());
  bench.reduced(12, 7);
  const auto votes = bench.all<Prepared>();
  ASSERT_EQ(votes.size(), 1U);
  EXPECT_EQ(votes[0].position, began);
  EXPECT_EQ(votes[0].manifests.size(), 2U);
  EXPECT_EQ(votes[0].norms.size(), 1U);
}

TEST(SyncGroup, DifferentSumsOpenANewEpochInsteadOfAVote) {  // P-19, negative control of the rule above
  Bench bench;
  bench.answered();
  bench.manifest(11, {0, 1});
  bench.manifest(12, {2, 3});
  bench.reduced(11, 7);
  bench.reduced(12, 8);
  EXPECT_TRUE(bench.all<Prepared>().empty());
  EXPECT_EQ(bench.all<Open>().size(), 2U);
  bench.tick(seconds(1));
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kOpen);
  bench.tick(seconds(10));
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kPreparing);
}

TEST(SyncGroup, NoTimeOutStartsAnEpochAfterTheVote) {  // P-19
  Bench bench;
  bench.answered();
  bench.manifest(11, {0, 1});
  bench.manifest(12, {2, 3});
  bench.reduced(11, 7);
  bench.reduced(12, 7);
  const Epoch voted = bench.core.epoch();
  bench.tick(seconds(3600));
  EXPECT_EQ(bench.all<Prepared>().size(), 1U);
  bench.answered();
  EXPECT_EQ(bench.core.epoch(), voted);
}

TEST(SyncGroup, AReduceThatTakesTooLongIsOpenedAndPreparedAgain) {
  Bench bench;
  bench.answered();
  bench.manifest(11, {0, 1});
  bench.manifest(12, {2, 3});
  const Epoch lost = bench.core.epoch();
  bench.tick(seconds(1));
  EXPECT_EQ(bench.core.epoch(), lost);
  bench.tick(seconds(3600));
  EXPECT_GT(bench.core.epoch(), lost);
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kPreparing);
}

TEST(SyncGroup, ASumThatComesCloserIsWaitedFor) {
  Bench bench;
  bench.answered();
  bench.manifest(11, {0, 1});
  bench.manifest(12, {2, 3});
  const Epoch reducing = bench.core.epoch();
  for (std::uint64_t parts = 1; parts < 600; ++parts) {
    bench.tick(seconds(1));
    EXPECT_TRUE(bench.sent.empty()) << "nothing is given up or said again";
    bench.hear(Progress{bench.order(), Incarnation{12}, 2, parts});
  }
  bench.tick(seconds(30));
  EXPECT_GT(bench.core.epoch(), reducing) << "it stood still";
}

// A part that was lost on its way lies with a member that may be done already.
TEST(SyncGroup, AReduceIsRepeatedToAllMembers) {
  Bench bench;
  bench.answered();
  bench.manifest(11, {0, 1});
  bench.manifest(12, {2, 3});
  bench.reduced(11, 7);
  bench.tick(seconds(5));
  EXPECT_EQ(bench.all<Reduce>().size(), 2U);
}

// The time-out is four times what a reduce takes here, and not less than two seconds.
TEST(SyncGroup, TheReduceTimeOutFollowsTheMeasuredOnes) {
  for (const int took_s : {0, 10}) {
    Bench bench;
    const auto reduce = [&bench] {
      bench.answered();
      bench.manifest(11, {0, 1});
      bench.manifest(12, {2, 3});
    };
    reduce();
    bench.tick(seconds(took_s));
    bench.reduced(11, 7);
    bench.reduced(12, 7);
    Commit commit;
    commit.step = bench.core.step();
    bench.read(commit);
    reduce();
    const Epoch epoch = bench.core.epoch();
    bench.tick(seconds(took_s == 0 ? 1 : 39));
    EXPECT_EQ(bench.core.epoch(), epoch) << took_s;
    bench.tick(seconds(2));
    EXPECT_GT(bench.core.epoch(), epoch) << took_s;
  }
}

TEST(SyncGroup, OrdersAreRepeatedWithTheSameEpochToWhoDidNotAnswer) {  // P-15
  Bench bench;
  bench.answered();
  const Epoch epoch = bench.core.epoch();
  bench.manifest(11, {0, 1});
  bench.tick(seconds(10));
  const auto prepares = bench.all<Prepare>();
  ASSERT_EQ(prepares.size(), 1U);
  EXPECT_EQ(prepares[0].order.epoch, epoch);
  EXPECT_EQ(bench.sent[0].to.incarnation, Incarnation{12});
}

TEST(SyncGroup, AnswersOfAnotherEpochAreDropped) {  // P-15
  Bench bench;
  bench.answered();
  Manifest old{bench.order(), Incarnation{11}, {}};
  --old.order.epoch.counter;
  bench.hear(old);
  bench.manifest(12, {0, 1, 2, 3});
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kPreparing);
}

TEST(SyncGroup, AMembershipChangeVoidsAVoteAndIsOpenedAtOnce) {  // P-20, both halves
  for (const bool is_add : {false, true}) {
    Bench bench;
    bench.answered();
    bench.manifest(11, {0, 1});
    bench.manifest(12, {2, 3});
    bench.reduced(11, 7);
    bench.reduced(12, 7);
    const Epoch voted = bench.core.epoch();
    is_add ? bench.add(kStage, 13) : bench.read(RemoveReplica{kStage, Incarnation{12}, "lost"});
    EXPECT_GT(bench.core.epoch(), voted);
    EXPECT_EQ(bench.all<Open>().size(), is_add ? 3U : 1U);
    bench.tick(seconds(3));
    EXPECT_TRUE(bench.all<Prepared>().empty());
  }
}

// Routers send again what the lost member had accumulated; the data loader's hint does not know that.
TEST(SyncGroup, ALossMakesItPrepareWhenTheRestCoversThePlan) {  // P-16
  Bench bench;
  bench.answered();
  bench.manifest(11, {0, 1});
  bench.manifest(12, {2, 3});
  bench.read(RemoveReplica{kStage, Incarnation{12}, "lost"});
  EXPECT_TRUE(bench.all<Prepare>().empty()) << "in vain: half of the plan is in no manifest";
  bench.answered();
  EXPECT_TRUE(bench.all<Prepare>().empty());
  Bench silent = bench;
  bench.hear(Progress{bench.order(), Incarnation{11}, 4});
  EXPECT_EQ(bench.all<Prepare>().size(), 1U);
  silent.tick(seconds(3));
  EXPECT_EQ(silent.all<Prepare>().size(), 1U) << "its Progress may have been lost";
}

TEST(SyncGroup, ALossOfNothingIsFollowedByAPrepareAtOnce) {
  Bench bench;
  bench.hear(Progress{bench.order(), Incarnation{11}, 4});
  bench.read(RemoveReplica{kStage, Incarnation{12}, "lost"});
  EXPECT_EQ(bench.all<Prepare>().size(), 1U);
}

TEST(SyncGroup, AChangeOfAnotherStageVoidsNothing) {  // P-20, control
  Bench bench;
  bench.answered();
  const Epoch epoch = bench.core.epoch();
  bench.read(RemoveReplica{kUpstream, Incarnation{1}, "lost"});
  EXPECT_EQ(bench.core.epoch(), epoch);
}

TEST(SyncGroup, ACommitBeginsTheNextStepWithHintsThatCameEarly) {
  Bench bench;
  bench.hear(AllAnswered{{}, StepId{1}});
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kOpen);
  Commit commit;
  commit.step = StepId{0};
  bench.read(commit);
  EXPECT_EQ(bench.core.step(), StepId{1});
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kPreparing);
}

TEST(SyncGroup, AGroupThatWasReplacedIsSilent) {  // P-21
  Bench bench;
  bench.read(AppointGroup{kStage, Incarnation{51}});
  bench.answered();
  EXPECT_TRUE(bench.sent.empty());
  bench.tick(seconds(600));
  EXPECT_TRUE(bench.sent.empty());
}

TEST(SyncGroup, LooksAgainWhenHintsMayHaveBeenLost) {
  Bench bench;
  bench.hear(Progress{bench.order(), Incarnation{11}, 1});
  bench.tick(seconds(60));
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kOpen);
  bench.tick(seconds(600));
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kPreparing);
}

// A replica that is added and lost every minute: the others, who answer each Open, are looked at all the same.
TEST(SyncGroup, AStormOfMembershipChangesHidesNoStandstill) {
  Bench bench;
  bench.hear(Progress{bench.order(), Incarnation{11}, 2});
  const Instant began = bench.now;
  for (std::uint64_t joiner = 100; bench.core.phase() == SyncGroupCore::Phase::kOpen; ++joiner) {
    ASSERT_LT(bench.now - began, std::chrono::minutes(6)) << "nothing was accumulated for so long";
    bench.add(kStage, joiner);
    bench.read(RemoveReplica{kStage, Incarnation{joiner}, "lost"});
    bench.hear(Progress{bench.order(), Incarnation{11}, 2});
    bench.hear(Progress{bench.order(), Incarnation{12}, 0});
    bench.tick(seconds(60));
  }
  EXPECT_GT(bench.now - began, std::chrono::minutes(4)) << "the control: it waits before it looks";
}

TEST(SyncGroup, OnlyWhatWasTriedInVainMakesTimeOutsLonger) {
  const auto timed_out_after = [](int changes, int failures) {
    Bench bench;
    for (std::uint64_t joiner = 100; changes-- > 0; ++joiner) {
      bench.add(kStage, joiner);
      bench.read(RemoveReplica{kStage, Incarnation{joiner}, "lost"});
    }
    bench.tick(seconds(2));  // from here on AllAnswered counts again
    const auto reduce = [&bench] {
      bench.answered();
      bench.manifest(11, {0, 1});
      bench.manifest(12, {2, 3});
      const Instant began = bench.now;
      const Epoch epoch = bench.core.epoch();
      while (bench.core.epoch() == epoch) bench.tick(seconds(1));
      return bench.now - began;
    };
    while (failures-- > 0) (void)reduce();
    return reduce();
  };
  EXPECT_EQ(timed_out_after(8, 0), timed_out_after(0, 0));
  EXPECT_EQ(timed_out_after(0, 2), 4 * timed_out_after(0, 0)) << "the control";
}

TEST(ManifestVerdict, NamesWhatIsNotExactlyOnce) {  // S-1
  const std::vector<MemberManifest> manifests{{Incarnation{1}, {{{0}, 5, 0, {}}, {{2}, 5, 0, {}}}},
                                              {Incarnation{2}, {{{2}, 5, 0, {}}, {{7}, 5, 0, {}}}}};
  const ManifestVerdict verdict = judge_manifests(manifests, 4);
  EXPECT_EQ(verdict.twice, (std::vector<MicrobatchId>{{2}}));
  EXPECT_EQ(verdict.missing, (std::vector<MicrobatchId>{{1}, {3}}));
  EXPECT_EQ(verdict.unknown, (std::vector<MicrobatchId>{{7}}));
  EXPECT_FALSE(verdict.is_exactly_once());
}

Quarantine quarantine_of(std::uint32_t microbatch) { return {StepId{0}, MicrobatchId{microbatch}, "poison"}; }

TEST(SyncGroup, WhatIsQuarantinedIsNotWaitedFor) {  // S-1
  Bench bench;
  bench.read(quarantine_of(2));
  EXPECT_EQ(bench.all<Open>().size(), 2U) << "the sum is another one";
  bench.hear(Progress{bench.order(), Incarnation{11}, 3});
  EXPECT_EQ(bench.all<Prepare>().size(), 2U) << "three of three";
  bench.manifest(11, {0, 1, 3});
  bench.manifest(12, {});
  const auto reduces = bench.all<Reduce>();
  ASSERT_EQ(reduces.size(), 2U);
  EXPECT_EQ(reduces[0].token_count, 300U) << "the mean is over the tokens of the others";
}

TEST(SyncGroup, AVoteThatHasItIsVoid) {
  Bench bench;
  bench.answered();
  bench.manifest(11, {0, 2});
  bench.manifest(12, {1, 3});
  for (const std::uint64_t member : {11, 12}) bench.reduced(member, 7);
  ASSERT_EQ(bench.core.phase(), SyncGroupCore::Phase::kVoted);
  bench.read(quarantine_of(2));
  EXPECT_EQ(bench.all<Open>().size(), 2U);
  EXPECT_EQ(bench.all<Prepare>().size(), 2U) << "all of the others are answered";
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kPreparing);
}

TEST(SyncGroup, WhereItWasAccumulatedTheStageStartsAgainWithoutIt) {
  Bench bench;
  bench.read(quarantine_of(2));
  bench.answered();
  bench.manifest(11, {0, 2});
  bench.manifest(12, {1, 3});
  EXPECT_EQ(bench.all<Zero>().size(), 2U);
  bench.tick(seconds(1));
  ASSERT_EQ(bench.all<Missing>().size(), 2U);
  EXPECT_EQ(bench.all<Missing>()[0].microbatches, (std::vector<MicrobatchId>{{0}, {1}, {3}}));
}

}  // namespace
}  // namespace shoal::sync_group_test
