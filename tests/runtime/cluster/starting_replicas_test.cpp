// When the replicas that a run begins with are added together, and what keeps them from it.
#include "runtime/cluster/starting_replicas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

namespace shoal::starting_replicas_test {
namespace {

constexpr std::uint64_t kVersion = 7;

SpawnStage order_of(std::uint64_t replica, std::uint32_t stage, std::uint32_t slot = 0) {
  SpawnStage order;
  order.stage = StageId{stage};
  order.slot = ReplicaId{slot};
  order.replica = Incarnation{replica};
  return order;
}

StageReady ready_as(std::uint64_t replica, std::uint64_t digest = 5, std::uint64_t version = kVersion) {
  return {StageId{}, Incarnation{replica}, ProcessIncarnation{}, version, digest};
}

std::optional<std::pair<StageId, ReplicaId>> place_of(std::uint32_t stage, std::uint32_t slot) {
  return std::pair(StageId{stage}, ReplicaId{slot});
}

Instant start() { return Instant{} + std::chrono::hours(1); }

// Replicas 1 and 3 of the first stage, 2 and 4 of the other, each on the process of its number.
StartingReplicas two_by_two() {
  StartingReplicas starting;
  for (std::uint64_t replica = 1; replica <= 4; ++replica) {
    const auto index = static_cast<std::uint32_t>(replica - 1);
    starting.ask(order_of(replica, index % 2, index / 2), ProcessIncarnation{replica}, start());
  }
  return starting;
}

TEST(StartingReplicas, AreWaitedForUntilAllAreReady) {
  auto starting = two_by_two();
  for (std::uint64_t replica = 1; replica <= 4; ++replica) {
    EXPECT_FALSE(starting.compare(kVersion).are_ready);
    EXPECT_EQ(starting.ready_count(), replica - 1);
    starting.is_ready(ready_as(replica), start());
  }
  EXPECT_TRUE(starting.compare(kVersion).are_ready);
  EXPECT_EQ(starting.compare(kVersion).stages, 2U);
  EXPECT_FALSE(starting.compare(kVersion).differs);
}

TEST(StartingReplicas, OfOneStageHaveEqualStates) {  // S-3
  auto starting = two_by_two();
  for (const std::uint64_t replica : {1, 3}) starting.is_ready(ready_as(replica, 5), start());
  for (const std::uint64_t replica : {2, 4}) starting.is_ready(ready_as(replica, 6), start());
  EXPECT_TRUE(starting.compare(kVersion).are_ready) << "the stages' states are not compared with each other";
  starting.is_ready(ready_as(4, 5), start());
  const StartProgress progress = starting.compare(kVersion);
  EXPECT_FALSE(progress.are_ready);
  ASSERT_TRUE(progress.differs);
  EXPECT_EQ(progress.differs->order.replica, Incarnation{4});
}

TEST(StartingReplicas, AreAtTheVersionThatTheRunStartsWith) {  // P-27
  StartingReplicas starting;
  starting.ask(order_of(1, 0), ProcessIncarnation{1}, start());
  starting.is_ready(ready_as(1, 5, kVersion - 1), start());
  EXPECT_TRUE(starting.compare(kVersion).differs);
  EXPECT_FALSE(starting.compare(kVersion - 1).differs);
}

TEST(StartingReplicas, ThatEndGiveUpTheirPlaceOnce) {
  auto starting = two_by_two();
  EXPECT_FALSE(starting.ended(Incarnation{9}));
  starting.told_to_end(Incarnation{1});
  const auto ended = starting.ended(Incarnation{1});
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->process, ProcessIncarnation{1});
  EXPECT_TRUE(ended->was_told_to_end);
  EXPECT_EQ(starting.free_place(2, 2), place_of(0, 0));
  EXPECT_FALSE(starting.is_on(ProcessIncarnation{1}));
  EXPECT_FALSE(starting.ended(Incarnation{1}));
  EXPECT_FALSE(starting.ended(Incarnation{2})->was_told_to_end);
  EXPECT_EQ(starting.end_all().size(), 2U);
  EXPECT_TRUE(starting.all().empty());
}

TEST(StartingReplicas, EndWithTheirProcess) {
  auto starting = two_by_two();
  EXPECT_TRUE(starting.is_on(ProcessIncarnation{3}));
  starting.end_on(ProcessIncarnation{3});
  EXPECT_FALSE(starting.is_on(ProcessIncarnation{3}));
  EXPECT_EQ(starting.free_place(2, 2), place_of(0, 1));
  EXPECT_EQ(starting.all().size(), 3U);
}

// A replica that is ready waits for the others; one that has more of its state than before is on its way.
TEST(StartingReplicas, LoseTheirPlaceWhenTheyAreSilent) {
  auto starting = two_by_two();
  starting.is_ready(ready_as(1), start());
  const Duration most = StartingReplicas::kSilenceMax - std::chrono::seconds(1);
  starting.arriving(Incarnation{3}, 100, start() + most);
  EXPECT_TRUE(starting.take_silent(start() + most).empty());
  const auto silent = starting.take_silent(start() + StartingReplicas::kSilenceMax);
  ASSERT_EQ(silent.size(), 2U);
  EXPECT_EQ(silent[0].order.replica, Incarnation{2});
  EXPECT_EQ(silent[1].order.replica, Incarnation{4});
  EXPECT_EQ(starting.free_place(2, 2), place_of(1, 0));
  EXPECT_EQ(starting.all().size(), 2U);
  starting.arriving(Incarnation{3}, 100, start() + 2 * most);
  EXPECT_EQ(starting.take_silent(start() + 2 * most).size(), 0U);
  EXPECT_EQ(starting.take_silent(start() + 2 * most + std::chrono::seconds(1)).size(), 1U) << "no more of it came";
}

// Whoever comes first is of most use where there are fewest.
TEST(StartingReplicas, LackOneWhereTheStageHasTheFewest) {
  auto starting = two_by_two();
  EXPECT_FALSE(starting.free_place(2, 2));
  EXPECT_EQ(starting.free_place(2, 3), place_of(0, 2));
  for (const std::uint64_t process : {1, 2, 4}) starting.end_on(ProcessIncarnation{process});
  EXPECT_EQ(starting.free_place(2, 2), place_of(1, 0));
  starting.ask(order_of(5, 1), ProcessIncarnation{5}, start());
  EXPECT_EQ(starting.free_place(2, 2), place_of(0, 0));
}

TEST(StartingReplicas, GiveAStageThatHasNobodyOneOfAnother) {
  auto starting = two_by_two();
  EXPECT_FALSE(starting.take_spare(2)) << "nobody lacks one";
  for (const std::uint64_t process : {1, 3}) starting.end_on(ProcessIncarnation{process});
  starting.is_ready(ready_as(2), start());
  const auto move = starting.take_spare(2);
  ASSERT_TRUE(move);
  EXPECT_EQ(move->to, StageId{0});
  EXPECT_EQ(move->from.process, ProcessIncarnation{4}) << "it is not ready yet";
  EXPECT_FALSE(starting.is_on(ProcessIncarnation{4}));
  EXPECT_FALSE(starting.take_spare(2)) << "the last one of a stage stays there";
}

TEST(StartingReplicas, TellSinceWhenEveryStageHasOne) {
  auto starting = two_by_two();
  const auto at = [](int second) { return start() + std::chrono::seconds(second); };
  starting.is_ready(ready_as(3), at(1));
  EXPECT_EQ(starting.compare(kVersion).stages, 1U);
  starting.is_ready(ready_as(2), at(5));
  starting.is_ready(ready_as(2), at(6));
  starting.is_ready(ready_as(1), at(7));
  const StartProgress progress = starting.compare(kVersion);
  EXPECT_FALSE(progress.are_ready);
  EXPECT_EQ(progress.stages, 2U);
  EXPECT_EQ(progress.asked_at, at(0));
  EXPECT_EQ(progress.served_at, at(5)) << "whoever says it again is not new, nor is the second of a stage";
  EXPECT_EQ(starting.take_ready().size(), 3U);
  EXPECT_EQ(starting.end_all().size(), 1U);
}

// In whatever order they were asked for, they are added by slot, then by stage, each once.
TEST(StartingReplicas, AreTakenInOneOrder) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> places = {0, 1, 2, 3, 4, 5};
  for (int run = 0; run < 50; ++run) {
    std::ranges::shuffle(places, random);
    StartingReplicas starting;
    for (const std::uint32_t place : places) {
      starting.ask(order_of(place + 1, place % 3, place / 3), ProcessIncarnation{place + 1}, start());
    }
    for (const std::uint32_t place : places) starting.is_ready(ready_as(place + 1), start());
    const auto taken = starting.take_ready();
    ASSERT_EQ(taken.size(), places.size());
    for (std::size_t index = 0; index < taken.size(); ++index) {
      EXPECT_EQ(taken[index].order.replica, Incarnation{index + 1});
    }
    EXPECT_TRUE(starting.take_ready().empty());
  }
}

}  // namespace
}  // namespace shoal::starting_replicas_test
