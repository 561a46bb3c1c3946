// A joiner's copy: what it asks of whom, what it believes, and that it repeats each step once, in order.
#include "runtime/sync/state_copy.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "runtime/sync/state_feed.h"
#include "tests/runtime/sync/diloco_config.h"
#include "tests/support/bounds/knobs.h"

namespace shoal::state_copy_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;

constexpr StageId kStage{1};
constexpr Incarnation kSelf{9}, kFirst{4}, kSecond{5};
const std::vector<std::string> kNames{"w"};

Instant start() { return Instant{} + 1h; }

TensorBlob one_value(float value) {
  auto bytes = std::make_shared<AlignedBuffer>(sizeof(float));
  std::memcpy(bytes->data(), &value, sizeof(float));
  return {DType::kFloat32, {1}, std::move(bytes)};
}

struct Bench {
  explicit Bench(std::optional<SyncConfig> rounds = std::nullopt)
      : copy{StateCopySetup{kSelf, kStage, Branch{}, kFirst, JournalPosition{2}, kNames, std::move(rounds)}} {}

  StateCopy copy;
  Instant now = start();
  std::uint64_t position = 0;

  void journal(JournalBody body, std::uint32_t branch = 0) {
    copy.follow({JournalPosition{++position}, Branch{branch}, Term{1}, std::move(body)}, now);
  }
  void add(Incarnation replica, std::uint64_t version = 0) { journal(AddReplica{kStage, {}, replica, {}, version}); }
  void commit(std::uint64_t step, bool is_skipped = false) {
    Commit entry;
    entry.step = StepId{step};
    entry.stages = {{StageId{0}, {}, 1, {}}, {kStage, {}, 100 + step, {}}};
    entry.token_count = 7;
    entry.learning_rate = 0.5;
    entry.optimizer_step = step + 1;
    if (is_skipped) entry.skip = SkipStep{};
    journal(entry);
  }
  bool image(std::uint64_t version, Incarnation donor = kFirst) {
    if (!copy.accepts(StateImage{kSelf, version, {}, donor, 0, 0}, now)) return false;
    copy.loaded(version, now);
    return true;
  }
  void sum(std::uint64_t step, Incarnation donor = kFirst) {
    copy.hold(StepSum{kSelf, donor, {}, StepId{step}, 7, one_value(1)}, now);
  }
  std::vector<std::uint64_t> follow_all() {
    std::vector<std::uint64_t> steps;
    while (const auto step = copy.next()) {
      steps.push_back(step->step.value);
      copy.followed(now);
    }
    return steps;
  }
  std::optional<FetchState> due() { return copy.due(now); }
};

using Steps = std::vector<std::uint64_t>;

// Asked, loaded at version 3 of 3 committed.
Bench copied() {
  Bench bench;
  bench.add(kFirst);
  bench.add(kSecond);
  for (std::uint64_t step = 0; step < 3; ++step) bench.commit(step);
  EXPECT_TRUE(bench.due());
  EXPECT_TRUE(bench.image(3));
  return bench;
}

TEST(StateCopy, AsksTheNamedDonorOnceTheJournalShowsIt) {
  Bench bench;
  EXPECT_FALSE(bench.due());
  bench.add(kSecond);
  EXPECT_FALSE(bench.due()) << "another member is not who was named";
  bench.add(kFirst);
  EXPECT_EQ(bench.due(), (FetchState{kSelf, 0, kNames, kFirst, {}}));
  EXPECT_FALSE(bench.due()) << "once";
  bench.now += StateCopy::kAskAgain;
  EXPECT_TRUE(bench.due());
}

TEST(StateCopy, BelievesOnlyTheImageItAskedFor) {
  Bench bench;
  EXPECT_FALSE(bench.image(0)) << "nothing was asked for";
  bench.add(kFirst);
  EXPECT_TRUE(bench.due());
  EXPECT_FALSE(bench.image(0, kSecond));
  EXPECT_TRUE(bench.image(0));
  EXPECT_FALSE(bench.image(0)) << "it has it";
  EXPECT_TRUE(bench.copy.is_current());
}

TEST(StateCopy, RepeatsCommittedStepsInOrderWhateverTheOrderTheyComeIn) {
  Bench bench = copied();
  EXPECT_TRUE(bench.copy.is_current());
  bench.sum(4);
  bench.commit(3);
  EXPECT_FALSE(bench.copy.is_current());
  EXPECT_EQ(bench.follow_all(), Steps{});
  bench.sum(3);
  bench.sum(3);
  EXPECT_EQ(bench.follow_all(), Steps{3}) << "a sum without its commit waits";
  bench.commit(4);
  const auto step = bench.copy.next();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->digest, 104U);
  EXPECT_EQ(step->optimizer_step, 5U);
  EXPECT_EQ(step->token_count, 7U);
  EXPECT_EQ(bench.follow_all(), Steps{4});
  EXPECT_TRUE(bench.copy.is_current());
  bench.sum(3);
  EXPECT_EQ(bench.follow_all(), Steps{}) << "an old sum is used no second time";
}

