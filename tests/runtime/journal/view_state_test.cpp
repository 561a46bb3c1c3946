// A view that is made from the state of another one is that view, whatever the journal says and wherever it is cut.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "messages/codec.h"
#include "tests/support/journal/random_journal.h"

namespace shoal::view_state_test {
namespace {

constexpr std::size_t kEntries = 300;

ViewState carried(const ViewState& state) {
  const auto decoded = decode_journal_snapshot(encode(JournalSnapshot{state, state.branch, {}, {}}));
  EXPECT_TRUE(decoded.value) << decoded.malformed;
  return decoded.value ? decoded.value->view : ViewState{};
}

void expect_same_answers(const View& one, const View& other) {
  EXPECT_EQ(one.optimizer_step(), other.optimizer_step());
  EXPECT_EQ(one.tokens_total(), other.tokens_total());
  EXPECT_EQ(one.lost().count(), other.lost().count());
  EXPECT_EQ(one.skips_in_a_row(), other.skips_in_a_row());
  EXPECT_EQ(one.replica_count(), other.replica_count());
  EXPECT_EQ(one.quarantined(), other.quarantined());
  EXPECT_EQ(one.finish_reason(), other.finish_reason());
  for (std::uint32_t number = 0; number < RandomJournal::kStages; ++number) {
    const StageId stage{number};
    EXPECT_EQ(one.replicas_of(stage), other.replicas_of(stage));
    EXPECT_EQ(one.members().last_change_of(stage), other.members().last_change_of(stage));
    EXPECT_EQ(one.members().group_of(stage), other.members().group_of(stage));
    EXPECT_EQ(one.rounds().newest_of(stage), other.rounds().newest_of(stage));
    for (const ReplicaMember& member : one.replicas_of(stage)) {
      EXPECT_EQ(other.stage_of(member.incarnation), stage);
    }
    for (std::uint64_t contributed = 0; contributed < 9; ++contributed) {
      const std::uint64_t due = one.committed_steps() - std::min(one.committed_steps(), contributed);
      EXPECT_EQ(one.rounds().has(stage, {0, 3}, StepId{contributed}, due),
                other.rounds().has(stage, {0, 3}, StepId{contributed}, due));
    }
  }
  for (std::uint64_t place = 0; place < 4 * kEntries; ++place) {
    ASSERT_EQ(one.requeued().sample_at(PlaceId{place}), other.requeued().sample_at(PlaceId{place}));
  }
}

TEST(ViewState, GoesOnAsTheViewItWasTakenFrom) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seeds from " << seed);
  for (std::uint64_t run = seed; run < seed + 40 && !testing::Test::HasFailure(); ++run) {
    RandomJournal journal(run);
    std::mt19937_64 random(run);
    const std::size_t cut = random() % kEntries;
    while (journal.entries().size() < cut) (void)journal.next();
    View other(carried(journal.view().state()));
    ASSERT_EQ(other.state(), journal.view().state()) << "seed " << run;
    while (journal.entries().size() < kEntries) {
      other.apply(journal.next());
      ASSERT_EQ(other.state(), journal.view().state()) << "seed " << run << ", entry " << journal.entries().size();
    }
    expect_same_answers(journal.view(), other);
  }
}

// The control: each of these is in the states that are compared above, and whoever forgets it is another view then.
TEST(ViewState, WithoutAnyPartOfItIsAnotherOne) {
  const std::vector<std::pair<const char*, std::function<void(ViewState&)>>> losses{
      {"position", [](ViewState& state) { state.position = {}; }},
      {"branch", [](ViewState& state) { state.branch = {}; }},
      {"committed_steps", [](ViewState& state) { state.committed_steps = 0; }},
      {"start", [](ViewState& state) { state.start = 0; }},
      {"held_until", [](ViewState& state) { state.held_until = 0; }},
      {"is_at_last_commit", [](ViewState& state) { state.is_at_last_commit = false; }},
      {"skips_in_a_row", [](ViewState& state) { state.skips_in_a_row = 0; }},
      {"stages", [](ViewState& state) { state.stages.clear(); }},
      {"groups", [](ViewState& state) { state.groups.clear(); }},
      {"rounds", [](ViewState& state) { state.rounds.clear(); }},
      {"totals", [](ViewState& state) { state.totals.clear(); }},
      {"lost.rounds", [](ViewState& state) { state.lost.rounds.clear(); }},
      {"lost.in_rounds", [](ViewState& state) { state.lost.in_rounds = 0; }},
      {"lost.thrown_away", [](ViewState& state) { state.lost.thrown_away = 0; }},
      {"quarantined", [](ViewState& state) { state.quarantined.clear(); }},
      {"requeued", [](ViewState& state) { state.requeued.taken.clear(); }},
      {"ends", [](ViewState& state) { state.ends.clear(); }},
      {"finished", [](ViewState& state) { state.finished.reset(); }}};
  std::set<std::string> noticed;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RandomJournal journal(seed);
    for (std::size_t entry = 0; entry < kEntries; ++entry) {
      (void)journal.next();
      if (entry % 10 != 0) continue;
      const ViewState whole = journal.view().state();
      for (const auto& [name, lose] : losses) {
        ViewState state = whole;
        lose(state);
        if (View(state).state() != whole) noticed.insert(name);
      }
    }
  }
  for (const auto& [name, lose] : losses) EXPECT_TRUE(noticed.contains(name)) << name;
}

}  // namespace
}  // namespace shoal::view_state_test
