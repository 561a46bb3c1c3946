// A supervisor that starts from a snapshot and the entries after it knows what one knows that has read all of them.
#include <gtest/gtest.h>

#include <random>

#include "runtime/cluster/supervisor/supervisor.h"
#include "tests/support/journal/random_journal.h"
#include "tests/support/rounds_every.h"
#include "tests/support/supervisor_bench.h"

namespace shoal::supervisor_history_test {
namespace {

constexpr std::size_t kEntries = 200;
constexpr std::uint64_t kWindow = 6;  // steps whose manifests a round may ask for

SupervisorConfig with_rounds(std::uint64_t snapshot_every) {
  SupervisorConfig config = two_by_two();
  config.microbatches = RandomJournal::kMicrobatches;
  config.snapshot_every = snapshot_every;
  config.requeue_window = kWindow;
  config.return_within = std::chrono::seconds(10);
  config.rounds = rounds_every(2);
  return config;
}

// What it would name as lost in a round that is agreed now.
CommitRound lost_now(const SupervisorCore& core) {
  CommitRound round;
  round.step = StepId{core.view().committed_steps()};
  round.round = {0, round.step.value / 2};
  return std::get<CommitRound>(core.entry_for(round).body);
}

// At each position: as SnapshotSchedule would have it kept after all entries, and the last entry.
TEST(SupervisorHistory, AreThoseOfAllEntriesWhereASnapshotStandsForTheOldest) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seeds from " << seed);
  std::size_t lost = 0;
  std::size_t ordered = 0;
  for (std::uint64_t run = seed; run < seed + 30 && !testing::Test::HasFailure(); ++run) {
    RandomJournal journal(run);
    while (journal.entries().size() < kEntries) (void)journal.next();
    SupervisorCore whole(with_rounds(5));
    for (const JournalEntry& entry : journal.entries()) whole.replay(entry);
    std::optional<JournalSnapshot> kept;
    (void)whole.begin(Instant{} + std::chrono::hours(1));
    for (SupervisorEffect& effect : whole.tick(Instant{} + std::chrono::hours(1))) {
      if (auto* keep = std::get_if<KeepSnapshot>(&effect)) kept = std::move(keep->snapshot);
    }
    ASSERT_TRUE(kept) << "seed " << run;
    ASSERT_LE(kept->view.position.value + 5, kEntries) << "the newest entries stay";
    SupervisorCore late(with_rounds(5));
    late.replay(*kept);
    for (std::size_t at = kept->view.position.value; at < kEntries; ++at) late.replay(journal.entries()[at]);
    EXPECT_EQ(late.snapshot(), whole.snapshot()) << "seed " << run;
    (void)late.begin(Instant{} + std::chrono::hours(1));
    if (whole.view().committed_steps() > kWindow) {
      EXPECT_EQ(lost_now(late), lost_now(whole)) << "seed " << run;
      lost += lost_now(whole).lost.size();
    }
    ordered += whole.snapshot().checkpoints.size();
  }
  EXPECT_GT(lost, 0U) << "journals of which no manifest is asked for";
  EXPECT_GT(ordered, 0U);
}

// The control: of a snapshot at any position the entries that are needed may not be among the rest.
TEST(SupervisorHistory, NeedTheManifestsThatASnapshotLacks) {
  std::size_t differ = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    RandomJournal journal(seed);
    while (journal.entries().size() < kEntries) (void)journal.next();
    SupervisorCore whole(with_rounds(0));
    for (const JournalEntry& entry : journal.entries()) whole.replay(entry);
    SupervisorCore late(with_rounds(0));
    late.replay(whole.snapshot());
    EXPECT_EQ(late.snapshot(), whole.snapshot());
    if (whole.view().committed_steps() > kWindow) differ += lost_now(late) == lost_now(whole) ? 0 : 1;
  }
  EXPECT_GT(differ, 0U);
}

}  // namespace
}  // namespace shoal::supervisor_history_test
