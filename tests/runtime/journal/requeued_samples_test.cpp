// Tests which sample takes which place: lost ones first, the order of the data around them, and back again.
#include "runtime/journal/requeued_samples.h"

#include <gtest/gtest.h>

#include <numeric>

#include "runtime/base/ensure.h"
#include "runtime/journal/store.h"

namespace shoal::requeued_samples_test {
namespace {

CommitRound losing(const std::vector<std::uint64_t>& places, std::uint64_t from) {
  CommitRound round;
  for (const std::uint64_t place : places) round.lost.push_back(PlaceId{place});
  round.trained_again_from = PlaceId{from};
  return round;
}

// Returns the samples trained at the first places.
std::vector<std::uint64_t> trained(const RequeuedSamples& samples, std::uint64_t count) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t place = 0; place < count; ++place) all.push_back(samples.sample_at(PlaceId{place}).value);
  return all;
}

using Numbers = std::vector<std::uint64_t>;

TEST(RequeuedSamples, WithoutLossesEveryPlaceTrainsItsOwn) {
  RequeuedSamples samples;
  samples.follow(CommitRound{}, 3);
  EXPECT_EQ(trained(samples, 5), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(samples.end(), PlaceId{});
}

TEST(RequeuedSamples, LostOnesComeFirstAndTheOrderGoesOnAfterThem) {
  RequeuedSamples samples;
  samples.follow(losing({1, 3}, 4), 1);
  EXPECT_EQ(trained(samples, 8), (Numbers{0, 1, 2, 3, 1, 3, 4, 5}));
  EXPECT_EQ(samples.end(), PlaceId{6});
  samples.follow(losing({2}, 6), 1);  // another stage's, at the same time
  samples.follow(losing({6}, 10), 4);
  EXPECT_EQ(trained(samples, 12), (Numbers{0, 1, 2, 3, 1, 3, 2, 4, 5, 6, 2, 7})) << "6 had trained 2 again";
  EXPECT_EQ(samples.lost_from(PlaceId{2}), (std::set<PlaceId>{PlaceId{2}, PlaceId{3}, PlaceId{6}}));
}

TEST(RequeuedSamples, ABranchForgetsWhatWasReadAfterItsBeginning) {
  RequeuedSamples samples;
  samples.follow(losing({1}, 4), 1);
  samples.follow(losing({2, 3}, 8), 3);
  samples.go_back_to(3);
  EXPECT_EQ(trained(samples, 11), (Numbers{0, 1, 2, 3, 1, 4, 5, 6, 2, 3, 7}));
  samples.go_back_to(2);
  EXPECT_EQ(trained(samples, 11), (Numbers{0, 1, 2, 3, 1, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(samples.lost_from(PlaceId{}), std::set<PlaceId>{PlaceId{1}});
  samples.go_back_to(0);
  EXPECT_EQ(trained(samples, 3), (Numbers{0, 1, 2}));
}

TEST(RequeuedSamples, APlaceIsTakenOnce) {
  RequeuedSamples samples;
  samples.follow(losing({1, 2}, 4), 1);
  EXPECT_THROW(samples.follow(losing({3}, 5), 1), Bug);
  EXPECT_THROW(samples.follow(losing({9}, 8), 1), Bug) << "it was not trained yet";
}

// Three times as many as are kept, so many by each entry.
RequeuedSamples with_many(std::uint64_t each) {
  RequeuedSamples samples;
  const std::uint64_t entries = 3 * RequeuedSamples::kKeptMax / each;
  for (std::uint64_t entry = 1; entry <= entries; ++entry) {
    Numbers places(each);
    std::iota(places.begin(), places.end(), 2 * each * (entry - 1));
    samples.follow(losing(places, 2 * each * entry), entry);
  }
  return samples;
}

// S-6: the newest are remembered, of the others how many there were.
TEST(RequeuedSamples, ForgetsTheOldestButForTheirNumber) {
  constexpr std::uint64_t kEach = 1000;
  const std::uint64_t kEntries = 3 * RequeuedSamples::kKeptMax / kEach;
  RequeuedSamples samples = with_many(kEach);
  EXPECT_LE(samples.lost_from(PlaceId{}).size(), RequeuedSamples::kKeptMax);
  EXPECT_GE(samples.lost_from(PlaceId{}).size(), RequeuedSamples::kWaitingMax);
  EXPECT_EQ(samples.sample_at(PlaceId{2 * kEach * kEntries + kEach}), PlaceId{kEach * (kEntries + 1)});
  samples.go_back_to(0);
  EXPECT_LE(samples.sample_at(PlaceId{5 * kEach}).value, 5 * kEach) << "earlier samples again, none left out";
}

// Otherwise the journal is never cut again, and grows for ever.
TEST(RequeuedSamples, ASnapshotHasRoomForAsManyAsAreKeptHoweverFewAnEntryTakes) {
  for (const std::uint64_t each : {1U, 4U, 1000U}) {
    const RequeuedSamples samples = with_many(each);
    JournalSnapshot snapshot;
    snapshot.view.position = JournalPosition{1};
    snapshot.view.requeued = samples.state();
    const auto bytes = bytes_to_keep(snapshot);
    ASSERT_TRUE(bytes.ok()) << each << ": " << bytes.failure().message;
    EXPECT_GT(bytes->size(), JournalStore::kSnapshotBytesMax / 2) << "of as many as there is room for";
    EXPECT_GT(samples.lost_from(PlaceId{}).size(), RequeuedSamples::kKeptMax / 5) << each;
  }
}

// The writer of the entries counts as this does, so that nothing is forgotten that still has to be trained again.
TEST(RequeuedSamples, WhatMayWaitIsKeptHoweverFewAnEntryTakes) {
  RequeuedSamples samples;
  constexpr std::uint64_t kFirst = 1'000'000;
  constexpr std::uint64_t kStoredEach = 1 + RequeuedSamples::kPlacesOfAnEntry;
  samples.follow(losing({5}, kFirst), 0);
  const std::uint64_t waiting = RequeuedSamples::kWaitingMax / kStoredEach;
  for (std::uint64_t lost = 0; lost < waiting; ++lost) samples.follow(losing({10 + lost}, samples.end().value), 1);
  EXPECT_EQ(samples.stored_from(PlaceId{kFirst + 1}), waiting * kStoredEach);
  for (std::uint64_t at = 0; at < waiting; ++at) {
    ASSERT_EQ(samples.sample_at(PlaceId{kFirst + 1 + at}), PlaceId{10 + at});
  }
  EXPECT_EQ(samples.stored_from(samples.end()), 0U);
  samples.follow(losing({1, 2, 3}, samples.end().value), 2);
  EXPECT_EQ(samples.stored_from(PlaceId{samples.end().value - 2}), 2 + RequeuedSamples::kPlacesOfAnEntry) << "of three";
}

}  // namespace
}  // namespace shoal::requeued_samples_test
