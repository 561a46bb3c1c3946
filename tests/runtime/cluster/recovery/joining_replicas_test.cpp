// Tests who is added, at which version, and how long a commit waits for it (P-27).
#include "runtime/cluster/recovery/joining_replicas.h"

#include <gtest/gtest.h>

#include <random>

namespace shoal::joining_replicas_test {
namespace {

using namespace std::chrono_literals;

constexpr StageId kStage{1};
constexpr Incarnation kMember{3}, kJoiner{9};

struct Bench {
  JoiningReplicas joining;
  Instant now = Instant{} + 1h;
  Duration idle{};  // while nothing was on its way

  Bench() { ask(kJoiner); }
  void ask(Incarnation replica) {
    SpawnStage order;
    order.stage = kStage;
    order.replica = replica;
    order.donor = kMember;
    joining.ask(order, ProcessIncarnation{4}, now);
  }
  void member(std::uint64_t version, std::uint64_t digest = 0) {
    joining.member_is({kStage, kMember, {}, version, digest == 0 ? 1000 + version : digest});
  }
  void joiner(std::uint64_t version, std::uint64_t digest = 0) {
    EXPECT_TRUE(joining.is_ready({kStage, kJoiner, {}, version, digest == 0 ? 1000 + version : digest}, now));
  }
  // So many bytes of its state are there, and letters came in all the time but `idle`.
  void arrive(Incarnation replica, std::uint64_t bytes, std::uint64_t bytes_total) {
    const double on_its_way_ms = milliseconds(now - Instant{} - 1h - idle);
    joining.arriving({{}, 0, kStage, replica, {}, false, bytes, bytes_total, on_its_way_ms}, now);
  }
  std::optional<JoinOutcome> decide(std::uint64_t committed, StepBefore step = StepBefore::kDone) {
    const auto decisions = joining.decide(committed, step, now);
    EXPECT_LE(decisions.size(), 1U);
    return decisions.empty() ? std::nullopt : std::optional(decisions.front().outcome);
  }
};

TEST(JoiningReplicas, AddsAtTheCommittedVersionAndTheDigestOfAMember) {
  Bench bench;
  bench.member(7);
  EXPECT_EQ(bench.decide(7), std::nullopt);
  bench.joiner(7);
  EXPECT_EQ(bench.decide(7), JoinOutcome::kAdmit);
  EXPECT_TRUE(bench.joining.joiners().empty());
  EXPECT_EQ(bench.decide(7), std::nullopt);
}

TEST(JoiningReplicas, WaitsForAMembersWordWhicheverComesFirst) {
  Bench bench;
  bench.joiner(7);
  EXPECT_EQ(bench.decide(7), std::nullopt) << "nobody to compare it with";
  bench.member(6);
  EXPECT_EQ(bench.decide(7), std::nullopt) << "of another version";
  bench.member(7);
  bench.member(6);
  EXPECT_EQ(bench.decide(7), JoinOutcome::kAdmit) << "an old word that comes late changes nothing";
}

TEST(JoiningReplicas, NeverAddsAtAnotherVersionOrAnotherDigest) {  // P-27, S-3
  Bench behind;
  behind.member(7);
  behind.joiner(6);
  EXPECT_EQ(behind.decide(7), JoinOutcome::kHold);
  Bench ahead;
  ahead.member(8);
  ahead.joiner(8);
  EXPECT_NE(ahead.decide(7), JoinOutcome::kAdmit);
  Bench differs;
  differs.member(7);
  differs.joiner(7, 42);
  EXPECT_EQ(differs.decide(7), JoinOutcome::kDiffers);
  EXPECT_TRUE(differs.joining.joiners().empty());
}

TEST(JoiningReplicas, HoldsTheNextCommitForALateOneAndLetsGoWhenItIsIn) {
  Bench bench;
  EXPECT_FALSE(bench.joining.holds_commit()) << "not while it copies";
  bench.now += 100ms;
  bench.joiner(6);
  EXPECT_EQ(bench.decide(7), JoinOutcome::kHold);
  EXPECT_TRUE(bench.joining.holds_commit());
  EXPECT_EQ(bench.decide(7), std::nullopt) << "said once";
  bench.member(7);
  bench.joiner(7);
  EXPECT_EQ(bench.decide(7), JoinOutcome::kAdmit);
  EXPECT_FALSE(bench.joining.holds_commit());
}

TEST(JoiningReplicas, AHoldIsAsLongAsTheFirstCopySuggestsWithinBounds) {
  for (const auto& [copy, hold] : {std::pair{10ms, 5000ms}, {10'000ms, 20'000ms}, {300'000ms, 300'000ms}}) {
    Bench bench;
    bench.now += copy;
    bench.joiner(6);
    EXPECT_EQ(bench.decide(7), JoinOutcome::kHold);
    bench.now += hold - 1ms;
    EXPECT_EQ(bench.decide(7), std::nullopt);
    EXPECT_TRUE(bench.joining.holds_commit());
    bench.now += 1ms;
    EXPECT_NE(bench.decide(7), std::nullopt);
    EXPECT_FALSE(bench.joining.holds_commit());
  }
}

TEST(JoiningReplicas, ThreeHoldsWithPausesThenItIsGivenUp) {
  Bench bench;
  bench.joiner(6);
  for (std::uint64_t hold = 1; hold <= CommitHolds::kMax; ++hold) {
    EXPECT_EQ(bench.decide(7), JoinOutcome::kHold);
    bench.now += CommitHolds::kShortest;
    if (hold == CommitHolds::kMax) break;
    EXPECT_EQ(bench.decide(7), JoinOutcome::kHoldOver);
    EXPECT_EQ(bench.decide(8), std::nullopt) << "training goes on for a while";
    bench.now += CommitHolds::kPause;
  }
  EXPECT_EQ(bench.decide(7), JoinOutcome::kGiveUp);
  EXPECT_TRUE(bench.joining.joiners().empty());
}

// Steps of 10 min, and the first state comes after 8, just before a commit: the sum of that step takes 320 s. The
// longest hold is shorter, and nobody waits for the joiner meanwhile.
TEST(JoiningReplicas, AHoldRunsDownOnlyWhileNothingElseHoldsTheCommitUp) {  // P-27a
  Bench bench;
  bench.now += 8min;
  bench.joiner(7);
  bench.member(8);
  EXPECT_EQ(bench.decide(8, StepBefore::kUnderWay), JoinOutcome::kHold);
  for (int second = 1; second < 320; ++second) {
    bench.now += 1s;
    ASSERT_EQ(bench.decide(8, StepBefore::kUnderWay), std::nullopt) << second << " s after the commit";
  }
  bench.now += 1s;
  bench.joiner(8);
  EXPECT_EQ(bench.decide(8, StepBefore::kUnderWay), JoinOutcome::kAdmit);
}

TEST(JoiningReplicas, AHoldThatBeganInTheMiddleOfAStepIsWholeWhenTheCommitWaits) {
  Bench bench;
  bench.joiner(6);
  EXPECT_EQ(bench.decide(7, StepBefore::kUnderWay), JoinOutcome::kHold);
  bench.now += 10min;
  EXPECT_EQ(bench.decide(7, StepBefore::kUnderWay), std::nullopt);
  bench.now += CommitHolds::kShortest - 1ms;
  EXPECT_EQ(bench.decide(7), std::nullopt);
  EXPECT_TRUE(bench.joining.holds_commit());
  bench.now += 1ms;
  EXPECT_EQ(bench.decide(7), JoinOutcome::kHoldOver);
}

TEST(JoiningReplicas, SilenceForLongIsGivenUp) {
  Bench bench;
  bench.now += JoiningReplicas::kSilenceMax - 1s;
  EXPECT_EQ(bench.decide(7), std::nullopt);
  bench.now += 1s;
  EXPECT_EQ(bench.decide(7), JoinOutcome::kGiveUp);
}

TEST(JoiningReplicas, AStateThatComesIsWaitedForHoweverLongItTakes) {
  Bench bench;
  for (std::uint64_t bytes = 1; bytes <= 100; ++bytes) {
    bench.now += JoiningReplicas::kSilenceMax - 1s;
    bench.arrive(kJoiner, bytes, 100);
    EXPECT_EQ(bench.decide(7), std::nullopt);
  }
  bench.arrive(Incarnation{77}, 1, 100);
  bench.now += JoiningReplicas::kSilenceMax;
  bench.arrive(Incarnation{77}, 2, 100);
  EXPECT_EQ(bench.decide(7), JoinOutcome::kGiveUp) << "the control: another's progress is not its own";
}

TEST(JoiningReplicas, AStateThatBeginsAgainAndAgainIsGivenUp) {
  Bench bench;
  int starts = 0;
  while (bench.decide(7) != JoinOutcome::kGiveUp) {
    bench.now += JoiningReplicas::kSilenceMax / 2;
    bench.arrive(kJoiner, ++starts % 2 == 0 ? 1 : 100, 100);
    ASSERT_LT(starts, 100);
  }
  EXPECT_GT(starts, ProgressWatch::kRestartsMax);
}

// A state of 100 MB at 50 Mbit/s while a step takes a second: its sum, at least a third of it, would take five.
struct SlowJoiner : Bench {
  std::uint64_t committed = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_total = 100'000'000;
  std::uint64_t bytes_per_s = 6'250'000;
  std::vector<JoinDecision> decisions;

