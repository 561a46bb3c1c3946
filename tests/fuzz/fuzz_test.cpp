// Every harness without libFuzzer, in an ordinary build: its valid inputs, the inputs that once found a bug, and some
// seconds of changes by a seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/harness.h"
#include "tests/fuzz/mutator.h"

namespace shoal::fuzz::fuzz_test {
namespace {

class Fuzz : public testing::TestWithParam<const Harness*> {};

constexpr int kMutationsMin = 100;  // however long that takes: of so many some are refused
constexpr int kMutationsMax = 4000;
constexpr std::chrono::milliseconds kTime{600};

std::vector<std::filesystem::path> regressions_of(std::string_view harness) {
  const std::filesystem::path folder = std::filesystem::path(SHOAL_SOURCE_DIR) / "tests/fuzz/regressions" / harness;
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

TEST_P(Fuzz, AcceptsWhatIsValid) {
  const auto samples = GetParam()->samples();
  EXPECT_FALSE(samples.empty());
  for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_TRUE(GetParam()->accepts(samples[i])) << "sample " << i;
}

TEST_P(Fuzz, TakesNothingAtAll) { EXPECT_NO_THROW((void)GetParam()->accepts("")); }

TEST_P(Fuzz, WhatOnceFoundABugFindsNone) {
  for (const auto& path : regressions_of(GetParam()->name)) {
    SCOPED_TRACE(path);
    std::ifstream file(path, std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    EXPECT_NO_THROW((void)GetParam()->accepts(input));
  }
}

// Together with the first test, the control of the harnesses themselves: each tells what is valid from what is not.
TEST_P(Fuzz, SurvivesChangedInputs) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Mutator mutator(GetParam()->samples(), seed);
  const auto end = std::chrono::steady_clock::now() + kTime;
  int count = 0;
  int refused = 0;
  const auto goes_on = [&] { return count < kMutationsMin || std::chrono::steady_clock::now() < end; };
  for (; count < kMutationsMax && goes_on(); ++count) {
    const std::string input = mutator.next();
    ASSERT_NO_THROW(refused += GetParam()->accepts(input) ? 0 : 1) << "input " << count << " of the seed";
  }
  EXPECT_GT(refused, 0) << "of " << count;
}

std::string name_of(const testing::TestParamInfo<const Harness*>& info) { return std::string(info.param->name); }

INSTANTIATE_TEST_SUITE_P(Every, Fuzz, testing::ValuesIn(all_harnesses()), name_of);

TEST(Mutator, ChangesWhatItIsGivenAndRepeatsItselfBySeed) {
  const std::vector<std::string> samples{"abcdef", "0123456789"};
  Mutator one(samples, 5);
  Mutator same(samples, 5);
  int changed = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string input = one.next();
    EXPECT_EQ(input, same.next());
    changed += std::ranges::find(samples, input) == samples.end() ? 1 : 0;
  }
  EXPECT_GT(changed, 80);
}

}  // namespace
}  // namespace shoal::fuzz::fuzz_test