TEST(StateCopy, ASkippedStepSaysSo) {
  Bench bench = copied();
  bench.commit(3, true);
  bench.copy.hold(StepSum{kSelf, kFirst, {}, StepId{3}, 7, {}}, bench.now);
  ASSERT_TRUE(bench.copy.next());
  EXPECT_TRUE(bench.copy.next()->is_skipped);
}

TEST(StateCopy, SaysWhatItHoldsAfterEveryStepSoThatTheDonorGoesOn) {
  Bench bench = copied();
  EXPECT_EQ(bench.due(), (FetchState{kSelf, 3, {}, kFirst, {}}));
  EXPECT_FALSE(bench.due());
  bench.commit(3);
  bench.sum(3);
  EXPECT_EQ(bench.follow_all(), Steps{3});
  EXPECT_EQ(bench.due(), (FetchState{kSelf, 4, {}, kFirst, {}}));
}

TEST(StateCopy, CopiesAgainWhenASumIsLostBetweenOthers) {
  Bench bench = copied();
  bench.commit(3);
  bench.commit(4);
  bench.sum(4);
  EXPECT_FALSE(bench.copy.fell_behind());
  const auto ask = bench.due();
  ASSERT_TRUE(ask);
  EXPECT_EQ(ask->names, kNames);
  EXPECT_TRUE(bench.copy.fell_behind());
  EXPECT_FALSE(bench.copy.is_current());
  EXPECT_EQ(bench.follow_all(), Steps{}) << "what it holds is given up";
  EXPECT_TRUE(bench.image(4));
  EXPECT_EQ(bench.follow_all(), Steps{4}) << "a sum that came meanwhile fits the new image";
}

TEST(StateCopy, CopiesAgainWhenNoSumComesForLong) {
  Bench bench = copied();
  (void)bench.due();
  bench.now += 1h;
  bench.commit(3);
  const auto said = bench.due();
  EXPECT_TRUE(!said || said->names.empty()) << "the step is only just committed";
  bench.now += StateCopy::kStallFirst;
  EXPECT_EQ(bench.due()->names, kNames);
}

TEST(StateCopy, TurnsToTheNextMemberWhenItsDonorRefusesOrLeaves) {
  Bench refused;
  refused.add(kFirst);
  refused.add(kSecond);
  EXPECT_EQ(refused.due()->donor, kFirst);
  refused.copy.refused({kSelf, 0, "busy", kFirst});
  EXPECT_EQ(refused.due()->donor, kSecond);
  refused.copy.refused({kSelf, 0, "busy", kFirst});
  EXPECT_FALSE(refused.due()) << "it is the other one's";
  refused.copy.refused({kSelf, 0, "busy", kSecond});
  EXPECT_EQ(refused.due()->donor, kFirst);

  Bench left = copied();
  left.journal(RemoveReplica{kStage, kFirst, "killed"});
  const auto ask = left.due();
  ASSERT_TRUE(ask) << "at once";
  EXPECT_EQ(*ask, (FetchState{kSelf, 3, {}, kSecond, {}})) << "what it holds may do for the other one";
  left.copy.refused({kSelf, 4, "it does not feed this joiner", kSecond});
  left.commit(3);
  EXPECT_EQ(left.due()->names, kNames) << "it does not";
}

TEST(StateCopy, AsksTheOnlyMemberAgainButNotAtOnce) {
  Bench bench;
  bench.add(kFirst);
  EXPECT_TRUE(bench.due());
  bench.copy.refused({kSelf, 0, "busy", kFirst});
  EXPECT_FALSE(bench.due());
  bench.now += StateCopy::kAskAgain;
  EXPECT_TRUE(bench.due());
}

TEST(StateCopy, ADonorThatIsGoneBeforeItWasAskedIsReplaced) {
  Bench bench;
  bench.add(kSecond);
  bench.add(kFirst);
  bench.journal(RemoveReplica{kStage, kFirst, "killed"});
  EXPECT_EQ(bench.due()->donor, kSecond);
}

