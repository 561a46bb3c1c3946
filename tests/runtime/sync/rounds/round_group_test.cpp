// RoundGroupCore rule by rule (DESIGN.md §6): one stage's group, fed by hand.
#include "runtime/sync/rounds/round_group.h"
#include "tests/runtime/sync/diloco_config.h"
#include "tests/support/sent_letters.h"

#include <gtest/gtest.h>

namespace shoal::round_group_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr StageId kStage{0};
constexpr Incarnation kGroup{50};

SyncConfig every_two_steps(int quorum = 0, double grace_s = 0) {
  SyncConfig sync = diloco(2);
  sync.quorum = quorum;
  sync.grace_s = grace_s;
  return sync;
}

// Members 11, 12 and 13; two steps are committed, so that round 1 is open.
class Bench {
 public:
  explicit Bench(const SyncConfig& sync = every_two_steps()) : core(config_of(sync)) {
    for (const std::uint64_t replica : {11, 12, 13}) add(replica);
    read(AppointGroup{kStage, kGroup});
    step();
    step();
  }

  void add(std::uint64_t replica) {
    read(AddReplica{kStage, ReplicaId{0}, Incarnation{replica}, ProcessIncarnation{replica}, committed_});
  }
  void step() {
    Commit commit;
    commit.step = StepId{committed_++};
    read(commit);
  }
  void read(JournalBody body) { take(core.follow({JournalPosition{++position_}, {}, Term{1}, std::move(body)}, now)); }
  void take(SyncGroupEffects effects) {
    sent.clear();
    for (Letter& letter : effects.letters) sent.push_back(std::move(letter));
    for (const Letter& letter : sent) {
      if (const auto* prepare = std::get_if<Prepare>(&letter.body)) order = prepare->order;
    }
  }
  void contribute(std::uint64_t member, std::uint64_t tokens) {
    take(core.hear(Manifest{order, Incarnation{member}, {}, tokens}, now));
  }
  void reduced(std::uint64_t member, std::uint64_t digest = 7) {
    take(core.hear(Reduced{order, Incarnation{member}, digest, {}}, now));
  }
  void tick(milliseconds later) {
    now += later;
    take(core.tick(now));
  }
  // As often as its actor does: time that is watched.
  void watch(seconds duration) {
    std::vector<Letter> all;
    for (; duration > seconds(0); duration -= seconds(1)) {
      tick(seconds(1));
      all.insert(all.end(), sent.begin(), sent.end());
    }
    sent = std::move(all);
  }
  template <class Message>
  std::vector<Message> all() const {
    return bodies_of<Message>(sent);
  }

  Instant now = Instant{} + std::chrono::hours(1);
  RoundGroupCore core;
  std::vector<Letter> sent;
  OrderId order;

 private:
  static RoundGroupConfig config_of(const SyncConfig& sync) {
    RoundGroupConfig config{RunId{9}, Term{1}, kStage, kGroup, sync};
    config.look_max = std::chrono::hours(9);  // time goes in leaps here
    return config;
  }

  std::uint64_t committed_ = 0;
  std::uint64_t position_ = 0;
};

TEST(RoundGroup, AnnouncesARoundWhenItsContributionsAreDue) {
  const Bench bench;
  const auto announced = bench.all<Prepare>();
  ASSERT_EQ(announced.size(), 3U);
  EXPECT_EQ(announced[0].order.round, (RoundId{0, 1}));
  EXPECT_EQ(announced[0].order.step, StepId{2});
  EXPECT_EQ(announced[0].order.epoch.group, kGroup);
}

TEST(RoundGroup, TheDivisorIsTheSumOfTheSharesThatAreSummed) {
  Bench bench;
  bench.contribute(11, 100);
  bench.contribute(12, 0);
  EXPECT_TRUE(bench.all<Reduce>().empty());
  bench.contribute(13, 50);
  const auto reduce = bench.all<Reduce>();
  ASSERT_EQ(reduce.size(), 3U);
  EXPECT_EQ(reduce[0].token_count, 150U);
  EXPECT_EQ(reduce[0].members, (std::vector<Incarnation>{{11}, {12}, {13}}));
}

