// Tests which answers to a group's orders count, for a step or a round, and when the order is given again.
#include "runtime/sync/sum_agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/base/ensure.h"
#include "runtime/sync/patience.h"

namespace shoal::sum_agreement_test {
namespace {

using namespace std::chrono_literals;
using Phase = SumAgreement::Phase;

constexpr Incarnation kOne{11}, kOther{12}, kStranger{99};
constexpr Duration kTimeout = 30s;

std::vector<ReplicaMember> members_of(const std::vector<Incarnation>& replicas) {
  std::vector<ReplicaMember> members;
  for (const Incarnation replica : replicas) members.push_back({replica, {}, ProcessIncarnation{replica.value}});
  return members;
}

// Two members, repeats after 2 s; one epoch after the other.
class Bench {
 public:
  explicit Bench(bool keeps_sums_apart = false) : sum({"sum", 2s, keeps_sums_apart}) { begin(); }

  void begin(const std::vector<Incarnation>& members = {kOne, kOther}) {
    ++order_.epoch.counter;
    sum.begin(order_, JournalPosition{order_.epoch.counter}, members_of(members), now);
  }
  // Asked, and its members are to make the sum.
  void reduce(Duration timeout = kTimeout) {
    sum.ask(now);
    for (const Incarnation member : {kOne, kOther}) EXPECT_TRUE(sum.hear(manifest(member)));
    sum.reduce(now, timeout);
  }
  [[nodiscard]] Manifest manifest(Incarnation member) const { return {order_, member, {}, 10}; }
  [[nodiscard]] Reduced reduced(Incarnation member, std::uint64_t digest) const { return {order_, member, digest, {}}; }
  [[nodiscard]] Progress progress(Incarnation member, std::uint64_t parts) const { return {order_, member, 0, parts}; }
  // As its owner does at every tick.
  void look() { sum.look(now); }
  std::optional<SumFailure> end_with(std::uint64_t one, std::uint64_t other) {
    EXPECT_TRUE(sum.hear(reduced(kOne, one), now));
    EXPECT_TRUE(sum.hear(reduced(kOther, other), now));
    return sum.conclude(now);
  }
  // Until it is true for the first time, to the tenth of a second.
  template <class Event>
  Duration time_until(const Event& event) {
    const Instant start = now;
    while (!event()) now += 100ms;
    return now - start;
  }
  Duration until_repeat() {
    return time_until([this] { return sum.repeats(now); });
  }
  Duration until_overdue() {
    return time_until([this] { return sum.overdue(now).has_value(); });
  }

  Instant now = Instant{} + 1h;
  SumAgreement sum;

