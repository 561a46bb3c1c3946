// Totals at a run's contributions are known for as long as a round may ask for them, also after a roll-back.
#include "runtime/journal/contributed_tokens.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace shoal::contributed_tokens_test {
namespace {

// A journal of one replica that follows what a run counted at every `period` steps.
struct Book {
  explicit Book(std::uint64_t every = 4, std::uint64_t look_back = 4)
      : period(every), window(look_back), tokens(history()) {}

  [[nodiscard]] ContributedTokens history() const {
    return {[every = period](std::uint64_t version) { return version % every == 0; }, window};
  }
  void append(JournalBody body, Branch branch) {
    const JournalEntry entry{JournalPosition{view.position().value + 1}, branch, Term{1}, std::move(body)};
    view.apply(entry);
    tokens.follow(entry, view);
  }
  void begin(Branch branch, std::uint64_t version) {
    append(AddReplica{StageId{}, {}, Incarnation{++numbers}, {}, version}, branch);
  }
  void step(std::uint64_t token_count, std::vector<Incarnation> checkpoint_by = {}) {
    Commit commit;
    commit.step = StepId{view.committed_steps()};
    commit.token_count = token_count;
    commit.checkpoint_by = std::move(checkpoint_by);
    append(commit, view.branch());
  }
  void save() { step(1, {Incarnation{1}}); }
  void steps(std::uint64_t count) {
    for (std::uint64_t step_count = 0; step_count < count; ++step_count) step(1);
  }