TEST(RoundGroup, VotesWhenAllHoldTheSameMean) {  // P-19
  Bench bench;
  for (const std::uint64_t member : {11, 12, 13}) bench.contribute(member, 10);
  bench.reduced(11);
  bench.reduced(12);
  EXPECT_TRUE(bench.all<Prepared>().empty());
  bench.reduced(13);
  const auto votes = bench.all<Prepared>();
  ASSERT_EQ(votes.size(), 1U);
  EXPECT_EQ(votes[0].shares.size(), 3U);
  EXPECT_EQ(votes[0].digest, 7U);
}

void differ(Bench& bench) {
  for (const std::uint64_t member : {11, 12, 13}) bench.contribute(member, 10);
  bench.reduced(11);
  bench.reduced(12, 8);
  bench.reduced(13);
}

TEST(RoundGroup, MeansThatDifferAreMadeAgainAfterAPauseThatDoubles) {
  Bench bench;
  for (const int pause_s : {4, 8, 16}) {
    const Epoch before = bench.order.epoch;
    differ(bench);
    EXPECT_TRUE(bench.all<Prepared>().empty());
    EXPECT_TRUE(bench.all<Prepare>().empty());
    bench.tick(seconds(pause_s) - milliseconds(100));
    EXPECT_TRUE(bench.sent.empty());
    bench.tick(milliseconds(100));
    EXPECT_EQ(bench.all<Prepare>().size(), 3U);
    EXPECT_GT(bench.order.epoch, before);
  }
  for (const std::uint64_t member : {11, 12, 13}) bench.contribute(member, 10);
  for (const std::uint64_t member : {11, 12, 13}) bench.reduced(member);
  EXPECT_EQ(bench.all<Prepared>().size(), 1U) << "and when they agree, the round goes on";
}

TEST(RoundGroup, AnAnswerToTheOrderBeforeThePauseCountsNothing) {
  Bench bench;
  differ(bench);
  for (const std::uint64_t member : {11, 12, 13}) bench.contribute(member, 10);
  for (const std::uint64_t member : {11, 12, 13}) bench.reduced(member);
  EXPECT_TRUE(bench.sent.empty());
}

TEST(RoundGroup, AChangeOfMembershipDoesNotShortenThePause) {
  Bench bench;
  differ(bench);
  bench.read(RemoveReplica{kStage, Incarnation{13}, "lost"});
  EXPECT_TRUE(bench.all<Prepare>().empty());
  bench.tick(seconds(4));
  EXPECT_EQ(bench.all<Prepare>().size(), 2U);
  bench.add(14);
  EXPECT_EQ(bench.all<Prepare>().size(), 3U) << "the control: after it a change is announced at once";
}

TEST(RoundGroup, TellsPeopleOfMeansThatDifferAndOfThoseThatDoNotCome) {
  Bench bench;
  differ(bench);
  const auto differing = bench.all<RunEvent>();
  ASSERT_EQ(differing.size(), 1U);
  EXPECT_EQ(differing[0].kind, RunEventKind::kSumsDiffer);
  EXPECT_EQ(differing[0].subject, "sync_group/0");
  EXPECT_EQ(differing[0].step, 2U);
  EXPECT_EQ(differing[0].reason, "round 1 of fragment 0: the means of replicas 11 and 12 differ");
  bench.tick(seconds(4));
  for (const std::uint64_t member : {11, 12, 13}) bench.contribute(member, 10);
  bench.reduced(12);
  bench.tick(seconds(130));
  const auto late = bench.all<RunEvent>();
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].kind, RunEventKind::kReduceTimedOut);
  EXPECT_EQ(late[0].reason, "round 1 of fragment 0: no mean from 11 13 in time");
}

