// View: equal journals give equal views; the rules P-1, P-3, P-27 and S-2 as refusals.
#include "runtime/journal/view.h"

#include <gtest/gtest.h>

#include "runtime/base/ensure.h"

namespace shoal::view_test {
namespace {

constexpr StageId kFirst{0};
constexpr StageId kSecond{1};

class Journal {
 public:
  Journal& then(JournalBody body, std::uint32_t branch = 0) {
    view.apply({JournalPosition{view.position().value + 1}, Branch{branch}, Term{1}, std::move(body)});
    return *this;
  }
  View view;
};

AddReplica added(std::uint64_t replica, StageId stage, std::uint64_t version = 0) {
  return {stage, ReplicaId{0}, Incarnation{replica}, ProcessIncarnation{replica + 100}, version};
}

Commit commit_of(std::uint64_t step, bool skipped = false) {
  Commit commit;
  commit.step = StepId{step};
  commit.token_count = 10;
  commit.optimizer_step = step + 1;
  if (skipped) commit.skip = SkipStep{"wte.weight", MicrobatchId{0}};
  return commit;
}

TEST(View, KnowsWhoServesAStageAndWhere) {
  Journal journal;
  journal.then(added(7, kFirst)).then(added(3, kFirst)).then(added(9, kSecond));
  const View& view = journal.view;
  ASSERT_EQ(view.replicas_of(kFirst).size(), 2U);
  EXPECT_EQ(view.replicas_of(kFirst)[0].incarnation, Incarnation{3});
  EXPECT_EQ(view.members().process_of(Incarnation{9}), ProcessIncarnation{109});
  EXPECT_EQ(view.stage_of(Incarnation{9}), kSecond);
  EXPECT_EQ(view.stage_of(Incarnation{4}), std::nullopt);
  EXPECT_EQ(view.stage_count(), 2U);
  EXPECT_TRUE(view.replicas_of(StageId{5}).empty());
}

TEST(View, RemembersWhereAStageChangedLast) {
  Journal journal;
  journal.then(added(1, kFirst)).then(added(2, kSecond)).then(added(3, kFirst));
  journal.then(RemoveReplica{kFirst, Incarnation{1}, "lost"}).then(commit_of(0));
  EXPECT_EQ(journal.view.members().last_change_of(kFirst), JournalPosition{4});
  EXPECT_EQ(journal.view.members().last_change_of(kSecond), JournalPosition{2});
  EXPECT_FALSE(journal.view.contains(Incarnation{1}));
}

TEST(View, CountsTheTokensOfStepsThatItsJournalLacks) {
  Journal journal;
  journal.then(added(1, kFirst, 7)).then(commit_of(7));
  EXPECT_EQ(journal.view.tokens_total(), 80U);
  // A branch that begins later than the journal's last step: one process trained 8 and 9.
  journal.then(RemoveReplica{kFirst, Incarnation{1}, "started again"}).then(added(2, kFirst, 10), 1);
  journal.then(commit_of(10), 1);
  EXPECT_EQ(journal.view.tokens_total(), 110U);
  EXPECT_EQ(journal.view.optimizer_step(), 11U);
}

TEST(View, CountsStepsUpdatesTokensAndSkips) {
  Journal journal;
  journal.then(added(1, kFirst)).then(commit_of(0)).then(commit_of(1, true)).then(commit_of(2, true));
  EXPECT_EQ(journal.view.committed_steps(), 3U);
  EXPECT_EQ(journal.view.tokens_total(), 30U);
  EXPECT_EQ(journal.view.optimizer_step(), 3U);
  EXPECT_EQ(journal.view.skips_in_a_row(), 2);
  journal.then(commit_of(3));
  EXPECT_EQ(journal.view.skips_in_a_row(), 0);
}

TEST(View, AHigherBranchStartsFromTheVersionOfItsFirstReplica) {
  Journal journal;
  journal.then(added(1, kFirst)).then(commit_of(0)).then(commit_of(1)).then(FinishRun{"stopped"});
  EXPECT_TRUE(journal.view.is_finished());
  journal.then(added(5, kFirst, 1), 1);
  EXPECT_EQ(journal.view.branch(), Branch{1});
  EXPECT_EQ(journal.view.committed_steps(), 1U);
  EXPECT_EQ(journal.view.tokens_total(), 10U);
  EXPECT_FALSE(journal.view.contains(Incarnation{1}));
  EXPECT_FALSE(journal.view.is_finished());
  journal.then(commit_of(1), 1);
  EXPECT_EQ(journal.view.committed_steps(), 2U);
}

TEST(View, ASecondCommitOfAStepIsABug) {  // S-2
  Journal journal;
  journal.then(added(1, kFirst)).then(commit_of(0));
  EXPECT_THROW(journal.then(commit_of(0)), Bug);
}

TEST(View, ASkippedOrRepeatedPositionIsABug) {  // P-3
  View view;
  EXPECT_THROW(view.apply({JournalPosition{2}, {}, {}, commit_of(0)}), Bug);
  view.apply({JournalPosition{1}, {}, {}, added(1, kFirst)});
  EXPECT_THROW(view.apply({JournalPosition{1}, {}, {}, added(2, kFirst)}), Bug);
}

TEST(View, AReplicaBehindTheCommittedStepsIsNotAdmitted) {  // P-27
  Journal journal;
  journal.then(added(1, kFirst)).then(commit_of(0));
  EXPECT_THROW(journal.then(added(2, kFirst, 0)), Bug);
}

TEST(View, S6TakesNoStageThatNoRunHas) {
  constexpr std::uint32_t kStagesMax = 4096;  // as in view.cpp
  Journal journal;
  journal.then(added(1, StageId{kStagesMax - 1}));
  EXPECT_EQ(journal.view.stage_count(), kStagesMax);
  EXPECT_THROW(journal.then(added(2, StageId{kStagesMax})), Bug);
}

TEST(View, AnEntryOfAnOlderBranchIsABug) {  // S-4
  Journal journal;
  journal.then(added(1, kFirst)).then(added(2, kFirst, 0), 2);
  EXPECT_THROW(journal.then(added(3, kFirst, 0), 1), Bug);
}

TEST(View, OldCommitsTravelWithoutManifestsAndNorms) {
  Commit commit = commit_of(4);
  commit.norms = {{"wte.weight", 1.0}};
  commit.stages = {{kFirst, Epoch{Incarnation{2}, 3}, 77, {{Incarnation{1}, {}}}}};
  const JournalEntry entry = without_details({JournalPosition{9}, {}, {}, commit});
  const auto& left = std::get<Commit>(entry.body);
  EXPECT_EQ(left.norms.capacity(), 0U) << "nor do they take room";
  EXPECT_EQ(left.stages[0].manifests.capacity(), 0U);
  EXPECT_EQ(left.stages[0].epoch, (Epoch{Incarnation{2}, 3}));
  EXPECT_EQ(left.token_count, 10U);
}

TEST(View, AQuarantineChangesTheStepInProgressOfEveryStageAndHoldsOnEveryBranch) {
  Journal journal;
  journal.then(added(1, kFirst)).then(added(2, kSecond)).then(commit_of(0));
  journal.then(Quarantine{StepId{1}, MicrobatchId{3}, "it ends whoever computes it"});
  EXPECT_EQ(journal.view.quarantined(), std::set<MicrobatchId>{MicrobatchId{3}});
  EXPECT_EQ(journal.view.members().last_change_of(kFirst), JournalPosition{4});
  EXPECT_EQ(journal.view.members().last_change_of(kSecond), JournalPosition{4});
  // Quarantines a microbatch of a later step, before the branch that will come to it has begun.
  journal.then(Quarantine{StepId{5}, MicrobatchId{0}, "likewise"}, 1);
  EXPECT_EQ(journal.view.members().last_change_of(kFirst), JournalPosition{4});
  journal.then(added(3, kFirst), 1);
  EXPECT_TRUE(journal.view.quarantined().empty()) << "of step 0";
  journal.then(commit_of(0), 1);
  EXPECT_EQ(journal.view.quarantined().size(), 1U) << "the samples are the same ones";
  EXPECT_TRUE(journal.view.quarantines().contains(StepId{5}, MicrobatchId{0}));
  EXPECT_EQ(journal.view.quarantines().count(), 2U);
}

TEST(View, AQuarantineInACommittedStepIsABug) {
  Journal journal;
  journal.then(added(1, kFirst)).then(commit_of(0));
  EXPECT_THROW(journal.then(Quarantine{StepId{0}, MicrobatchId{1}, ""}), Bug);
}

CommitRound round_of(StageId stage, std::uint64_t contributed, std::uint64_t number) {
  return CommitRound{stage, StepId{contributed}, {0, number}, {}, 0, {}, 0};
}

// Rounds contribute after 3, 6, .. steps and are due two steps later, but for the one that is in flight at the end.
Journal ended_after_seven(bool is_last) {
  Journal journal;
  journal.then(added(1, kFirst));
  for (std::uint64_t step = 0; step < 7; ++step) {
    Commit commit = commit_of(step);
    commit.is_last = is_last && step == 6;
    journal.then(commit);
    if (step + 1 == 5) journal.then(round_of(kFirst, 3, 1));
  }
  if (is_last) journal.then(round_of(kFirst, 6, 2));
  journal.then(FinishRun{"stopped"}).then(RemoveReplica{kFirst, Incarnation{1}, "started again"});
  return journal;
}

TEST(View, AStateOfTheEndHoldsWhatWasInFlightThereInEveryStage) {
  for (const bool is_last : {true, false}) {  // the control: a checkpoint like any other
    for (const std::uint32_t branch : {0U, 1U}) {
      Journal journal = ended_after_seven(is_last);
      journal.then(added(2, kFirst, 7), branch).then(added(3, kSecond, 7), branch);
      for (const StageId stage : {kFirst, kSecond}) {
        EXPECT_EQ(journal.view.rounds().has(stage, {0, 2}, StepId{6}, 8), is_last) << branch;
        EXPECT_FALSE(journal.view.rounds().has(stage, {0, 3}, StepId{9}, 11)) << "it is of later steps";
        EXPECT_TRUE(journal.view.rounds().has(stage, {0, 1}, StepId{3}, 5));
      }
      EXPECT_FALSE(journal.view.is_at_last_commit()) << "nothing of it is open";
      EXPECT_EQ(journal.view.start(), 7U);
    }
  }
}

TEST(View, AStateOfABranchFromBeforeTheEndHoldsNothingOfIt) {
  Journal journal = ended_after_seven(true);
  journal.then(added(2, kFirst, 4), 1);
  for (std::uint64_t step = 4; step < 7; ++step) journal.then(commit_of(step), 1);
  journal.then(RemoveReplica{kFirst, Incarnation{2}, "killed"}, 1).then(added(3, kFirst, 7), 2);
  EXPECT_FALSE(journal.view.rounds().has(kFirst, {0, 2}, StepId{6}, 8));
}

TEST(View, ALaterStateOnTheWayFromAnEndHoldsWhatItHeld) {
  Journal journal = ended_after_seven(true);
  journal.then(added(2, kFirst, 7)).then(commit_of(7));
  journal.then(RemoveReplica{kFirst, Incarnation{2}, "killed"}).then(added(3, kFirst, 8), 1);
  EXPECT_TRUE(journal.view.rounds().has(kFirst, {0, 2}, StepId{6}, 9));
}

TEST(View, TheLastCommitOfThoseWhoServeLeavesItsRoundsOpen) {
  Journal journal;
  journal.then(added(1, kFirst));
  Commit last = commit_of(0);
  last.is_last = true;
  journal.then(last).then(added(2, kFirst, 1));
  EXPECT_TRUE(journal.view.is_at_last_commit());
  EXPECT_FALSE(journal.view.rounds().has(kFirst, {0, 1}, StepId{1}, 3));
  journal.then(round_of(kFirst, 1, 1));
  EXPECT_TRUE(journal.view.rounds().has(kFirst, {0, 1}, StepId{1}, 3));
}

// S-6: a long run keeps the totals of its newest steps and of its checkpoints, and goes back to either.
// Nothing is thrown away, as the branch begins with the newest state: rounds before it and its own count.
TEST(View, CountsTheLossesOfABranchWhoseRoundsHaveTheNumbersOfEarlierOnes) {
  const auto lost_of = [](std::uint64_t contributed, std::uint64_t number, std::uint64_t lost) {
    CommitRound round = round_of(kFirst, contributed, number);
    round.tokens_lost = lost;
    return round;
  };
  Journal journal;
  journal.then(added(1, kFirst)).then(commit_of(0)).then(lost_of(1, 1, 30)).then(commit_of(1)).then(lost_of(2, 2, 50));
  journal.then(RemoveReplica{kFirst, Incarnation{1}, "a branch whose rounds have two steps"}, 1);
  journal.then(added(2, kFirst, 2), 1).then(commit_of(2), 1).then(commit_of(3), 1).then(lost_of(4, 2, 40), 1);
  EXPECT_EQ(journal.view.lost().count(), 30U + 50U + 40U);
}

TEST(View, RemembersTheTotalsOfBoundedlyManySteps) {
  const std::uint64_t kSteps = 4 * View::kTotalsMax;
  constexpr std::uint64_t kSaved = 100;
  for (const std::uint64_t version : {kSaved, kSteps - 7}) {
    Journal journal;
    journal.then(added(1, kFirst));
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      Commit commit = commit_of(step);
      commit.token_count = step < kSaved ? 7 : 10;
      if (step + 1 == kSaved) commit.checkpoint_by = {Incarnation{1}};
      journal.then(commit);
    }
    EXPECT_EQ(journal.view.tokens_total(), 7 * kSaved + 10 * (kSteps - kSaved));
    journal.then(added(2, kFirst, version), 1);
    EXPECT_EQ(journal.view.tokens_total(), 7 * kSaved + 10 * (version - kSaved)) << "at " << version;
    EXPECT_EQ(journal.view.optimizer_step(), version);
  }
}

}  // namespace
}  // namespace shoal::view_test