  explicit SlowJoiner(bool follows_sums = true) {
    if (follows_sums) return;
    joining = JoiningReplicas(false);
    ask(kJoiner);
  }
  // The state comes while steps of that length are committed; then the joiner says which version it is.
  void copy(Duration step) {
    const std::uint64_t copied = committed;
    Instant next = now + step;
    while (bytes < bytes_total && decisions.empty()) {
      now += 250ms;
      if (now >= next) ++committed, next += step;
      bytes = std::min(bytes + bytes_per_s / 4, bytes_total);
      arrive(kJoiner, bytes, bytes_total);
      decisions = joining.decide(committed, StepBefore::kDone, now);
    }
    if (!decisions.empty()) return;
    joiner(copied);
    decisions = joining.decide(committed, StepBefore::kDone, now);
  }
};

TEST(JoiningReplicas, OneWhoseLinkCannotBringTheSumsOfStepsIsGivenUpAtOnceAndSaysWhy) {  // P-27a
  SlowJoiner bench;
  const Instant began = bench.now;
  bench.copy(1s);
  ASSERT_EQ(bench.decisions.size(), 1U);
  EXPECT_EQ(bench.decisions[0].outcome, JoinOutcome::kGiveUp);
  EXPECT_NE(bench.decisions[0].reason.find("6.2 MB/s"), std::string::npos) << bench.decisions[0].reason;
  EXPECT_NE(bench.decisions[0].reason.find("cannot follow"), std::string::npos) << bench.decisions[0].reason;
  EXPECT_LE(bench.now - began, CopyPace::kOnTheWay + 1s) << "long before all of the state is there";
  EXPECT_FALSE(bench.joining.holds_commit()) << "nobody waits for it";
  EXPECT_EQ(bench.joining.given_up().at(ProcessIncarnation{4}), bench.decisions[0].reason);
  bench.ask(Incarnation{10});
  EXPECT_TRUE(bench.joining.given_up().empty()) << "it is tried again";
}

// 20 MB/s are enough for the sums of steps of ten seconds, half of that is not. The link stands still from one moment
// to another, or nearly.
TEST(JoiningReplicas, OneWhoseLinkStandsStillForAWhileIsNotGivenUp) {
  for (const auto& [from, to] : {std::pair(0s, 5s), std::pair(3s, 8s), std::pair(12s, 60s)}) {
    SlowJoiner bench;
    const Instant began = bench.now;
    bench.bytes_total = 1'000'000'000;
    for (int second = 1; bench.bytes < bench.bytes_total && bench.decisions.empty(); ++second) {
      bench.now += 1s;
      if (second % 10 == 0) ++bench.committed;
      const bool stands_still = bench.now - began > from && bench.now - began <= to;
      bench.bytes += stands_still ? 1000 : 20'000'000;
      bench.arrive(kJoiner, bench.bytes, bench.bytes_total);
      bench.decisions = bench.joining.decide(bench.committed, StepBefore::kDone, bench.now);
    }
    EXPECT_TRUE(bench.decisions.empty()) << from.count() << " s: " << bench.decisions[0].reason;
  }
}

// Whoever gives the state computes for a while, and sends eight pieces whenever it comes to it. On a fast link that
// tells nothing of the link, be it for a moment or for longer than a judgement needs; on a slow one it does.
TEST(JoiningReplicas, TheTimeInWhichItsDonorComputesIsNotItsLinks) {
  constexpr std::uint64_t kPiece = 16 << 20U, kPieces = 400;
  for (const Duration pause : {300ms, 1500ms, 17000ms}) {
    for (const Duration takes : {20ms, 2000ms}) {  // a piece
      SlowJoiner bench;
      const auto commit = [&] { (void)bench.joining.decide(++bench.committed, StepBefore::kDone, bench.now); };
      for (; bench.committed < 3; bench.now += 10 * pause) commit();
      Instant next = bench.now + 10 * pause;
      for (std::uint64_t pieces = 1; pieces <= kPieces && bench.decisions.empty(); ++pieces) {
        const Duration computes = pieces % 8 == 1 ? pause : 0ms;
        bench.now += takes + computes;
        bench.idle += computes;
        for (; bench.now >= next; next += 10 * pause) commit();
        bench.arrive(kJoiner, pieces * kPiece, kPieces * kPiece);
        bench.decisions = bench.joining.decide(bench.committed, StepBefore::kDone, bench.now);
      }
      const std::string what =
          compose(milliseconds(pause), " ms of computing, ", milliseconds(takes), " ms for a piece");
      EXPECT_EQ(bench.decisions.empty(), takes == 20ms) << what;
    }
  }
}

TEST(JoiningReplicas, OneThatCanFollowIsHeldFor) {
  SlowJoiner long_steps;
  long_steps.copy(3s);
  EXPECT_EQ(long_steps.decisions.at(0).outcome, JoinOutcome::kHold) << "five seconds are less than two steps";
  SlowJoiner small_state;
  small_state.bytes_total = 10'000'000;
  small_state.copy(1s);
  EXPECT_EQ(small_state.decisions.at(0).outcome, JoinOutcome::kHold) << "a state that comes soon says nothing";
  SlowJoiner with_rounds(false);
  with_rounds.copy(1s);
  EXPECT_EQ(with_rounds.decisions.at(0).outcome, JoinOutcome::kHold) << "no sums are followed";
}

// With rounds no sum of a step is followed: what such a joiner misses is a copy between two of them (P-36).
TEST(JoiningReplicas, OneThatIsGivenUpSaysWhatItsLinkIsTooSlowFor) {
  for (const bool follows_sums : {true, false}) {
    SlowJoiner bench(follows_sums);
    bench.joiner(6);
    std::string reason;
    while (!bench.joining.joiners().empty()) {
      for (const JoinDecision& decision : bench.joining.decide(7, StepBefore::kDone, bench.now))
        reason = decision.reason;
      bench.now += 1s;
    }
    EXPECT_EQ(reason.find("sum of a step") != std::string::npos, follows_sums) << reason;
    EXPECT_EQ(reason.find("sync.H / sync.fragments") != std::string::npos, !follows_sums) << reason;
  }
}

// Two at a time have half of their donor's link each.
TEST(JoiningReplicas, OneThatSharesItsDonorsLinkIsJudgedAsIfItWereAlone) {
  for (const bool is_alone : {true, false}) {
    SlowJoiner bench;
    if (!is_alone) {
      SpawnStage order;
      order.stage = kStage;
      order.replica = Incarnation{20};
      order.donor = kMember;
      bench.joining.ask(order, ProcessIncarnation{5}, bench.now);
    }
    bench.copy(1500ms);
    const bool is_given_up = bench.decisions.at(0).outcome == JoinOutcome::kGiveUp;
    EXPECT_EQ(is_given_up, is_alone) << bench.decisions.at(0).reason;
  }
}

// What came while it was alone says all of its link; another one that comes later does not make that more.
TEST(JoiningReplicas, OneThatWasAloneIsNotJudgedAsIfItHadShared) {
  SlowJoiner bench;
  for (int second = 1; second <= 12 && bench.decisions.empty(); ++second) {
    bench.now += 1s;
    if (second % 2 == 0) ++bench.committed;
    if (second == 7) {
      SpawnStage order;
      order.stage = kStage;
      order.replica = Incarnation{20};
      order.donor = kMember;
      bench.joining.ask(order, ProcessIncarnation{5}, bench.now);
    }
    bench.bytes += second < 7 ? 6'000'000 : 3'000'000;  // 8.3 MB/s are needed: sums of 33 MB, steps of 2 s
    bench.arrive(kJoiner, bench.bytes, bench.bytes_total);
    bench.decisions = bench.joining.decide(bench.committed, StepBefore::kDone, bench.now);
  }
  ASSERT_EQ(bench.decisions.size(), 1U);
  EXPECT_EQ(bench.decisions[0].outcome, JoinOutcome::kGiveUp);
  EXPECT_NE(bench.decisions[0].reason.find("its link brings 6.0 MB/s"), std::string::npos) << bench.decisions[0].reason;
}

TEST(JoiningReplicas, ForgetsWhoWasGivenUpWhereAllBeginsAnew) {
  SlowJoiner bench;
  bench.copy(1s);
  ASSERT_FALSE(bench.joining.given_up().empty());
  (void)bench.joining.end_all();
  EXPECT_TRUE(bench.joining.given_up().empty()) << "it may serve from the start now";
}

// A commit that is held, for whomever, says nothing of how long a step takes; nor does a gap in what was seen.
TEST(StepPace, LeavesOutHeldStepsAndGaps) {
  StepPace pace;
  Instant now = Instant{} + 1h;
  pace.look(3, false, now);
  EXPECT_FALSE(pace.mean());
  pace.look(4, false, now += 2s);
  EXPECT_EQ(pace.mean(), Duration(2s));
  pace.look(4, true, now += 1s);
  pace.look(5, false, now += 60s);
  EXPECT_EQ(pace.mean(), Duration(2s));
  pace.look(9, false, now += 60s);
  EXPECT_EQ(pace.mean(), Duration(2s));
  pace.look(10, false, now += 6s);
  EXPECT_EQ(pace.mean(), Duration(3s)) << "the newest counts a quarter";
}

TEST(JoiningReplicas, WhoEndsHoldsNothing) {
  Bench bench;
  bench.joiner(6);
  EXPECT_EQ(bench.decide(7), JoinOutcome::kHold);
  EXPECT_EQ(bench.joining.end_on(ProcessIncarnation{5}).size(), 0U);
  EXPECT_EQ(bench.joining.end_on(ProcessIncarnation{4}).size(), 1U);
  EXPECT_FALSE(bench.joining.holds_commit());
  EXPECT_FALSE(bench.joining.is_ready({kStage, kJoiner, {}, 7, 0}, bench.now)) << "nobody asked for it any more";
}

// A joiner that now and then gets further, members that commit, words in any order: it is added only at the committed
// version with the member's digest, and the commits held for it are bounded.
TEST(JoiningReplicas, NeverAddsAWrongOneAndNeverHoldsForEver) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  int added = 0;
  for (int round = 0; round < 500; ++round) {
    Bench bench;
    std::uint64_t committed = 5;
    std::uint64_t version = 0;
    std::uint64_t digest = 0;
    Duration held{};
    while (!bench.joining.joiners().empty()) {
      const auto step = std::chrono::milliseconds(random() % 3000);
      bench.now += step;
      if (bench.joining.holds_commit()) held += step;
      const auto what = random() % 4;
      if (what == 0 && !bench.joining.holds_commit()) ++committed;
      if (what == 1) bench.member(committed - random() % 2);
      if (what == 2) {
        version = committed - std::min<std::uint64_t>(random() % 3, committed);
        digest = random() % 20 == 0 ? 42 : 1000 + version;
        bench.joiner(version, digest);
      }
      for (const JoinDecision& decision : bench.joining.decide(committed, StepBefore::kDone, bench.now)) {
        if (decision.outcome != JoinOutcome::kAdmit) continue;
        ++added;
        EXPECT_EQ(version, committed);
        EXPECT_EQ(digest, 1000 + committed);
      }
    }
    EXPECT_LE(held, CommitHolds::kLongest);
  }
  EXPECT_GT(added, 100);
}

}  // namespace
}  // namespace shoal::joining_replicas_test
