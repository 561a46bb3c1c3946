// Times are exact up to a number, and nearly exact beyond it in memory that does not grow.
#include "runtime/trace/report/summary/time_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace shoal::time_counts_test {
namespace {

std::int64_t high_of(std::vector<std::int64_t> times) {
  std::ranges::sort(times);
  return times[times.size() * 99 / 100];
}

// Of all magnitudes; some before 0, as between two clocks.
std::int64_t any_time(std::mt19937_64& random) {
  const auto time = static_cast<std::int64_t>(random() >> (4 + random() % 50));
  return random() % 50 == 0 ? -time : time;
}

TEST(TimeCounts, AreExactUpToTheirBound) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  TimeCounts counts;
  EXPECT_EQ(counts.high_ns(), 0);
  EXPECT_EQ(counts.mean_ns(), 0);
  std::vector<std::int64_t> times;
  std::int64_t total = 0;
  while (times.size() < kExactTimes) {
    times.push_back(any_time(random) >> 20);
    total += times.back();
    counts.add(times.back());
    const bool is_compared = times.size() < 300 || times.size() == kExactTimes;
    if (is_compared) {
      EXPECT_EQ(counts.high_ns(), high_of(times)) << times.size();
    }
  }
  EXPECT_EQ(counts.total_ns(), total);
  EXPECT_EQ(counts.mean_ns(), total / static_cast<std::int64_t>(kExactTimes));
  EXPECT_EQ(counts.kept_count(), kExactTimes);
}

TEST(TimeCounts, AreWrongByNoMoreThanA2048thBeyondIt) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 5; ++round) {
    TimeCounts counts;
    std::vector<std::int64_t> times;
    const std::int64_t least = any_time(random);
    const std::uint64_t spread = 1 + (random() >> (10 + random() % 50));
    for (std::size_t i = 0; i < kExactTimes + 1 + random() % 1000; ++i) {
      times.push_back(least + static_cast<std::int64_t>(random() % spread));
      counts.add(times.back());
    }
    const auto exact = static_cast<double>(high_of(times));
    EXPECT_LE(std::abs(static_cast<double>(counts.high_ns()) - exact), std::abs(exact) / 2048 + 1);
    EXPECT_EQ(counts.count(), times.size());
  }
}

TEST(TimeCounts, ThatAreSmallStayExact) {
  TimeCounts counts;
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < 2 * kExactTimes; ++i) {
    times.push_back(static_cast<std::int64_t>(i * 7 % 2000));
    counts.add(times.back());
  }
  EXPECT_EQ(counts.high_ns(), high_of(times));
}

TEST(TimeCounts, KeepNoMoreOfManyThanOfSome) {
  TimeCounts counts;
  std::mt19937_64 random(1);
  const auto add = [&](std::size_t count) {
    for (; count > 0; --count) counts.add(1'000'000 + static_cast<std::int64_t>(random() % 15'000'000));
    return counts.kept_count();
  };
  EXPECT_EQ(add(kExactTimes), kExactTimes) << "the control: all of them";
  EXPECT_LE(add(1'000'000), 5U * 1024) << "four octaves and a part of one";
}

TEST(TimeCounts, TakeTheMostExtremeTimes) {
  TimeCounts counts;
  for (std::size_t i = 0; i <= kExactTimes; ++i)
    counts.add(i % 2 == 0 ? std::numeric_limits<std::int64_t>::max() / 2
                          : -std::numeric_limits<std::int64_t>::max() / 2);
  const auto most = static_cast<double>(std::numeric_limits<std::int64_t>::max() / 2);
  EXPECT_NEAR(static_cast<double>(counts.high_ns()), most, most / 2048);
}

}  // namespace
}  // namespace shoal::time_counts_test