// A journal that is followed from there on only does not say that the donor has left.
TEST(StateCopy, ADonorThatLeftBeforeTheJournalWasFollowedIsReplaced) {
  for (const std::uint64_t reached : {1U, 2U, 3U}) {
    Bench bench;
    bench.copy.follow({JournalPosition{reached}, Branch{}, Term{1}, AddReplica{kStage, {}, kSecond, {}, 5}}, bench.now);
    const auto ask = bench.due();
    ASSERT_EQ(ask.has_value(), reached > 1) << "where it was named it may still come";
    if (ask) {
      EXPECT_EQ(ask->donor, kSecond);
    }
  }
  Bench alone;
  alone.copy.reach(JournalPosition{3});
  EXPECT_FALSE(alone.due()) << "nobody is there";
  alone.position = 3;
  alone.add(kSecond, 5);
  EXPECT_EQ(alone.due()->donor, kSecond);
}

TEST(StateCopy, OtherBranchesSayNothing) {
  Bench bench;
  bench.journal(AddReplica{kStage, {}, kFirst, {}, 0}, 1);
  EXPECT_FALSE(bench.due());
}

TEST(StateCopy, AnImageTooOldToFollowFromIsAskedForAgain) {
  Bench bench;
  bench.add(kFirst);
  for (std::uint64_t step = 0; step < StateCopy::kRecordsMax + 5; ++step) bench.commit(step);
  EXPECT_TRUE(bench.due());
  EXPECT_FALSE(bench.image(2));
  EXPECT_TRUE(bench.due()) << "at once";
}

// A donor and a joiner over a link that loses, doubles and delays, while steps commit and donors die: whatever happens
// the joiner repeats exactly the steps after its image, and when all is quiet it is current.
TEST(StateCopy, ComesThereOverAnyLink) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto chance = [&](std::uint64_t of) { return random() % of == 0; };
  for (int round = 0; round < 200; ++round) {
    Bench bench;
    bench.add(kFirst);
    bench.add(kSecond);
    std::map<Incarnation, StateFeeds> donors{{kFirst, {}}, {kSecond, {}}};
    std::vector<std::function<void()>> link;  // to the joiner
    std::uint64_t version = 0;
    std::optional<std::uint64_t> held;  // as the weights would have it
    const auto put = [&](std::function<void()> letter, bool is_lossy) {
      if (is_lossy && chance(8)) return;
      link.push_back(letter);
      if (is_lossy && chance(8)) link.push_back(letter);
    };
    const auto commit = [&](bool is_lossy) {
      for (auto& [donor, feeds] : donors) {
        const auto portions = feeds.feed(version + 1, 1);
        if (!portions.fed.empty()) put([&bench, step = version, who = donor] { bench.sum(step, who); }, is_lossy);
      }
      bench.commit(version++);
    };
    const auto ask = [&](bool is_lossy) {
      const auto wish = bench.due();
      if (!wish || (is_lossy && chance(8))) return;
      const auto found = donors.find(wish->donor);
      const auto answer =
          found == donors.end() ? StateFeeds::Answer::kNothing : found->second.hear(*wish, version, bench.now);
      const auto refuse = [&bench, who = wish->donor] { bench.copy.refused({kSelf, 0, "", who}); };
      if (answer == StateFeeds::Answer::kRefuse) put(refuse, is_lossy);
      if (answer != StateFeeds::Answer::kImage) return;
      const auto load = [&, at = version, who = wish->donor] {
        if (bench.image(at, who)) held = at;
      };
      put(load, is_lossy);
    };
    const auto deliver = [&](std::size_t at) {
      const auto letter = link[at];
      link.erase(link.begin() + static_cast<std::ptrdiff_t>(at));
      letter();
      for (const std::uint64_t step : bench.follow_all()) EXPECT_EQ(step, (*held)++);
    };
    for (int move = 0; move < 300; ++move) {
      bench.now += 500ms;
      const auto what = random() % 4;
      if (what == 0) commit(true);
      if (what == 1) ask(true);
      if (what == 2 && !link.empty()) deliver(random() % std::min<std::size_t>(link.size(), 3));
      if (what == 3 && chance(100) && donors.size() == 2) {
        const Incarnation gone = chance(2) ? kFirst : kSecond;
        donors.erase(gone);
        bench.journal(RemoveReplica{kStage, gone, "killed"});
      }
    }
    for (int move = 0; move < 1000 && !(bench.copy.is_current() && held == version); ++move) {
      bench.now += 1s;
      ask(false);
      while (!link.empty()) deliver(0);
    }
    EXPECT_TRUE(bench.copy.is_current()) << "round " << round;
    EXPECT_EQ(held, version) << "round " << round;
  }
}

