// A bounded rate: the average is kept whatever the sizes, and a pause earns a short burst only.
#include "runtime/transport/lanes/rate_bucket.h"

#include <gtest/gtest.h>

#include <random>

namespace shoal::rate_bucket_test {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = Instant{} + std::chrono::hours(1);

TEST(RateBucket, KeepsTheRateWhateverTheSizes) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  constexpr std::uint64_t kBitPerSecond = 8'000'000;
  RateBucket bucket(kBitPerSecond);
  Instant now = kStart;
  std::size_t sent = 0;
  std::size_t largest = 0;
  while (now < kStart + 20s) {
    if (bucket.may_go(now)) {
      const std::size_t bytes = 1 + random() % 200'000;
      largest = std::max(largest, bytes);
      bucket.take(bytes, now);
      sent += bytes;
    } else {
      now += bucket.wait(now);
      EXPECT_TRUE(bucket.may_go(now)) << "the wait that it told is enough";
    }
  }
  EXPECT_GE(sent, 20'000'000U) << "a sender that always has something uses the whole rate";
  EXPECT_LE(sent, 20'000'000U + 50'000U + largest);
}

TEST(RateBucket, APauseEarnsAShortBurstOnly) {
  RateBucket bucket(8'000'000);
  bucket.take(100'000, kStart);
  EXPECT_FALSE(bucket.may_go(kStart));
  const Instant later = kStart + 1h;
  std::size_t at_once = 0;
  while (bucket.may_go(later)) {
    bucket.take(10'000, later);
    at_once += 10'000;
  }
  EXPECT_LE(at_once, 60'000U);
  EXPECT_GE(at_once, 50'000U);
}

TEST(RateBucket, WithoutABoundEverythingGoes) {
  RateBucket bucket(0);
  bucket.take(std::size_t{1} << 40, kStart);
  EXPECT_TRUE(bucket.may_go(kStart));
  EXPECT_EQ(bucket.wait(kStart), Duration::zero());
}

}  // namespace
}  // namespace shoal::rate_bucket_test