TEST(RoundGroup, ARoundThatSucceedsTellsPeopleNothing) {  // the control
  Bench bench;
  for (const std::uint64_t member : {11, 12, 13}) bench.contribute(member, 10);
  for (const std::uint64_t member : {11, 12, 13}) {
    bench.reduced(member);
    EXPECT_TRUE(bench.all<RunEvent>().empty());
  }
  bench.tick(seconds(600));
  EXPECT_TRUE(bench.all<RunEvent>().empty());
}

TEST(RoundGroup, WhatIsOfAnotherEpochOrAStrangerCountsNothing) {  // P-15
  Bench bench;
  bench.contribute(99, 1000);
  Manifest late{bench.order, Incarnation{11}, {}, 10};
  --late.order.epoch.counter;
  bench.take(bench.core.hear(late, bench.now));
  bench.contribute(12, 10);
  bench.contribute(13, 10);
  EXPECT_TRUE(bench.all<Reduce>().empty());
  bench.contribute(11, 10);
  EXPECT_EQ(bench.all<Reduce>().at(0).token_count, 30U);
}

TEST(RoundGroup, ADeadMemberDropsOutOfTheMean) {  // P-20
  Bench bench;
  for (const std::uint64_t member : {11, 12, 13}) bench.contribute(member, 10);
  bench.read(RemoveReplica{kStage, Incarnation{12}, "killed"});
  EXPECT_EQ(bench.all<Prepare>().size(), 2U);
  bench.contribute(11, 10);
  bench.contribute(13, 10);
  EXPECT_EQ(bench.all<Reduce>().at(0).members, (std::vector<Incarnation>{{11}, {13}}));
  EXPECT_EQ(bench.all<Reduce>().at(0).token_count, 20U);
}

TEST(RoundGroup, AQuorumClosesTheRoundWhenItsGraceIsOver) {
  Bench bench(every_two_steps(2, 5));
  bench.contribute(11, 10);
  bench.contribute(13, 10);
  EXPECT_TRUE(bench.all<Reduce>().empty());
  bench.watch(seconds(4));
  EXPECT_TRUE(bench.all<Reduce>().empty());
  bench.watch(seconds(2));
  ASSERT_EQ(bench.all<Reduce>().size(), 2U);
  EXPECT_EQ(bench.all<Reduce>().at(0).members, (std::vector<Incarnation>{{11}, {13}}));
  bench.contribute(12, 10);  // too late
  EXPECT_TRUE(bench.sent.empty());
}

// The machine was stopped, and the others with it.
TEST(RoundGroup, APauseOfTheGroupsOwnIsNobodysGrace) {
  Bench bench(every_two_steps(2, 5));
  bench.contribute(11, 10);
  bench.contribute(13, 10);
  bench.tick(std::chrono::minutes(10));
  EXPECT_TRUE(bench.all<Reduce>().empty());
  bench.contribute(12, 10);
  EXPECT_EQ(bench.all<Reduce>().size(), 3U) << "nobody is left out";
}

TEST(RoundGroup, TellsWhoMissedARound) {
  for (const bool is_late : {true, false}) {
    Bench bench;
    std::vector<RoundShare> shares{{Incarnation{11}, 10}, {Incarnation{13}, 10}};
    if (!is_late) shares.insert(shares.begin() + 1, {Incarnation{12}, 10});
    bench.read(CommitRound{kStage, StepId{2}, {0, 1}, bench.order.epoch, 7, shares, 0});
    const auto events = bench.all<RunEvent>();
    ASSERT_EQ(events.size(), is_late ? 1U : 0U);
    if (is_late) {
      EXPECT_EQ(events[0].kind, RunEventKind::kRoundClosed);
      EXPECT_EQ(events[0].reason, "round 1 of fragment 0: without 12, too late for it");
    }
  }
}

TEST(RoundGroup, AQuorumOfAllIsNoQuorum) {
  Bench all(every_two_steps(3, 5));
  Bench none;
  for (Bench* bench : {&all, &none}) {
    for (const std::uint64_t member : {11, 12}) bench->contribute(member, 10);
    bench->tick(seconds(1));
    EXPECT_TRUE(bench->all<Reduce>().empty());
    bench->contribute(13, 10);
  }
  EXPECT_EQ(all.sent, none.sent);
  EXPECT_EQ(all.all<Reduce>().size(), 3U);
}