// Between rounds there is time for an image, whenever the joiner comes: one that a round overtakes on its way is
// followed by one of the state after it, behind what is left of the first.
TEST(StateCopy, ComesThereBetweenRoundsWhoseImagesFitIntoThem) {
  constexpr std::uint64_t kPeriod = 25;  // steps of a second
  constexpr auto kImageTakes = 20s;
  for (std::uint64_t first_ask = 1; first_ask < kPeriod; ++first_ask) {
    Bench bench{diloco(kPeriod)};
    bench.add(kFirst);
    StateFeeds donor;
    std::deque<std::pair<Instant, std::uint64_t>> link;  // when it is there whole, and its version; one after the other
    std::uint64_t version = 0;
    while (!bench.copy.is_current() && version < 8 * kPeriod) {
      bench.now += 1s;
      bench.commit(version++);
      (void)bench.follow_all();
      if (version < first_ask) continue;
      if (!link.empty()) {
        const auto arrived = kImageTakes - (link.front().first - bench.now);
        donor.arriving(kSelf, static_cast<std::uint64_t>(arrived / 1s), bench.now);
        if (link.front().first <= bench.now) {
          (void)bench.image(link.front().second);
          link.pop_front();
          (void)bench.follow_all();
        }
      }
      const auto ask = bench.due();
      if (ask && donor.hear(*ask, version, bench.now) == StateFeeds::Answer::kImage) {
        const Instant begins = link.empty() ? bench.now : std::max(bench.now, link.back().first);
        link.emplace_back(begins + kImageTakes, version);
      }
    }
    EXPECT_TRUE(bench.copy.is_current()) << "asked first after " << first_ask << " steps";
  }
}

StateProgress some_of(std::uint64_t step, Incarnation donor) { return {{}, step, kStage, kSelf, donor, false, 1, 100}; }

TEST(StateCopy, TellsAnImageThatItWaitsForFromOthers) {
  Bench bench;
  bench.add(kFirst);
  EXPECT_FALSE(bench.copy.arriving(some_of(0, kFirst), bench.now)) << "nobody was asked";
  EXPECT_TRUE(bench.due());
  EXPECT_TRUE(bench.copy.arriving(some_of(0, kFirst), bench.now));
  EXPECT_FALSE(bench.copy.arriving(some_of(0, kSecond), bench.now)) << "of another donor";
  EXPECT_TRUE(bench.image(0));
  EXPECT_FALSE(bench.copy.arriving(some_of(0, kFirst), bench.now)) << "it is there";
}

TEST(StateCopy, ASumThatComesIsWaitedForHoweverLongItTakes) {
  for (const bool comes : {true, false}) {
    Bench bench = copied();
    bench.commit(3);
    bool asks_again = false;
    for (int second = 0; second < 60; ++second) {
      bench.now += 1s;
      if (comes) (void)bench.copy.arriving(some_of(3, kFirst), bench.now);
      const auto ask = bench.due();
      asks_again = asks_again || (ask && !ask->names.empty());
    }
    EXPECT_NE(asks_again, comes);
  }
}

StateImage piece(std::uint64_t version, std::uint64_t offset, std::uint64_t bytes, std::uint64_t total = 100) {
  TensorBlob values{DType::kUint8, {static_cast<std::int64_t>(bytes)}, std::make_shared<AlignedBuffer>(bytes)};
  return {kSelf, version, std::move(values), kFirst, 0, 0, offset, total};
}

// Asked, and the first piece of 40 bytes of 100 is there, of version 3.
Bench copying() {
  Bench bench;
  bench.add(kFirst);
  for (std::uint64_t step = 0; step < 3; ++step) bench.commit(step);
  EXPECT_TRUE(bench.due());
  EXPECT_TRUE(bench.copy.accepts(piece(3, 0, 40), bench.now));
  bench.copy.took_piece(40, bench.now);
  return bench;
}

TEST(StateCopy, P26bAsksForPieceAfterPieceOfOneVersion) {
  Knobs knobs;
  knobs.set("storage.pieces_asked_for", 2);
  Bench bench = copying();
  const auto first = bench.due(), second = bench.due();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, (FetchState{kSelf, 3, kNames, kFirst, {}, 40, 40}));
  EXPECT_EQ(second->offset, 80U);
  EXPECT_FALSE(bench.due());
  bench.commit(3);
  bench.sum(3);
  EXPECT_FALSE(bench.copy.accepts(piece(4, 40, 40), bench.now)) << "of another version";
  EXPECT_FALSE(bench.copy.accepts(piece(3, 80, 20), bench.now)) << "out of turn";
  EXPECT_FALSE(bench.copy.accepts(piece(3, 0, 40), bench.now)) << "the first one again";
  EXPECT_TRUE(bench.copy.accepts(piece(3, 40, 40), bench.now));
  bench.copy.took_piece(40, bench.now);
  EXPECT_FALSE(bench.copy.is_current());
  EXPECT_FALSE(bench.copy.next()) << "nothing is followed before all is there";
  EXPECT_TRUE(bench.copy.accepts(piece(3, 80, 20), bench.now));
  bench.copy.loaded(3, bench.now);
  EXPECT_EQ(bench.follow_all(), Steps{3}) << "the step that was committed meanwhile";
  EXPECT_TRUE(bench.copy.is_current());
}

