// Any numbers are found again with their values; an even run of them is one.
#include "runtime/trace/report/even_runs.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace shoal::even_runs_test {
namespace {

TEST(EvenRuns, KeepAMillionEvenNumbersAsOne) {
  EvenRuns runs;
  for (std::uint64_t step = 0; step < 1'000'000; ++step) runs.add(step, 7 + 2 * step);
  EXPECT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs.find(999'999), 7U + 2 * 999'999);
  EXPECT_EQ(runs.find(1'000'000), std::nullopt);
  runs.add(1'000'000, 7 + 2 * 1'000'000 + 1);
  EXPECT_EQ(runs.size(), 2U) << "the control: a value that leaps";
  runs.add(1'000'002, 7 + 2 * 1'000'002);
  EXPECT_EQ(runs.size(), 3U) << "the control: a number that is left out";
  EXPECT_EQ(runs.find(1'000'001), std::nullopt);
}

TEST(EvenRuns, FindWhatWasAddedInAnyOrder) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    EvenRuns runs;
    std::map<std::uint64_t, std::uint64_t> expected;
    std::uint64_t value = random() % 10;
    for (int i = 0; i < 60; ++i) {
      const bool goes_on = !expected.empty() && random() % 4 != 0;
      const std::uint64_t number = goes_on ? expected.rbegin()->first + 1 : random() % 80;
      value += random() % 8 == 0 ? random() % 5 : 1;
      if (expected.try_emplace(number, value).second) runs.add(number, value);
    }
    for (std::uint64_t number = 0; number < 150; ++number) {
      const auto known = expected.find(number);
      EXPECT_EQ(runs.find(number), known == expected.end() ? std::nullopt : std::optional(known->second));
    }
  }
}

TEST(StepPlaces, AreTheFirstOnesOfEachBranch) {
  StepPlaces places;
  EXPECT_TRUE(places.add(Branch{1}, StepId{7}, 70));
  EXPECT_FALSE(places.add(Branch{1}, StepId{7}, 71));
  EXPECT_TRUE(places.add(Branch{2}, StepId{7}, 72));
  EXPECT_EQ(places.find(Branch{1}, StepId{7}), 70U);
  EXPECT_EQ(places.find(Branch{2}, StepId{7}), 72U);
  EXPECT_EQ(places.find(Branch{2}, StepId{8}), std::nullopt);
  EXPECT_EQ(places.find(Branch{3}, StepId{7}), std::nullopt);
}

}  // namespace
}  // namespace shoal::even_runs_test