// One that joined late or got no work answers first, and with nothing.
TEST(RoundGroup, WhoBringsNoTokensFillsNoQuorum) {
  Bench bench(every_two_steps(1));
  bench.contribute(12, 0);
  bench.tick(seconds(10));
  EXPECT_TRUE(bench.all<Reduce>().empty());
  bench.contribute(13, 10);  // the control: this one does
  ASSERT_EQ(bench.all<Reduce>().size(), 2U);
  EXPECT_EQ(bench.all<Reduce>().at(0).token_count, 10U);
}

TEST(RoundGroup, WhereAllHaveAnsweredNobodyIsWaitedFor) {
  Bench bench(every_two_steps(2));
  bench.contribute(11, 10);
  bench.contribute(12, 0);
  EXPECT_TRUE(bench.all<Reduce>().empty());
  bench.contribute(13, 0);
  ASSERT_EQ(bench.all<Reduce>().size(), 3U);
  EXPECT_EQ(bench.all<Reduce>().at(0).token_count, 10U);
}

// The grace is that of the epoch in force.
TEST(RoundGroup, AQuorumOfBeforeAChangeSaysNothing) {
  Bench bench(every_two_steps(2, 5));
  bench.contribute(11, 10);
  bench.contribute(12, 10);
  bench.watch(seconds(4));
  bench.add(14);
  bench.contribute(11, 10);
  bench.watch(seconds(6));
  EXPECT_TRUE(bench.all<Reduce>().empty());
  bench.contribute(12, 10);
  bench.watch(seconds(6));
  EXPECT_EQ(bench.all<Reduce>().size(), 2U);
}

TEST(RoundGroup, BelowTheQuorumNothingAdvances) {
  Bench bench(every_two_steps(2, 1));
  bench.contribute(11, 10);
  for (int i = 0; i < 10; ++i) {
    bench.tick(seconds(10));
    EXPECT_TRUE(bench.all<Reduce>().empty());
  }
}

TEST(RoundGroup, RepeatsWhatIsUnanswered) {
  Bench bench;
  bench.contribute(11, 10);
  bench.tick(seconds(3));
  EXPECT_EQ(bench.all<Prepare>().size(), 2U);
  bench.contribute(12, 10);
  bench.contribute(13, 10);
  for (const std::uint64_t member : {11, 12, 13}) bench.reduced(member);
  bench.tick(seconds(3));
  EXPECT_EQ(bench.all<Prepared>().size(), 1U);
}

// A member that contributes late makes the repeats of the Prepare rare, and a lost Reduce or part is mended by a
// repeat.
TEST(RoundGroup, AReduceIsRepeatedBeforeItIsGivenUpHoweverLongTheContributionsTook) {
  Bench bench;
  bench.contribute(11, 10);
  bench.contribute(12, 10);
  for (int second = 0; second < 600; ++second) bench.tick(seconds(1));
  bench.contribute(13, 10);
  const Epoch epoch = bench.order.epoch;
  std::size_t repeats = 0;
  while (bench.order.epoch == epoch) {
    bench.tick(seconds(1));
    repeats += bench.all<Reduce>().size();
  }
  EXPECT_EQ(repeats, 3U) << "once to each";
}

TEST(RoundGroup, GivesUpAMeanThatDoesNotCome) {
  Bench bench;
  for (const std::uint64_t member : {11, 12, 13}) bench.contribute(member, 10);
  const Epoch before = bench.order.epoch;
  bench.tick(seconds(70));
  EXPECT_GT(bench.order.epoch, before);
}