 private:
  OrderId order_{RunId{9}, {}, Term{1}, StageId{1}, StepId{3}, Epoch{Incarnation{50}, 0}};
};

TEST(Patience, ATryDoublesItsTimeoutUpToSixTimes) {
  EXPECT_EQ(doubled_per_try(1s, 0), 1s);
  for (std::uint32_t tries = 1; tries <= 7; ++tries) EXPECT_EQ(doubled_per_try(1s, tries), 1s * (1 << (tries - 1)));
  for (const std::uint32_t tries : {8U, 40U, UINT32_MAX}) EXPECT_EQ(doubled_per_try(1s, tries), 64s) << tries;
}

TEST(SumAgreement, P15TakesOnlyHigherEpochs) {
  Bench bench;
  const OrderId order = bench.sum.order();
  EXPECT_THROW(bench.sum.begin(order, {}, members_of({kOne}), bench.now), Bug);
}

TEST(SumAgreement, P15ManifestsCountOnceForTheOrderInForceAndWhenTheyAreAskedFor) {
  Bench bench;
  EXPECT_FALSE(bench.sum.hear(bench.manifest(kOne))) << "nobody was asked";
  bench.sum.ask(bench.now);
  EXPECT_FALSE(bench.sum.hear(bench.manifest(kStranger)));
  const Manifest first = bench.manifest(kOne);
  EXPECT_TRUE(bench.sum.hear(first));
  EXPECT_FALSE(bench.sum.hear(first)) << "a repeat";
  EXPECT_EQ(bench.sum.unanswered(), std::set{kOther});
  EXPECT_EQ(bench.sum.receivers(), std::vector{kOther});
  bench.begin();
  bench.sum.ask(bench.now);
  EXPECT_TRUE(bench.sum.manifests().empty());
  EXPECT_FALSE(bench.sum.hear(first)) << "of the epoch before";
}

TEST(SumAgreement, EveryPartOfAnOrderMatters) {
  Bench bench;
  bench.sum.ask(bench.now);
  const std::vector<void (*)(OrderId&)> changes = {
      [](OrderId& order) { ++order.run.value; },   [](OrderId& order) { ++order.branch.value; },
      [](OrderId& order) { ++order.term.value; },  [](OrderId& order) { ++order.stage.value; },
      [](OrderId& order) { ++order.step.value; },  [](OrderId& order) { ++order.epoch.group.value; },
      [](OrderId& order) { ++order.round.number; }};
  for (const auto change : changes) {
    Manifest other = bench.manifest(kOne);
    change(other.order);
    EXPECT_FALSE(bench.sum.hear(other));
  }
  EXPECT_TRUE(bench.sum.hear(bench.manifest(kOne))) << "the control";
}

TEST(SumAgreement, WhoHasObeyedAnOpenIsNotToldAgain) {
  Bench bench;
  const Epoch before = bench.sum.order().epoch;
  bench.begin();
  bench.sum.obeyed(kOne, before);
  EXPECT_EQ(bench.sum.receivers().size(), 2U);
  bench.sum.obeyed(kOne, bench.sum.order().epoch);
  EXPECT_EQ(bench.sum.receivers(), std::vector{kOther});
  bench.sum.ask(bench.now);
  bench.sum.obeyed(kOther, bench.sum.order().epoch);
  EXPECT_EQ(bench.sum.receivers(), std::vector{kOther}) << "it owes a manifest";
}

TEST(SumAgreement, OfWhomTheManifestsAreInMakeTheSum) {
  Bench bench;
  bench.begin({kOne, kOther, kStranger});
  bench.sum.ask(bench.now);
  for (const Incarnation member : {kOther, kOne}) EXPECT_TRUE(bench.sum.hear(bench.manifest(member)));
  bench.sum.reduce(bench.now, kTimeout);
  EXPECT_EQ(bench.sum.receivers(), (std::vector{kOne, kOther}));
  EXPECT_FALSE(bench.sum.hear(bench.manifest(kStranger))) << "too late for it";
  EXPECT_FALSE(bench.sum.hear(bench.reduced(kStranger, 7), bench.now));
  EXPECT_TRUE(bench.sum.hear(bench.reduced(kOne, 7), bench.now));
  EXPECT_EQ(bench.sum.receivers(), (std::vector{kOne, kOther})) << "the other may lack a part of its";
  EXPECT_EQ(bench.sum.unanswered(), std::set{kOther});
}

TEST(SumAgreement, P19VotesForEqualDigestsOfAll) {
  Bench bench;
  bench.reduce();
  EXPECT_TRUE(bench.sum.hear(bench.reduced(kOne, 7), bench.now));
  EXPECT_THROW((void)bench.sum.conclude(bench.now), Bug);
  EXPECT_THROW((void)bench.sum.vote(), Bug);
  EXPECT_FALSE(bench.sum.hear(bench.reduced(kOne, 8), bench.now)) << "it has answered";
  EXPECT_TRUE(bench.sum.hear(bench.reduced(kOther, 7), bench.now));
  EXPECT_FALSE(bench.sum.conclude(bench.now));
  EXPECT_EQ(bench.sum.phase(), Phase::kVoted);
  EXPECT_EQ(bench.sum.vote(), (Prepared{bench.sum.order(), JournalPosition{1}, 7, {}, {}, {}}));
  EXPECT_FALSE(bench.sum.overdue(bench.now + 1000h)) << "a vote stands";
}

TEST(SumAgreement, DigestsThatDifferAreNamedAndFollowedByAPauseThatDoubles) {
  Bench bench;
  for (const Duration pause : {4s, 8s, 16s}) {
    bench.reduce();
    const auto failure = bench.end_with(7, 8);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, RunEventKind::kSumsDiffer);
    EXPECT_EQ(failure->why, "the sums of replicas 11 and 12 differ");
    bench.sum.tried_in_vain();
    bench.begin();
    EXPECT_EQ(bench.time_until([&] { return !bench.sum.is_paused(bench.now); }), pause);
  }
  bench.reduce();
  EXPECT_FALSE(bench.end_with(7, 7));
}

TEST(SumAgreement, AChangeDoesNotShortenThePause) {
  Bench bench;
  bench.reduce();
  EXPECT_TRUE(bench.end_with(7, 8));
  bench.begin({kOne});
  EXPECT_TRUE(bench.sum.is_paused(bench.now));
}

TEST(SumAgreement, SumsThatStayApartMayDiffer) {
  Bench bench(true);
  bench.reduce();
  EXPECT_FALSE(bench.end_with(7, 8));
  EXPECT_EQ(bench.sum.phase(), Phase::kVoted);
}

TEST(SumAgreement, ASumThatDoesNotComeIsGivenUpLaterWithEachTryInVainAndNoLaterForChanges) {
  Bench bench;
  for (int change = 0; change < 9; ++change) bench.begin();
  for (const Duration timeout : {30s, 60s, 120s}) {
    bench.reduce();
    EXPECT_TRUE(bench.sum.hear(bench.reduced(kOther, 7), bench.now));
    EXPECT_EQ(bench.until_overdue(), timeout);
    EXPECT_EQ(bench.sum.overdue(bench.now)->kind, RunEventKind::kReduceTimedOut);
    EXPECT_EQ(bench.sum.overdue(bench.now)->why, "no sum from 11 in time");
    bench.sum.tried_in_vain();
    bench.begin();
    EXPECT_FALSE(bench.sum.overdue(bench.now + 1000h)) << "nothing is being summed";
  }
}

TEST(SumAgreement, ASumOfTenMinutesThatFlowsIsNeitherRepeatedNorGivenUp) {
  Bench bench;
  bench.reduce();
  const Instant start = bench.now;
  for (std::uint64_t parts = 1; bench.now - start < 10min; ++parts) {
    for (int tick = 0; tick < 10; ++tick) {
      bench.now += 100ms;
      bench.look();
      ASSERT_FALSE(bench.sum.repeats(bench.now)) << "after " << parts << " s";
      ASSERT_FALSE(bench.sum.overdue(bench.now)) << "after " << parts << " s";
    }
    EXPECT_TRUE(bench.sum.hear(bench.progress(parts % 2 == 0 ? kOne : kOther, parts), bench.now));
  }
  EXPECT_FALSE(bench.end_with(7, 7));
  EXPECT_EQ(bench.sum.phase(), Phase::kVoted);
}

TEST(SumAgreement, ASumThatStandsStillIsRepeatedSoonAndThenGivenUpHoweverFarItCame) {
  Bench bench;
  bench.reduce();
  bench.now += 25s;
  EXPECT_TRUE(bench.sum.hear(bench.progress(kOne, 40), bench.now));
  EXPECT_EQ(bench.until_repeat(), 2s);
  EXPECT_EQ(bench.until_repeat(), 4s);
  EXPECT_EQ(bench.until_overdue(), kTimeout - 6s);
  bench.sum.tried_in_vain();
  bench.begin();
  bench.reduce();
  EXPECT_TRUE(bench.sum.hear(bench.progress(kOne, 1), bench.now)) << "it began again";
  EXPECT_EQ(bench.until_overdue(), 2 * kTimeout) << "the second try";
}

TEST(SumAgreement, WhoHasTheWholeSumMovedIt) {
  Bench bench;
  bench.reduce();
  bench.now += 25s;
  EXPECT_TRUE(bench.sum.hear(bench.reduced(kOne, 7), bench.now));
  EXPECT_EQ(bench.until_overdue(), kTimeout);
}

TEST(SumAgreement, OnlyProgressOfThisOrderByOneWhoOwesItsSumBuysTime) {
  Bench bench;
  const Progress before = bench.progress(kOne, 100);
  bench.begin();
  EXPECT_FALSE(bench.sum.hear(bench.progress(kOne, 1), bench.now)) << "nothing is being summed";
  bench.reduce();
  EXPECT_TRUE(bench.sum.hear(bench.reduced(kOther, 7), bench.now));
  EXPECT_TRUE(bench.sum.hear(bench.progress(kOne, 5), bench.now)) << "the control";
  const Instant moved = bench.now;
  Progress of_a_round = bench.progress(kOne, 100);
  of_a_round.order.round = {0, 1};
  bench.now += 10s;
  EXPECT_FALSE(bench.sum.hear(before, bench.now)) << "of another epoch (P-15)";
  EXPECT_FALSE(bench.sum.hear(of_a_round, bench.now));
  EXPECT_FALSE(bench.sum.hear(bench.progress(kStranger, 100), bench.now));
  EXPECT_FALSE(bench.sum.hear(bench.progress(kOther, 100), bench.now)) << "it has its sum";
  EXPECT_FALSE(bench.sum.hear(bench.progress(kOne, 5), bench.now)) << "a repeat";
  EXPECT_FALSE(bench.sum.hear(bench.progress(kOne, 4), bench.now)) << "a late one";
  (void)bench.until_overdue();
  EXPECT_EQ(bench.now - moved, kTimeout);
  EXPECT_EQ(bench.sum.unanswered(), std::set{kOne}) << "it proves nothing (P-14)";
}

// A part that once took long may take as long again; a repeat falls within every time-out all the same.
TEST(SumAgreement, GapsBetweenProgressMakeRepeatsRare) {
  Bench bench;
  bench.reduce();
  int repeats = 0;
  for (std::uint64_t parts = 1; parts <= 50; ++parts) {
    for (int tick = 0; tick < 50; ++tick) {
      bench.now += 100ms;
      repeats += bench.sum.repeats(bench.now) ? 1 : 0;
    }
    EXPECT_TRUE(bench.sum.hear(bench.progress(kOne, parts), bench.now));
  }
  EXPECT_EQ(repeats, 2) << "a part each five seconds";
}

TEST(SumAgreement, APauseOfItsOwnerIsNobodysSilence) {
  const auto overdue_after = [](bool looks_on) {
    Bench bench;
    bench.reduce();
    bench.look();
    bench.now += 1h;
    if (!looks_on) bench.look();
    EXPECT_EQ(bench.sum.repeats(bench.now), looks_on);
    const Instant back = bench.now;
    while (!bench.sum.overdue(bench.now)) {
      bench.now += 100ms;
      bench.look();
      (void)bench.sum.repeats(bench.now);
    }
    return bench.now - back;
  };
  EXPECT_EQ(overdue_after(false), kTimeout - 1s) << "a look's length counts";
  EXPECT_EQ(overdue_after(true), Duration::zero()) << "the control: had the hour been watched";
}

// The time that a sum took says how long the next ones may stand still (SumPatience).
TEST(SumAgreement, P19aAPauseOfItsOwnerIsNoPartOfWhatASumTook) {
  enum class Looks { kOften, kAfterThePause, kNever };
  const auto took = [](Looks looks) {
    Bench bench;
    bench.reduce();
    if (looks != Looks::kNever) bench.look();
    for (int second = 0; second < 3600; ++second) {
      bench.now += 1s;
      if (looks == Looks::kOften) bench.look();
    }
    if (looks == Looks::kAfterThePause) bench.look();
    EXPECT_FALSE(bench.end_with(7, 7));
    return bench.sum.age();
  };
  EXPECT_EQ(took(Looks::kAfterThePause), 1s) << "a look's length counts";
  EXPECT_EQ(took(Looks::kNever), 1s) << "the answers are read before the first tick after it";
  EXPECT_EQ(took(Looks::kOften), 1h) << "the control";
}

TEST(SumAgreement, OrdersAreRepeatedMoreAndMoreRarely) {
  Bench bench;
  for (const Duration interval : {2s, 4s, 8s}) EXPECT_EQ(bench.until_repeat(), interval);
  bench.sum.ask(bench.now);
  for (const Duration interval : {2s, 4s, 8s}) EXPECT_EQ(bench.until_repeat(), interval);
  bench.sum.tried_in_vain();
  bench.begin();
  EXPECT_EQ(bench.until_repeat(), 4s) << "the second try";
}

TEST(SumAgreement, AReduceIsRepeatedWithinItsTimeOut) {
  for (const Duration timeout : {10s, 1000s}) {
    Bench bench;
    bench.sum.ask(bench.now);
    for (const Duration interval : {2s, 4s, 8s}) EXPECT_EQ(bench.until_repeat(), interval);
    for (const Incarnation member : {kOne, kOther}) EXPECT_TRUE(bench.sum.hear(bench.manifest(member)));
    bench.sum.reduce(bench.now, timeout);
    EXPECT_EQ(bench.until_repeat(), std::min<Duration>(timeout / 2, 16s));
  }
}

TEST(SumAgreement, AVoteIsRepeatedWithoutThePatienceOfTheTries) {
  Bench bench;
  bench.sum.tried_in_vain();
  bench.begin();
  bench.reduce();
  EXPECT_FALSE(bench.end_with(7, 7));
  for (const Duration interval : {2s, 4s, 8s}) EXPECT_EQ(bench.until_repeat(), interval);
}

TEST(SumPatience, IsFourTimesTheAverageOfWhatSumsTook) {
  SumPatience patience(30s, 2s);
  EXPECT_EQ(patience.timeout(), 30s) << "nothing is known yet";
  patience.took(10s);
  EXPECT_EQ(patience.timeout(), 40s);
  patience.took(20s);
  EXPECT_EQ(patience.timeout(), 48s) << "a fifth of the newest";
  for (int times = 0; times < 100; ++times) patience.took(1ms);
  EXPECT_EQ(patience.timeout(), 2s) << "the floor";
}

// Whatever comes, in whatever order: epochs rise, and a vote names what everybody in the sum said of this very order.
TEST(SumAgreementRandom, AVoteIsWhatAllInTheSumSaidOfItsOrder) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int votes = 0;
  int failures = 0;
  Bench bench;
  std::vector<Manifest> manifests;
  std::vector<Reduced> sums;
  const auto any_of = [&random](const auto& sent) { return sent[random() % sent.size()]; };
  for (int move = 0; move < 20'000; ++move) {
    const Incarnation member{11 + random() % 3};
    manifests.push_back(bench.manifest(member));
    sums.push_back(bench.reduced(member, random() % 8 == 0 ? 8 : 7));
    const auto before = bench.sum.order();
    switch (random() % 8) {
      case 0: bench.sum.obeyed(member, bench.sum.order().epoch); break;
      case 1:
        if (bench.sum.phase() == Phase::kOpen) bench.sum.ask(bench.now);
        break;
      case 2:
      case 3: (void)bench.sum.hear(any_of(manifests)); break;
      case 4:
      case 5:
        if (bench.sum.hear(any_of(sums), bench.now) && bench.sum.unanswered().empty() &&
            bench.sum.conclude(bench.now)) {
          ++failures;
          bench.begin({kOne, kOther, Incarnation{13}});
        }
        break;
      case 6:
        if (bench.sum.phase() == Phase::kPreparing && !bench.sum.manifests().empty()) bench.sum.reduce(bench.now, 30s);
        break;
      default:
        if (random() % 40 == 0) bench.begin({kOne, kOther, Incarnation{13}});
    }
    for (const auto& [who, manifest] : bench.sum.manifests()) ASSERT_EQ(manifest.order, bench.sum.order());
    ASSERT_GE(bench.sum.order().epoch, before.epoch);
    if (bench.sum.phase() != Phase::kVoted) continue;
    ++votes;
    ASSERT_EQ(bench.sum.reduced().size(), bench.sum.manifests().size());
    for (const auto& [who, reduced] : bench.sum.reduced()) {
      ASSERT_TRUE(bench.sum.manifests().contains(who));
      ASSERT_EQ(reduced.order, bench.sum.order());
      ASSERT_EQ(reduced.digest, bench.sum.vote().digest);
    }
    bench.begin({kOne, kOther, Incarnation{13}});
    manifests.clear();
    sums.clear();
  }
  EXPECT_GT(votes, 20) << "it came to votes";
  EXPECT_GT(failures, 2) << "and to sums that differ";
}

}  // namespace
}  // namespace shoal::sum_agreement_test
