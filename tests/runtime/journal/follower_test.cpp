// Tests how a process follows the journal: nothing skipped, nothing twice, a bounded part kept, and a late actor
// comes to the same view.
#include "runtime/journal/follower.h"

#include <gtest/gtest.h>

#include <random>

namespace shoal::follower_test {
namespace {

constexpr Instant kNow = Instant{} + std::chrono::hours(1);

JournalEntry entry_at(std::uint64_t position, JournalBody body, Term term = Term{1}) {
  return {JournalPosition{position}, {}, term, std::move(body)};
}

Commit commit_of(std::uint64_t step) {
  Commit commit;
  commit.step = StepId{step};
  commit.token_count = 10;
  commit.norms = {{"wte.weight", 1.0}};
  commit.stages = {{StageId{0}, Epoch{Incarnation{2}, 3}, 77, {{Incarnation{1}, {}}}}};
  return commit;
}

// A replica, then steps.
std::vector<JournalEntry> journal_of(std::uint64_t steps) {
  std::vector<JournalEntry> entries{entry_at(1, AddReplica{StageId{0}, {}, Incarnation{1}, {}, 0})};
  for (std::uint64_t step = 0; step < steps; ++step) entries.push_back(entry_at(step + 2, commit_of(step)));
  return entries;
}

std::vector<JournalEntry> accept(JournalFollower& follower, std::vector<JournalEntry> entries, Term term = Term{1}) {
  return follower.accept({RunId{9}, term, std::move(entries)}, kNow).entries;
}

// Returns the view that an actor attached now is given.
View view_of_a_latecomer(const JournalFollower& follower) {
  View view = follower.past();
  for (const JournalEntry& entry : follower.entries()) view.apply(entry);
  return view;
}

TEST(JournalFollower, GivesEachEntryOnceAndInOrder) {
  JournalFollower follower;
  const auto journal = journal_of(4);
  EXPECT_EQ(accept(follower, {journal[0], journal[1]}).size(), 2U);
  EXPECT_TRUE(accept(follower, {journal[3]}).empty()) << "one is missing";
  EXPECT_EQ(follower.gap(kNow + JournalFollower::kAskAgain), JournalPosition{2});
  EXPECT_EQ(accept(follower, {journal[1], journal[2], journal[3]}).size(), 2U);
  EXPECT_EQ(follower.position(), JournalPosition{4});
}

TEST(JournalFollower, AsksForTheNextLetterOfALongJournalAtOnce) {
  JournalFollower follower;
  const auto journal = journal_of(5);
  EXPECT_EQ(follower.gap(kNow), JournalPosition{});
  (void)accept(follower, {journal[0], journal[1], journal[2]});
  EXPECT_EQ(follower.gap(kNow), JournalPosition{3}) << "it may not be all";
  EXPECT_EQ(follower.gap(kNow + JournalFollower::kPoll / 2), std::nullopt) << "no answer: it was all";
  (void)accept(follower, {journal[3]});
  EXPECT_EQ(follower.gap(kNow + JournalFollower::kPoll / 2), std::nullopt) << "a single entry is news, not an answer";
}

TEST(JournalFollower, AsksMoreRarelyWhileNoAnswerComes) {
  JournalFollower follower;
  const auto journal = journal_of(3);
  follower.saw(JournalPosition{4});
  std::vector<Duration> asked;
  for (Instant now = kNow; now < kNow + std::chrono::seconds(8); now += std::chrono::milliseconds(10)) {
    if (follower.gap(now)) asked.push_back(now - kNow);
  }
  using std::chrono::milliseconds;
  EXPECT_EQ(asked, (std::vector<Duration>{milliseconds(0), milliseconds(200), milliseconds(600), milliseconds(1400),
                                          milliseconds(3000), milliseconds(5000), milliseconds(7000)}));
  (void)accept(follower, {journal[0]});
  EXPECT_EQ(follower.gap(kNow + std::chrono::seconds(9)), JournalPosition{1});
  EXPECT_EQ(follower.gap(kNow + std::chrono::seconds(9) + JournalFollower::kAskAgain), JournalPosition{1}) << "as soon";
}

TEST(JournalFollower, ComparesWhatItKeepsWithTheJournalOfALaterTerm) {
  for (const bool is_other : {false, true}) {
    JournalFollower follower;
    const auto journal = journal_of(JournalFollower::kEntriesMax + 10);
    (void)accept(follower, journal);
    EXPECT_EQ(follower.gap(kNow), follower.position());
    const JournalPosition next{follower.position().value + 1};
    (void)accept(follower, {entry_at(next.value, commit_of(next.value - 2), Term{2})}, Term{2});
    EXPECT_EQ(follower.position(), next);
    const auto after = follower.gap(kNow);
    ASSERT_EQ(after, follower.past().position()) << "all that is kept";
    std::vector<JournalEntry> again(journal.begin() + static_cast<std::ptrdiff_t>(after->value), journal.end());
    if (is_other) again[1].term = Term{2};
    (void)accept(follower, again, Term{2});
    EXPECT_EQ(follower.has_diverged(), is_other);
    EXPECT_EQ(follower.gap(kNow + JournalFollower::kPoll), next) << "once";
  }
}

TEST(JournalFollower, KeepsBoundedlyManyEntries) {  // S-6
  JournalFollower follower;
  const auto journal = journal_of(5 * JournalFollower::kEntriesMax);
  for (const JournalEntry& entry : journal) {
    ASSERT_EQ(accept(follower, {entry}).size(), 1U);
    ASSERT_LE(follower.entries().size(), JournalFollower::kEntriesMax);
  }
  EXPECT_EQ(follower.position().value, journal.size());
  EXPECT_GE(follower.entries().size(), JournalFollower::kEntriesMax / 2) << "the newest are there, whole";
  EXPECT_TRUE(accept(follower, {journal[3]}).empty()) << "an old one is known";
  EXPECT_FALSE(follower.has_diverged());
}

TEST(JournalFollower, OnlyTheNewestCommitIsKeptWithItsDetails) {
  JournalFollower follower;
  (void)accept(follower, journal_of(JournalFollower::kEntriesMax + 10));
  std::size_t whole = 0;
  for (const JournalEntry& entry : follower.entries()) whole += std::get<Commit>(entry.body).norms.empty() ? 0 : 1;
  EXPECT_EQ(whole, 1U);
  EXPECT_FALSE(std::get<Commit>(follower.entries().back().body).norms.empty());
}

TEST(JournalFollower, AnotherHistoryUnderALaterTermIsNoticed) {
  JournalFollower follower;
  const auto journal = journal_of(JournalFollower::kEntriesMax + 10);
  (void)accept(follower, journal);
  JournalEntry other = journal.back();
  other.term = Term{2};
  EXPECT_TRUE(accept(follower, {other}, Term{2}).empty());
  EXPECT_TRUE(follower.has_diverged());
}

TEST(JournalFollower, ALatecomerHasTheViewOfTheWholeJournal) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  JournalFollower follower;
  View whole;
  std::uint64_t replicas = 0;
  for (std::uint64_t position = 1; position < 3 * JournalFollower::kEntriesMax; ++position) {
    const std::uint64_t dice = random() % 100;
    const auto& members = whole.replicas_of(StageId{0});
    JournalBody body = commit_of(whole.committed_steps());
    if (dice < 5 || members.empty()) {
      body = AddReplica{StageId{0}, {}, Incarnation{++replicas}, {}, whole.committed_steps()};
    } else if (dice < 8) {
      body = RemoveReplica{StageId{0}, members[random() % members.size()].incarnation, "lost"};
    } else if (dice < 10) {
      body = Quarantine{StepId{whole.committed_steps()}, MicrobatchId{static_cast<std::uint32_t>(random() % 8)}, ""};
    }
    const JournalEntry entry = entry_at(position, body);
    whole.apply(entry);
    (void)accept(follower, {entry});
    if (random() % 500 != 0) continue;
    const View late = view_of_a_latecomer(follower);
    ASSERT_EQ(late.position(), whole.position());
    ASSERT_EQ(late.replicas_of(StageId{0}), whole.replicas_of(StageId{0}));
    ASSERT_EQ(late.committed_steps(), whole.committed_steps());
    ASSERT_EQ(late.tokens_total(), whole.tokens_total());
    ASSERT_EQ(late.quarantines().count(), whole.quarantines().count());
    ASSERT_EQ(late.members().last_change_of(StageId{0}), whole.members().last_change_of(StageId{0}));
  }
  EXPECT_GT(follower.past().position().value, 0U);
}

// Returns what a journal without its oldest entries says to a follower that lacks them.
JournalEntries past_and_rest(const std::vector<JournalEntry>& journal, std::size_t cut, Term term = Term{1}) {
  View past;
  for (std::size_t at = 0; at < cut; ++at) past.apply(journal[at]);
  return {RunId{9}, term, {journal.begin() + static_cast<std::ptrdiff_t>(cut), journal.end()}, past.state()};
}

TEST(JournalFollower, BeginsWithAViewInPlaceOfEntriesThatNobodyKeeps) {
  for (const std::size_t known : {0U, 1U, 40U}) {
    JournalFollower follower;
    const auto journal = journal_of(60);
    (void)accept(follower, {journal.begin(), journal.begin() + static_cast<std::ptrdiff_t>(known)});
    const JournalNews news = follower.accept(past_and_rest(journal, 50), kNow);
    EXPECT_EQ(news.entries.size(), journal.size() - 50);
    ASSERT_TRUE(news.past);
    EXPECT_EQ(news.past->position(), JournalPosition{50});
    EXPECT_EQ(follower.past().position(), JournalPosition{50});
    EXPECT_EQ(follower.position().value, journal.size());
    EXPECT_EQ(view_of_a_latecomer(follower).committed_steps(), 60U);
  }
}

// A journal that was cut has more entries after its snapshot than a follower keeps: whoever follows here reads them
// all.
TEST(JournalFollower, TheViewThatItGivesIsTheOneThatItsEntriesFollow) {
  for (const std::size_t more : {1U, 127U, 128U, 129U, 512U, 1024U}) {
    constexpr std::size_t kCut = 512;
    JournalFollower follower;
    const JournalNews news = follower.accept(past_and_rest(journal_of(kCut + more), kCut), kNow);
    ASSERT_TRUE(news.past);
    View reader = *news.past;
    for (const JournalEntry& entry : news.entries) reader.apply(entry);  // Ensures that there is no gap
    EXPECT_EQ(reader.position(), follower.position());
    EXPECT_EQ(reader.committed_steps(), kCut + more);
    EXPECT_EQ(view_of_a_latecomer(follower).committed_steps(), kCut + more);
  }
}

TEST(JournalFollower, AsksForWhatFollowsAViewAtOnce) {
  JournalFollower follower;
  const auto journal = journal_of(60);
  (void)follower.gap(kNow);
  JournalEntries past = past_and_rest(journal, 50);
  past.entries.clear();
  const JournalNews news = follower.accept(past, kNow);
  EXPECT_TRUE(news.entries.empty());
  EXPECT_TRUE(news.past);
  EXPECT_EQ(follower.gap(kNow), JournalPosition{50});
}

TEST(JournalFollower, AViewOfWhatItHasReadChangesNothing) {
  for (const std::size_t cut : {20U, 61U}) {
    JournalFollower follower;
    const auto journal = journal_of(60);
    (void)accept(follower, journal);
    const JournalNews news = follower.accept(past_and_rest(journal, cut), kNow);
    EXPECT_TRUE(news.entries.empty());
    EXPECT_FALSE(news.past);
    EXPECT_EQ(follower.position().value, journal.size());
    EXPECT_EQ(follower.past().position(), JournalPosition{});
  }
}

TEST(JournalFollower, NothingOfAnOlderTermIsAdopted) {  // S-4
  JournalFollower follower;
  const auto journal = journal_of(60);
  (void)accept(follower, {entry_at(1, AddReplica{StageId{0}, {}, Incarnation{1}, {}, 0}, Term{2})}, Term{2});
  const JournalNews news = follower.accept(past_and_rest(journal, 50, Term{1}), kNow);
  EXPECT_TRUE(news.entries.empty());
  EXPECT_FALSE(news.past);
  EXPECT_EQ(follower.position(), JournalPosition{1});
}

// The entries after the view tell, if there are any; else there is nothing to compare any more.
TEST(JournalFollower, ComparesWhatIsKeptOnBothSides) {
  const auto journal = journal_of(60);
  for (const bool is_other : {false, true}) {
    JournalFollower follower;
    (void)accept(follower, journal);
    JournalEntries answer = past_and_rest(journal, 40, Term{2});
    if (is_other) answer.entries[3].term = Term{2};
    (void)follower.accept(answer, kNow);
    EXPECT_EQ(follower.has_diverged(), is_other);
    EXPECT_EQ(follower.gap(kNow + JournalFollower::kPoll), follower.position()) << "once";
  }
  JournalFollower follower;
  (void)accept(follower, journal);
  (void)follower.accept(past_and_rest(journal, journal.size(), Term{2}), kNow);
  EXPECT_EQ(follower.gap(kNow + JournalFollower::kPoll), follower.position());
}

}  // namespace
}  // namespace shoal::follower_test