TEST(StateCopy, P26bAnEmptyPieceAndOneOfAnotherImageAreNone) {
  Bench bench = copying();
  (void)bench.due();
  EXPECT_FALSE(bench.copy.accepts(piece(3, 40, 0), bench.now));
  EXPECT_FALSE(bench.copy.accepts(piece(3, 40, 40, 120), bench.now));
  EXPECT_TRUE(bench.copy.accepts(piece(3, 40, 40), bench.now)) << "the control";
}

TEST(StateCopy, P26bANewerImageTakesThePlaceOfTheOneThatIsComing) {
  Bench bench = copying();
  (void)bench.due();
  bench.commit(3);
  EXPECT_TRUE(bench.copy.accepts(piece(4, 0, 40), bench.now));
  bench.copy.took_piece(40, bench.now);
  EXPECT_FALSE(bench.copy.accepts(piece(3, 40, 40), bench.now)) << "of the one before";
  const auto question = bench.due();
  ASSERT_TRUE(question);
  EXPECT_EQ(question->step, 4U);
  EXPECT_EQ(question->offset, 40U);
}

// Sums of later steps come between the pieces.
TEST(StateCopy, P26bWhatComesOfASumIsNoProgressOfTheImage) {
  Bench bench = copying();
  (void)bench.due();
  EXPECT_TRUE(bench.copy.arriving({{}, 3, {}, kSelf, kFirst, false, 41, 100}, bench.now));
  EXPECT_FALSE(bench.copy.arriving({{}, 3, {}, kSelf, kFirst, false, 41, 50}, bench.now));
}

TEST(StateCopy, P26bBeginsAnewWhereTheDonorLeavesOrRefuses) {
  Bench refused = copying();
  refused.copy.refused(StateUnavailable{kSelf, 3, "no more", kFirst});
  refused.now += StateCopy::kAskAgain;
  const auto again = refused.due();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->offset, 0U);
  EXPECT_FALSE(refused.copy.accepts(piece(3, 40, 40), refused.now)) << "of the copy that was given up";
  EXPECT_TRUE(refused.copy.accepts(piece(3, 0, 40), refused.now));

  Bench left = copying();
  left.add(kSecond, 3);
  left.journal(RemoveReplica{kStage, kFirst, "test"});
  const auto other = left.due();
  ASSERT_TRUE(other);
  EXPECT_EQ(other->donor, kSecond);
  EXPECT_EQ(other->offset, 0U);
}

// The donor refuses each piece that was asked for, and the joiner has begun anew when it hears of most of them.
TEST(StateCopy, P26bALateRefusalOfAnOlderImageIsNone) {
  Bench bench = copying();
  const StateUnavailable refusal{kSelf, 3, "it does not give that state any more", kFirst};
  bench.copy.refused(refusal);
  bench.commit(3);
  const auto anew = bench.due();
  ASSERT_TRUE(anew);
  EXPECT_EQ(anew->offset, 0U) << "the control";
  EXPECT_TRUE(bench.copy.accepts(piece(4, 0, 40), bench.now));
  bench.copy.took_piece(40, bench.now);
  bench.copy.refused(refusal);
  const auto further = bench.due();
  ASSERT_TRUE(further);
  EXPECT_EQ(further->step, 4U);
  EXPECT_EQ(further->offset, 40U);
}

TEST(StateCopy, P26bAPieceThatIsLostIsAskedForAgain) {
  Knobs knobs;
  knobs.set("storage.pieces_asked_for", 2);
  Bench bench = copying();
  EXPECT_TRUE(bench.due());
  EXPECT_TRUE(bench.due());
  StateProgress slow{{}, 3, {}, kSelf, kFirst, false, 41, 100};
  for (int second = 0; second < 120; ++second) {
    bench.now += 1s;
    EXPECT_TRUE(bench.copy.arriving(slow, bench.now));
    EXPECT_FALSE(bench.due()) << "it is slow";
  }
  bench.now += PieceWindow::kLost;
  const auto again = bench.due();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->offset, 40U);
}

}  // namespace
}  // namespace shoal::state_copy_test