  std::uint64_t period, window;
  View view;
  ContributedTokens tokens;
  std::uint64_t numbers = 0;
};

TEST(ContributedTokens, AreThoseOfTheBranchThatGoesOn) {
  Book book;
  book.begin(Branch{0}, 0);
  for (std::uint64_t step = 0; step < 10; ++step) book.step(10, {Incarnation{1}});
  EXPECT_EQ(book.tokens.after(0), 0U);
  EXPECT_EQ(book.tokens.after(4), 40U);
  EXPECT_EQ(book.tokens.after(8), 80U);
  EXPECT_EQ(book.tokens.after(9), std::nullopt);
  book.begin(Branch{1}, 6);
  EXPECT_EQ(book.tokens.after(4), 40U);
  EXPECT_EQ(book.tokens.after(8), std::nullopt) << "of the branch that was left";
  for (std::uint64_t step = 6; step < 8; ++step) book.step(7);
  EXPECT_EQ(book.tokens.after(8), 74U);
}

TEST(ContributedTokens, OfACheckpointStayHoweverManyFollow) {
  Book book;
  book.begin(Branch{0}, 0);
  book.steps(9);
  book.save();
  book.steps(4 * (ContributedTokens::kKeptMax + 2));
  EXPECT_EQ(book.tokens.after(4), std::nullopt) << "no round after the checkpoint asks for it";
  EXPECT_EQ(book.tokens.after(8), 8U);
  EXPECT_EQ(book.tokens.after(12), std::nullopt);
  book.begin(Branch{1}, 10);
  book.steps(2);
  EXPECT_EQ(book.tokens.after(8), 8U);
  EXPECT_EQ(book.tokens.after(12), 12U);
}

TEST(ContributedTokens, AreBounded) {  // S-6
  Book plain;
  plain.begin(Branch{0}, 0);
  const std::uint64_t steps = 4 * (ContributedTokens::kKeptMax + 2);
  plain.steps(steps);
  EXPECT_EQ(plain.tokens.after(8), std::nullopt);
  EXPECT_EQ(plain.tokens.after(12), 12U);
  EXPECT_EQ(plain.tokens.after(steps), steps);

  Book saved;  // after every step
  saved.begin(Branch{0}, 0);
  for (std::uint64_t step = 0; step < steps; ++step) saved.save();
  EXPECT_EQ(saved.tokens.totals().size(), ContributedTokens::kKeptMax);
  EXPECT_EQ(saved.tokens.after(8), std::nullopt) << "of the oldest checkpoint";
  EXPECT_EQ(saved.tokens.after(12), 12U);
  EXPECT_EQ(saved.tokens.after(steps), steps);
}

// As many fragments as may be configured take turns: each step takes a contribution, and a round looks back at twice as
// many steps. What the rounds under way, or those of the newest checkpoint, ask for is there all the same.
TEST(ContributedTokens, OfAWindowStayHoweverManyTheyAre) {
  constexpr std::uint64_t kWindow = 2048, kSaved = 5000;
  Book book(1, kWindow);
  book.begin(Branch{0}, 0);
  book.steps(kSaved - 1);
  EXPECT_EQ(book.tokens.after(kSaved - 1 - kWindow), kSaved - 1 - kWindow);
  book.save();
  for (std::uint64_t version = kSaved + 1; version <= kSaved + 3 * kWindow; ++version) {
    book.steps(1);
    ASSERT_EQ(book.tokens.after(version - kWindow), version - kWindow);
  }
  book.steps(kWindow);
  EXPECT_EQ(book.tokens.totals().size(), ContributedTokens::kWindowsKept * (kWindow + 1)) << "and no more";  // S-6
  book.begin(Branch{1}, kSaved);
  for (std::uint64_t version = kSaved - kWindow; version <= kSaved; ++version) {
    ASSERT_EQ(book.tokens.after(version), version);
  }
}

// The totals that a view keeps of its steps are those of the newest 1024 checkpoints.
TEST(ContributedTokens, AreTheSameAfterAStartOfTheSpawnerHoweverManyCheckpointsThereWere) {
  Book book;
  book.begin(Branch{0}, 0);
  book.steps(9);
  for (std::uint64_t step = 0; step < View::kTotalsMax + 100; ++step) book.save();
  Book restarted = book;
  restarted.tokens = restarted.history();
  restarted.tokens.begin_at({book.view.state(), {}, book.tokens.totals(), {}});
  for (Book* one : {&book, &restarted}) one->steps(4 * ContributedTokens::kKeptMax);
  EXPECT_EQ(book.tokens.after(8), 8U);
  EXPECT_EQ(restarted.tokens.after(8), 8U);
  EXPECT_EQ(restarted.tokens.totals(), book.tokens.totals());
}

// Compares with books that forget nothing: all that a round of the head, or of a checkpoint gone back to, may ask for.
TEST(ContributedTokens, AreAllThatARoundMayAskFor) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t bound) { return random() % bound; };
  const std::uint64_t period = 1 + below(3);
  Book book(period, 1 + below(9));
  std::map<std::uint64_t, std::uint64_t> all;
  std::vector<std::uint64_t> saved = {0};
  book.begin(Branch{0}, 0);
  for (std::uint32_t branch = 1; branch <= 5; ++branch) {
    for (std::uint64_t left = 1000 + below(5000); left > 0; --left) {
      const bool is_saved = below(900) == 0;
      book.step(1 + below(9), is_saved ? std::vector{Incarnation{1}} : std::vector<Incarnation>{});
      const std::uint64_t version = book.view.committed_steps();
      if (is_saved) saved.push_back(version);
      if (version % period == 0) all[version] = book.view.tokens_total();
    }
    if (below(2) == 0) {  // another spawner
      const JournalSnapshot kept{book.view.state(), {}, book.tokens.totals(), {}};
      book.tokens = book.history();
      book.tokens.begin_at(kept);
    }
    saved.resize(1 + below(saved.size()));
    const std::uint64_t back = saved.back();
    book.begin(Branch{branch}, back);
    all.erase(all.upper_bound(back), all.end());
    for (auto asked = all.lower_bound(back - std::min(back, book.window)); asked != all.end(); ++asked) {
      ASSERT_EQ(book.tokens.after(asked->first), asked->second) << asked->first << " before " << back;
    }
  }
}

}  // namespace
}  // namespace shoal::contributed_tokens_test
