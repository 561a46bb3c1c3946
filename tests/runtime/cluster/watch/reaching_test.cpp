// Who may start together where some do not reach each other: against the pairs, for any of them.
#include "runtime/cluster/watch/reaching.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/base/compose.h"

namespace shoal::reaching_test {
namespace {

using Set = std::set<ProcessIncarnation>;

ProcessIncarnation process(std::uint64_t number) { return ProcessIncarnation{number}; }

// Processes 1 to `count`, and who does not reach whom as one of the two says.
std::vector<Reach> all_of(std::uint64_t count, const std::vector<std::pair<int, int>>& apart) {
  std::vector<Reach> all;
  for (std::uint64_t number = 1; number <= count; ++number) all.push_back({process(number), {}, false});
  for (const auto& [one, other] : apart) {
    all[static_cast<std::size_t>(one - 1)].unreached.push_back(process(static_cast<std::uint64_t>(other)));
  }
  return all;
}

TEST(Reaching, IsEverybodyWhereNobodyIsCutOff) {
  EXPECT_EQ(reaching_each_other(all_of(3, {})), (Set{process(1), process(2), process(3)}));
  EXPECT_EQ(reaching_each_other(all_of(2, {{1, 77}})), (Set{process(1), process(2)})) << "a stranger counts for nobody";
  EXPECT_TRUE(reaching_each_other({}).empty());
}

TEST(Reaching, OfTwoSitesIsTheLargerOneThenTheOlderOne) {
  const std::vector<std::pair<int, int>> sites = {{1, 2}, {1, 4}, {3, 2}, {3, 4}};
  EXPECT_EQ(reaching_each_other(all_of(4, sites)), (Set{process(1), process(3)}));
  auto larger = sites;
  larger.insert(larger.end(), {{1, 5}, {3, 5}});
  EXPECT_EQ(reaching_each_other(all_of(5, larger)), (Set{process(2), process(4), process(5)}));
}

TEST(Reaching, KeepsWhoIsNeeded) {
  auto storage = all_of(3, {{1, 3}});
  storage[2].is_needed = true;
  EXPECT_EQ(reaching_each_other(storage), (Set{process(2), process(3)})) << "who does not reach storage goes";
  auto starting = all_of(3, {{1, 2}, {1, 3}});
  starting[0].is_needed = true;
  EXPECT_EQ(reaching_each_other(starting), Set{process(1)}) << "though the others are more";
  starting[1].is_needed = true;
  EXPECT_EQ(reaching_each_other(starting), (Set{process(1), process(2)})) << "it is not for this to end one";
}

TEST(Reaching, LeavesNoPairApartAndNobodyOutInVain) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(compose("seed ", seed));
  std::mt19937_64 random(seed);
  for (int run = 0; run < 300; ++run) {
    const std::uint64_t count = 1 + random() % 8;
    std::vector<std::pair<int, int>> apart;
    for (int one = 1; one <= static_cast<int>(count); ++one) {
      for (int other = 1; other <= static_cast<int>(count); ++other) {
        if (one != other && random() % 4 == 0) apart.emplace_back(one, other);
      }
    }
    const Set kept = reaching_each_other(all_of(count, apart));
    Set touched;
    for (const auto& [one, other] : apart) {
      const auto first = process(static_cast<std::uint64_t>(one));
      const auto second = process(static_cast<std::uint64_t>(other));
      EXPECT_FALSE(kept.contains(first) && kept.contains(second)) << one << " and " << other;
      touched.insert(first);
      touched.insert(second);
    }
    EXPECT_FALSE(kept.empty());
    for (std::uint64_t number = 1; number <= count; ++number) {
      EXPECT_TRUE(touched.contains(process(number)) || kept.contains(process(number))) << number;
    }
  }
}

}  // namespace
}  // namespace shoal::reaching_test