TEST(RoundGroup, AMeanThatComesCloserIsWaitedFor) {
  Bench bench;
  for (const std::uint64_t member : {11, 12, 13}) bench.contribute(member, 10);
  const Epoch before = bench.order.epoch;
  for (std::uint64_t parts = 1; parts < 600; ++parts) {
    bench.tick(seconds(1));
    EXPECT_TRUE(bench.sent.empty()) << "nothing is given up or said again";
    bench.take(bench.core.hear(Progress{bench.order, Incarnation{12}, 0, parts}, bench.now));
  }
  OrderId of_another = bench.order;
  of_another.epoch.counter += 1;
  bench.tick(seconds(1));
  bench.take(bench.core.hear(Progress{of_another, Incarnation{12}, 0, 10'000}, bench.now));
  EXPECT_EQ(bench.order.epoch, before);
  bench.tick(seconds(59));
  EXPECT_GT(bench.order.epoch, before) << "it stood still";
}

// Four times what the fragment's means take, and not less than a minute: a slow network is not stuck in every round.
TEST(RoundGroup, TheTimeOutOfAMeanFollowsTheMeasuredOnes) {
  for (const int took_s : {0, 50}) {
    Bench bench;
    for (const std::uint64_t member : {11, 12, 13}) bench.contribute(member, 10);
    bench.tick(seconds(took_s));
    for (const std::uint64_t member : {11, 12, 13}) bench.reduced(member);
    bench.read(CommitRound{kStage, StepId{2}, {0, 1}, bench.order.epoch, 7, bench.all<Prepared>().at(0).shares, 0});
    bench.step();
    bench.step();
    for (const std::uint64_t member : {11, 12, 13}) bench.contribute(member, 10);
    const Epoch epoch = bench.order.epoch;
    const Instant began = bench.now;
    while (bench.order.epoch == epoch) bench.tick(seconds(1));
    EXPECT_EQ(bench.now - began, seconds(took_s == 0 ? 60 : 200));
  }
}

TEST(RoundGroup, OnlyWhatWasTriedInVainMakesTimeOutsLonger) {
  const auto timed_out_after = [](int changes, int failures) {
    Bench bench;
    for (std::uint64_t joiner = 100; changes-- > 0; ++joiner) {
      bench.add(joiner);
      bench.read(RemoveReplica{kStage, Incarnation{joiner}, "lost"});
    }
    const auto reduce = [&bench] {
      for (const std::uint64_t member : {11, 12, 13}) bench.contribute(member, 10);
      const Instant began = bench.now;
      const Epoch epoch = bench.order.epoch;
      while (bench.order.epoch == epoch) bench.tick(seconds(1));
      return bench.now - began;
    };
    while (failures-- > 0) (void)reduce();
    return reduce();
  };
  EXPECT_EQ(timed_out_after(8, 0), timed_out_after(0, 0)) << "a storm of changes";
  EXPECT_EQ(timed_out_after(0, 2), 4 * timed_out_after(0, 0)) << "the control";
}

TEST(RoundGroup, ANewGroupBeginsFromTheJournalAlone) {  // P-21
  Bench bench;
  constexpr Incarnation kNext{60};
  RoundGroupCore next({RunId{9}, Term{1}, kStage, kNext, every_two_steps()});
  next.begin_at([] {
    View past;
    std::uint64_t position = 0;
    const auto read = [&](JournalBody body) {
      past.apply({JournalPosition{++position}, {}, Term{1}, std::move(body)});
    };
    read(AddReplica{kStage, ReplicaId{0}, Incarnation{11}, ProcessIncarnation{11}, 0});
    for (std::uint64_t step = 0; step < 2; ++step) {
      Commit commit;
      commit.step = StepId{step};
      read(commit);
    }
    return past;
  }());
  bench.take(next.follow({JournalPosition{4}, {}, Term{1}, AppointGroup{kStage, kNext}}, bench.now));
  ASSERT_EQ(bench.all<Prepare>().size(), 1U);
  EXPECT_EQ(bench.order.round, (RoundId{0, 1}));
  EXPECT_EQ(bench.order.epoch, (Epoch{kNext, 1}));
}

}  // namespace
}  // namespace shoal::round_group_test
