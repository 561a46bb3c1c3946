// Tests when a snapshot is due: one taken `every` entries before, so that these stay, and no sooner than nobody needs
// the entries before it.
#include "runtime/journal/snapshot_schedule.h"

#include <gtest/gtest.h>

namespace shoal::snapshot_schedule_test {
namespace {

JournalSnapshot at(std::uint64_t position) {
  JournalSnapshot snapshot;
  snapshot.view.position = JournalPosition{position};
  return snapshot;
}

// Returns the snapshot due after each of so many entries, as the position it was taken at; 0: none.
std::vector<std::uint64_t> due_after(SnapshotSchedule& schedule, std::uint64_t first, std::uint64_t last,
                                     std::optional<JournalPosition> needed_from = std::nullopt) {
  std::vector<std::uint64_t> due;
  for (std::uint64_t position = first; position <= last; ++position) {
    if (schedule.is_time(JournalPosition{position})) schedule.take(at(position), needed_from);
    const auto taken = schedule.take_due();
    due.push_back(taken ? taken->view.position.value : 0);
  }
  return due;
}

TEST(SnapshotSchedule, GivesWhatItTookBeforeTheNewestEntries) {
  SnapshotSchedule schedule(3);
  EXPECT_EQ(due_after(schedule, 1, 12), (std::vector<std::uint64_t>{0, 0, 0, 0, 0, 3, 0, 0, 6, 0, 0, 9}));
}

TEST(SnapshotSchedule, IsAFunctionOfTheJournal) {  // a start at a snapshot goes on with the same ones
  SnapshotSchedule whole(3);
  SnapshotSchedule late(3);
  const auto all = due_after(whole, 1, 12);
  late.begin_at(at(3));
  EXPECT_EQ(due_after(late, 4, 12), (std::vector<std::uint64_t>{0, 0, 0, 0, 0, 6, 0, 0, 9}));
  EXPECT_EQ(all.back(), 9U);
}

TEST(SnapshotSchedule, WaitsForWhoNeedsTheEntriesBeforeIt) {
  SnapshotSchedule schedule(3);
  EXPECT_EQ(due_after(schedule, 1, 9, JournalPosition{2}), std::vector<std::uint64_t>(9, 0));
  EXPECT_EQ(due_after(schedule, 10, 12, JournalPosition{4}), (std::vector<std::uint64_t>{0, 0, 3}))
      << "what is needed comes after it";
}

TEST(SnapshotSchedule, TakesNoneWhereAllEntriesAreToBeKept) {
  SnapshotSchedule schedule(0);
  EXPECT_EQ(due_after(schedule, 1, 50), std::vector<std::uint64_t>(50, 0));
}

JournalEntry commit_of(std::uint64_t step, std::uint32_t branch, bool saves) {
  Commit commit;
  commit.step = StepId{step};
  if (saves) commit.checkpoint_by = {Incarnation{step + 1}};
  return {JournalPosition{step + 1}, Branch{branch}, Term{1}, commit};
}

TEST(SnapshotSchedule, RemembersTheNewestOrdersOfItsBranch) {
  SnapshotSchedule schedule(3);
  for (std::uint64_t step = 0; step < 12; ++step) schedule.follow(commit_of(step, 0, step % 2 == 0));
  ASSERT_EQ(schedule.orders().size(), SnapshotSchedule::kOrdersMax);
  EXPECT_EQ(schedule.orders().back(), (OrderedCheckpoint{11, {Incarnation{11}}}));
  SnapshotSchedule late(3);
  JournalSnapshot past = at(12);
  past.checkpoints = schedule.orders();
  late.begin_at(past);
  EXPECT_EQ(late.orders(), schedule.orders());
  schedule.follow({JournalPosition{13}, Branch{1}, Term{1}, RemoveReplica{}});
  EXPECT_TRUE(schedule.orders().empty()) << "they belong to another history";
}

}  // namespace
}  // namespace shoal::snapshot_schedule_test
