// Tests which number the next history of a run has.
#include "runtime/journal/branches.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shoal::branches_test {
namespace {

// One stage, one replica, so many steps committed on the branch.
class Journal {
 public:
  explicit Journal(std::uint32_t branch, int steps) : branch_{branch} {
    then(AddReplica{StageId{0}, ReplicaId{0}, Incarnation{1}, ProcessIncarnation{1}, 0});
    for (int step = 0; step < steps; ++step) {
      Commit commit;
      commit.step = StepId{view.committed_steps()};
      then(commit);
    }
  }
  void then(JournalBody body) {
    view.apply({JournalPosition{view.position().value + 1}, branch_, Term{1}, std::move(body)});
    branches.see(branch_);
  }

  View view;
  Branches branches;

 private:
  Branch branch_;
};

TEST(Branches, AnEmptyJournalBeginsWithTheFirstWhateverTheState) {
  Branches branches;
  branches.begin(View{}, {{}, 40}, false);
  EXPECT_EQ(branches.current(), Branch{});
}

TEST(Branches, TheStateAfterTheNewestStepGoesOnWithItsHistory) {
  Journal journal(2, 3);
  journal.branches.begin(journal.view, {{}, 3}, false);
  EXPECT_EQ(journal.branches.current(), Branch{2});
}

TEST(Branches, AnotherStateIsAnotherHistory) {
  for (const std::uint64_t version : {2U, 4U}) {
    Journal journal(2, 3);
    journal.branches.begin(journal.view, {{}, version}, false);
    EXPECT_EQ(journal.branches.current(), Branch{3});
  }
}

TEST(Branches, ARollBackIsAnotherHistoryEvenWithoutAStepLost) {
  Journal journal(2, 3);
  journal.branches.begin(journal.view, {{}, 3}, true);
  EXPECT_EQ(journal.branches.current(), Branch{3});
}

TEST(Branches, AnInterruptedRollBackKeepsItsNumber) {
  Journal journal(2, 3);
  journal.branches.see(Branch{3});
  journal.branches.begin(journal.view, {{}, 2}, true);
  EXPECT_EQ(journal.branches.current(), Branch{3});
}

TEST(Branches, IsThatOfTheStateWhereItIsBeyondTheJournals) {
  Branches empty;
  empty.begin(View{}, {Branch{4}, 40}, false);
  EXPECT_EQ(empty.current(), Branch{4});
  for (const std::uint32_t least : {1U, 5U}) {
    Journal journal(2, 3);
    journal.branches.begin(journal.view, {Branch{least}, 3}, false);
    EXPECT_EQ(journal.branches.current(), Branch{std::max(2U, least)});
  }
}

TEST(Branches, WhatIsToldOfBeyondASavedStateIsAnotherHistory) {
  const auto going_on = [](Reached saved, Reached told) { return branch_going_on(saved, told).value; };
  EXPECT_EQ(going_on({Branch{2}, 10}, {Branch{2}, 10}), 2U);
  EXPECT_EQ(going_on({Branch{2}, 10}, {Branch{2}, 9}), 2U) << "its last lines were lost";
  EXPECT_EQ(going_on({Branch{2}, 10}, {}), 2U);
  EXPECT_EQ(going_on({}, {}), 0U);
  EXPECT_EQ(going_on({Branch{2}, 10}, {Branch{2}, 11}), 3U);
  EXPECT_EQ(going_on({Branch{2}, 10}, {Branch{4}, 3}), 5U);
  EXPECT_EQ(going_on({}, {Branch{0}, 1}), 1U) << "from the beginning again";
}

TEST(Branches, WhoGoesOnIsOnTheBranchOfTheView) {
  Journal journal(2, 3);
  EXPECT_EQ(journal.branches.current(), Branch{});
  journal.branches.go_on(journal.view);
  EXPECT_EQ(journal.branches.current(), Branch{2});
}

}  // namespace
}  // namespace shoal::branches_test
