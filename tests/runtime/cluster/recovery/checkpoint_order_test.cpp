// A checkpoint that gets lost on its way is asked for again; a last one never for ever.
#include "runtime/cluster/recovery/checkpoint_order.h"

#include <gtest/gtest.h>

#include <random>

namespace shoal::checkpoint_order_test {
namespace {

using namespace std::chrono_literals;
using Action = CheckpointOrder::Action;
using Rank = CheckpointOrder::Rank;

constexpr Incarnation kSaver{4};

struct Bench {
  explicit Bench(Rank rank) : order(10, {kSaver, Incarnation{5}}, rank, now) {}
  void progress(StageId stage, std::uint64_t bytes, std::uint64_t step = 10) {
    order.progress({{}, step, stage, {}, {}, true, bytes, 200}, now);
  }
  Action decide(bool has_storage = true) { return order.decide(has_storage, {}, now).action; }

  Instant now = Instant{} + 1h;
  CheckpointOrder order;
};

TEST(CheckpointOrder, IsCarriedByTheNextCommitWhenItsSaverWasLost) {
  Bench bench(Rank::kOneOfMany);
  bench.order.replica_lost(Incarnation{9}, bench.now);
  EXPECT_EQ(bench.decide(), Action::kWait) << "nobody it needs";
  bench.order.replica_lost(kSaver, bench.now);
  EXPECT_EQ(bench.decide(), Action::kWait) << "its shard may be there";
  bench.now += CheckpointOrder::kSettle;
  EXPECT_EQ(bench.decide(), Action::kCarry);
  EXPECT_EQ(bench.decide(), Action::kWait) << "said once";
}

TEST(CheckpointOrder, TheLastOneIsAskedForAgainWithPausesThatDouble) {
  Bench bench(Rank::kLast);
  bench.order.replica_lost(kSaver, bench.now);
  bench.now += CheckpointOrder::kSettle;
  Duration pause = CheckpointOrder::kAgainFirst;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(bench.decide(), Action::kAskAgain);
    bench.now += pause - 1ms;
    EXPECT_EQ(bench.decide(), Action::kWait);
    bench.now += 1ms;
    pause *= 2;
  }
}

TEST(CheckpointOrder, WhoeverIsAskedMayBeLostToo) {
  Bench bench(Rank::kLast);
  bench.order.replica_lost(kSaver, bench.now);
  bench.now += CheckpointOrder::kSettle;
  EXPECT_EQ(bench.decide(), Action::kAskAgain);
  bench.order.asked({Incarnation{7}, Incarnation{5}});
  bench.order.replica_lost(Incarnation{7}, bench.now);
  bench.now += CheckpointOrder::kSettle;
  EXPECT_EQ(bench.decide(), Action::kAskAgain);
}

TEST(CheckpointOrder, WaitsForStorageAndAsksAtOnceWhenItIsBack) {
  Bench bench(Rank::kLast);
  bench.order.storage_lost(bench.now);
  EXPECT_EQ(bench.decide(false), Action::kWait);
  bench.now += 1min;
  EXPECT_EQ(bench.decide(false), Action::kWait);
  EXPECT_EQ(bench.decide(true), Action::kAskAgain);
}

TEST(CheckpointOrder, IsGivenUpWhenStorageStaysAwayOrNothingHelps) {
  Bench away(Rank::kLast);
  EXPECT_EQ(away.decide(false), Action::kWait);
  away.now += CheckpointPatience{}.without_storage;
  EXPECT_EQ(away.decide(false), Action::kGiveUp);
  Bench in_vain(Rank::kLast);
  in_vain.now += CheckpointPatience{}.in_vain;
  EXPECT_EQ(in_vain.decide(), Action::kGiveUp);
  Bench one_of_many(Rank::kOneOfMany);
  one_of_many.now += 1h;
  EXPECT_EQ(one_of_many.decide(false), Action::kWait) << "training goes on without a disk";
  EXPECT_EQ(one_of_many.decide(true), Action::kCarry);
}

TEST(CheckpointOrder, SilenceForLongIsALoss) {
  Bench bench(Rank::kOneOfMany);
  bench.now += CheckpointOrder::kSilence - 1ms;
  EXPECT_EQ(bench.decide(), Action::kWait);
  bench.now += 1ms;
  EXPECT_EQ(bench.decide(), Action::kCarry);
}

// On the way and then to the disk, a little in less than the patience with silence.
TEST(CheckpointOrder, AShardThatComesIsWaitedForHoweverLongItTakes) {
  for (const Rank rank : {Rank::kOneOfMany, Rank::kLast}) {
    Bench bench(rank);
    for (std::uint64_t bytes = 1; bytes <= 200; ++bytes) {
      bench.now += CheckpointOrder::kSilence - 1ms;
      bench.progress(StageId{bytes % 2 == 0}, bytes);
      ASSERT_EQ(bench.decide(), Action::kWait) << bytes;
    }
    bench.now += CheckpointOrder::kSilence - 1ms;
    bench.progress(StageId{1}, 200);
    EXPECT_EQ(bench.decide(), Action::kWait);
    bench.now += 1ms;
    EXPECT_NE(bench.decide(), Action::kWait) << "the control: said again is no progress";
  }
}

TEST(CheckpointOrder, ProgressDoesNotHideALostSaver) {
  Bench bench(Rank::kOneOfMany);
  bench.progress(StageId{0}, 10);
  bench.order.replica_lost(kSaver, bench.now);
  bench.now += CheckpointOrder::kSettle;
  bench.progress(StageId{1}, 10);
  EXPECT_EQ(bench.decide(), Action::kCarry);
}

TEST(CheckpointOrder, AShardThatIsLostWithItsLinkIsAskedForAgainSoon) {
  Bench bench(Rank::kLast);
  bench.progress(StageId{0}, 60);
  bench.progress(StageId{1}, 100);
  bench.order.shard_lost(kSaver, "its link broke", bench.now);
  EXPECT_EQ(bench.decide(), Action::kWait) << "it may have been the end of it";
  bench.now += CheckpointOrder::kSettle;
  const auto decision = bench.order.decide(true, {}, bench.now);
  EXPECT_EQ(decision.action, Action::kAskAgain);
  EXPECT_EQ(decision.reason, "its link broke");
  EXPECT_FALSE(bench.order.is_at_storage(StageId{0}));
  EXPECT_TRUE(bench.order.is_at_storage(StageId{1})) << "nobody needs to send that again";
}

TEST(CheckpointOrder, AShardThatIsAtStorageNeedsNeitherItsLinkNorItsSaver) {
  for (const bool is_there_before : {true, false}) {
    Bench bench(Rank::kOneOfMany);
    if (is_there_before) bench.progress(StageId{0}, 100);
    bench.order.shard_lost(kSaver, "its link broke", bench.now);
    bench.order.replica_lost(kSaver, bench.now);
    if (!is_there_before) bench.progress(StageId{0}, 100);
    bench.now += CheckpointOrder::kSettle;
    EXPECT_EQ(bench.decide(), Action::kWait);
    bench.order.replica_lost(Incarnation{5}, bench.now);
    bench.now += CheckpointOrder::kSettle;
    EXPECT_EQ(bench.decide(), Action::kCarry) << "the control: the other stage's saver";
  }
}

// It came, and storage ended while it wrote it.
TEST(CheckpointOrder, AShardThatStorageSaysItDoesNotHaveIsAskedForAgainThoughItHadCome) {
  Bench bench(Rank::kLast);
  bench.progress(StageId{0}, 100);
  bench.order.not_stored(Incarnation{9}, "storage ended", bench.now);
  EXPECT_TRUE(bench.order.is_at_storage(StageId{0})) << "of nobody it needs";
  bench.order.not_stored(kSaver, "storage ended", bench.now);
  EXPECT_FALSE(bench.order.is_at_storage(StageId{0}));
  bench.now += CheckpointOrder::kSettle;
  EXPECT_EQ(bench.decide(), Action::kAskAgain);
}

TEST(CheckpointOrder, WhatWasAtStorageIsLostWithIt) {
  Bench bench(Rank::kLast);
  bench.progress(StageId{1}, 200);
  bench.order.storage_lost(bench.now);
  EXPECT_EQ(bench.decide(true), Action::kAskAgain);
  EXPECT_FALSE(bench.order.is_at_storage(StageId{1}));
}

TEST(CheckpointOrder, ALastOneThatOnlyBeginsAgainIsGivenUp) {
  Bench bench(Rank::kLast);
  const Instant began = bench.now;
  std::uint64_t pieces = 0;
  while (bench.decide() != Action::kGiveUp) {
    bench.now += 1s;
    bench.progress(StageId{0}, ++pieces % 30);
    ASSERT_LT(bench.now - began, 1h);
  }
  EXPECT_GE(bench.now - began, CheckpointPatience{}.in_vain);
}

TEST(CheckpointOrder, AShardThatWaitsBehindOlderOnesIsNotTakenForLost) {
  Bench bench(Rank::kOneOfMany);
  for (std::uint64_t bytes = 1; bytes <= 200; ++bytes) {
    bench.now += CheckpointOrder::kSilence - 1ms;
    bench.progress(StageId{0}, bytes, 8);
    ASSERT_EQ(bench.decide(), Action::kWait);
  }
  EXPECT_FALSE(bench.order.is_at_storage(StageId{0})) << "it was the older one";
}

// Whatever is lost, and however often: a last one is asked for or given up within its patience, never more often than
// pauses allow.
TEST(CheckpointOrder, NeverAsksForEverNorInAStorm) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    Bench bench(Rank::kLast);
    const Instant began = bench.now;
    int asked = 0;
    int lost = 0;
    while (true) {
      bench.now += std::chrono::milliseconds(random() % 20'000);
      const auto what = random() % 6;
      if (what == 0) bench.order.replica_lost(kSaver, bench.now);
      if (what == 1) bench.order.storage_lost(bench.now);
      lost += what <= 1 ? 1 : 0;
      const Action action = bench.decide(random() % 4 != 0);
      ASSERT_NE(action, Action::kCarry);
      if (action == Action::kAskAgain) ++asked;
      if (action == Action::kGiveUp) break;
    }
    EXPECT_LE(bench.now - began, CheckpointPatience{}.in_vain + 20s);
    EXPECT_LE(asked, 8 + 2 * lost + 60);
  }
}

}  // namespace
}  // namespace shoal::checkpoint_order_test
