// Tests what is saved, what is under way, what is owed.
#include "runtime/cluster/recovery/checkpoint_tracker.h"

#include <gtest/gtest.h>

namespace shoal::checkpoint_tracker_test {
namespace {

using namespace std::chrono_literals;
using Action = CheckpointOrder::Action;
using Rank = CheckpointOrder::Rank;

constexpr Incarnation kSaver{4};

struct Bench {
  void order(std::uint64_t version) { tracker.order(version, {kSaver}, Rank::kOneOfMany, now); }
  CheckpointOrder::Decision decide(bool has_storage = true) { return tracker.decide(has_storage, {}, now); }

  Instant now = Instant{} + 1h;
  CheckpointTracker tracker;
};

TEST(CheckpointTracker, AnOrderIsUnderWayUntilThatVersionOrALaterOneIsSaved) {
  Bench bench;
  EXPECT_FALSE(bench.tracker.version_under_way());
  bench.order(10);
  EXPECT_EQ(bench.tracker.version_under_way(), 10U);
  EXPECT_TRUE(bench.tracker.is_saving(kSaver));
  EXPECT_FALSE(bench.tracker.is_saving(Incarnation{5})) << "it was not named";
  bench.tracker.saved(5, "five");
  EXPECT_EQ(bench.tracker.version_under_way(), 10U) << "an older one";
  bench.tracker.saved(10, "ten");
  EXPECT_FALSE(bench.tracker.version_under_way());
  EXPECT_FALSE(bench.tracker.is_saving(kSaver));
  EXPECT_EQ(bench.tracker.saved_sha256(), "ten");
  EXPECT_TRUE(bench.tracker.has(10));
  EXPECT_FALSE(bench.tracker.has(11));
  EXPECT_FALSE(bench.tracker.is_news(10)) << "said twice";
}

TEST(CheckpointTracker, OneThatFailedIsNoLongerUnderWayButALaterOneIs) {
  Bench bench;
  bench.order(20);
  bench.tracker.failed(10);
  EXPECT_EQ(bench.tracker.version_under_way(), 20U);
  bench.tracker.failed(20);
  EXPECT_FALSE(bench.tracker.version_under_way());
}

TEST(CheckpointTracker, OneThatGotLostIsOwedUntilTheNextOrder) {
  Bench bench;
  bench.order(10);
  bench.tracker.replica_lost(kSaver, bench.now);
  bench.now += CheckpointOrder::kSettle;
  EXPECT_EQ(bench.decide().action, Action::kCarry);
  EXPECT_TRUE(bench.tracker.is_owed());
  EXPECT_FALSE(bench.tracker.version_under_way());
  EXPECT_EQ(bench.decide().action, Action::kWait) << "nothing is under way";
  EXPECT_FALSE(bench.tracker.owe()) << "it is known";
  bench.order(11);
  EXPECT_FALSE(bench.tracker.is_owed());
  EXPECT_TRUE(bench.tracker.owe());
}

TEST(CheckpointTracker, AFewAtATimeAndNoneWithoutStorage) {
  Bench bench;
  EXPECT_EQ(bench.tracker.why_not_now(false), "there is no storage; saved when it is back");
  for (std::uint64_t version = 10; version <= 40; version += 10) {
    EXPECT_EQ(bench.tracker.why_not_now(true), std::nullopt);
    bench.order(version);
  }
  EXPECT_EQ(bench.tracker.why_not_now(true), "that of step 10 and 3 after it are not saved yet; saved when one is");
  bench.tracker.saved(10, "ten");
  EXPECT_EQ(bench.tracker.why_not_now(true), std::nullopt);
  bench.order(50);
  EXPECT_NE(bench.tracker.why_not_now(true), std::nullopt);
  bench.tracker.failed(30);
  EXPECT_EQ(bench.tracker.why_not_now(true), std::nullopt);
  bench.order(60);
  EXPECT_NE(bench.tracker.why_not_now(true), std::nullopt);
  bench.tracker.begin_from(20, "twenty");
  EXPECT_EQ(bench.tracker.why_not_now(true), std::nullopt) << "those of another history are nobody's";
}

TEST(CheckpointTracker, ALastStateThatNobodyWasNamedForIsAskedForSoon) {
  Bench bench;
  bench.tracker.order_late(30, {kSaver}, bench.now);
  EXPECT_EQ(bench.decide().action, Action::kWait);
  bench.now += CheckpointOrder::kSettle;
  const auto decision = bench.decide();
  EXPECT_EQ(decision.action, Action::kAskAgain);
  EXPECT_EQ(decision.reason, "nobody was named to save it");
}

TEST(CheckpointTracker, AnotherHistoryForgetsWhatWasUnderWay) {
  Bench bench;
  bench.order(10);
  bench.tracker.begin_from(5, "five");
  EXPECT_FALSE(bench.tracker.version_under_way());
  EXPECT_EQ(bench.tracker.saved_version(), 5U);
  EXPECT_EQ(bench.tracker.saved_sha256(), "five");
}

// The journal tells of every order, and of no failure: those that failed take nobody's place.
TEST(CheckpointTracker, AnotherTermSavesAgainHoweverManyOrdersCameToNothing) {
  for (std::uint64_t orders = 1; orders <= 12; ++orders) {
    Bench bench;
    for (std::uint64_t order = 1; order <= orders; ++order) bench.order(10 * order);
    bench.tracker.go_on_from(5, "five", Rank::kOneOfMany, bench.now);
    bench.now += CheckpointOrder::kSettle;
    EXPECT_EQ(bench.decide().action, Action::kCarry);
    EXPECT_EQ(bench.tracker.why_not_now(true), std::nullopt) << orders;
  }
}

TEST(CheckpointTracker, AnotherTermHearsOfOlderOnesThatAreBeingWritten) {
  Bench bench;
  for (const std::uint64_t version : {10, 20}) bench.order(version);
  bench.tracker.go_on_from(5, "five", Rank::kOneOfMany, bench.now);
  bench.order(30);
  for (std::uint64_t bytes = 1; bytes <= 10; ++bytes) {
    bench.now += CheckpointOrder::kSilence / 2;
    bench.tracker.progress(StateProgress{Branch{}, 10, StageId{0}, kSaver, {}, true, bytes, 100}, bench.now);
    EXPECT_EQ(bench.decide().action, Action::kWait) << bytes;
  }
  bench.now += CheckpointOrder::kSilence;
  EXPECT_EQ(bench.decide().action, Action::kCarry) << "the control: the disk is silent";
}

TEST(CheckpointTracker, AnotherTermDoubtsAnOrderThatStorageHasNotAnswered) {
  Bench bench;
  bench.order(10);
  bench.tracker.go_on_from(5, "five", Rank::kOneOfMany, bench.now);
  EXPECT_EQ(bench.tracker.version_under_way(), 10U);
  EXPECT_TRUE(bench.tracker.is_saving(kSaver));
  bench.now += CheckpointOrder::kSettle;
  EXPECT_EQ(bench.decide().action, Action::kCarry) << "it does not wait for the whole silence";

  bench.order(10);
  bench.tracker.go_on_from(10, "ten", Rank::kOneOfMany, bench.now);
  EXPECT_FALSE(bench.tracker.version_under_way()) << "storage had it";
}

}  // namespace
}  // namespace shoal::checkpoint_tracker_test
