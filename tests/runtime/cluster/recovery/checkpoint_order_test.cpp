// A checkpoint that gets lost on its way is asked for again; a last one never for ever.
#include "runtime/cluster/recovery/checkpoint_order.h"

#include <gtest/gtest.h>

#include <random>

namespace shoal {
namespace {

using namespace std::chrono_literals;
using Action = CheckpointOrder::Action;
using Rank = CheckpointOrder::Rank;

constexpr Incarnation kSaver{4};

struct Bench {
  explicit Bench(Rank rank) : order(10, {kSaver, Incarnation{5}}, rank, now) {}
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
  in_vain.now += CheckpointPatience{}.in_all;
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
    EXPECT_LE(bench.now - began, CheckpointPatience{}.in_all + 20s);
    EXPECT_LE(asked, 8 + 2 * lost + 60);
  }
}

}  // namespace
}  // namespace shoal
