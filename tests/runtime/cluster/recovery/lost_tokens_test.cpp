// A token is lost at most once: not by several stages, and not by a round and a roll-back.
#include "runtime/cluster/recovery/lost_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <vector>

namespace shoal {
namespace {

CommitRound round_of(std::uint32_t stage, std::uint64_t number, std::uint64_t lost, std::uint32_t fragment = 0) {
  return CommitRound{StageId{stage}, StepId{number}, {fragment, number}, {}, 0, {}, lost};
}

TEST(LostTokens, AreOfARoundTheMostThatOneStageLost) {
  LostTokens lost;
  for (const std::uint32_t stage : {0U, 1U, 2U}) lost.follow(round_of(stage, 1, 40 - 10 * stage), 3);
  EXPECT_EQ(lost.count(), 40U);
  lost.follow(round_of(1, 2, 5), 6);
  EXPECT_EQ(lost.count(), 45U);
  lost.follow(round_of(0, 2, 25), 6);
  EXPECT_EQ(lost.count(), 65U) << "the second stage says it later";
  lost.follow(round_of(0, 2, 99, 1), 7);
  EXPECT_EQ(lost.count(), 65U) << "another fragment's are the same tokens";
}

TEST(LostTokens, OfStepsThatAreThrownAwayTakeThePlaceOfTheirRounds) {
  LostTokens lost;
  lost.follow(round_of(0, 1, 10), 3);
  lost.follow(round_of(0, 2, 20), 6);
  lost.go_back_to(5, 100);
  EXPECT_EQ(lost.count(), 110U);
  lost.follow(round_of(0, 2, 7), 6);
  EXPECT_EQ(lost.count(), 117U);
  lost.go_back_to(6, 100);
  EXPECT_EQ(lost.count(), 217U) << "the state after six steps has that round";
}

// Rounds of one step each, as far as the journal agrees on them two steps later, with losses of two stages and
// roll-backs; never more is lost than was trained. The control: the sum over all entries is more, in all.
TEST(LostTokens, AreNeverMoreThanWereTrained) {
  constexpr std::uint64_t kTokens = 100;
  const auto seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937 random(seed);
  std::uint64_t sum_of_all = 0;
  std::uint64_t trained_in_all = 0;
  for (int run = 0; run < 50; ++run) {
    LostTokens lost;
    std::uint64_t trained = 0;
    std::uint64_t version = 0;
    for (int turn = 0; turn < 200; ++turn) {
      if (random() % 8 == 0) {
        const std::uint64_t to = version - std::min<std::uint64_t>(version, random() % 5);
        lost.go_back_to(to, (version - to) * kTokens);
        sum_of_all += (version - to) * kTokens;
        version = to;
      }
      ++version;
      trained += kTokens;
      for (const std::uint32_t stage : {0U, 1U}) {
        if (version < 3) continue;
        const std::uint64_t tokens = random() % 3 == 0 ? 0 : kTokens;
        lost.follow(round_of(stage, version - 2, tokens), version);
        sum_of_all += tokens;
      }
      ASSERT_LE(lost.count(), trained);
    }
    trained_in_all += trained;
  }
  EXPECT_GT(sum_of_all, trained_in_all);
}

}  // namespace
}  // namespace shoal
