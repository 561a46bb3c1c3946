// A token is lost at most once: not by several stages, and not by a round and a roll-back.
#include "runtime/journal/lost_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <vector>

namespace shoal::lost_tokens_test {
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

// A round in flight at the end of a run is due with the one before it: one stage has agreed on both before
// another has on the first.
TEST(LostTokens, OfTwoRoundsInAnyOrderOfTheStagesAreCountedOnce) {
  LostTokens lost;
  lost.follow(round_of(0, 1, 5), 8);
  lost.follow(round_of(0, 2, 10), 8);
  LostTokens restored{lost.state()};
  for (LostTokens* one : {&lost, &restored}) {
    one->follow(round_of(1, 1, 5), 8);
    one->follow(round_of(1, 2, 7), 8);
    EXPECT_EQ(one->count(), 5U + 10U);
    one->follow(round_of(2, 1, 6), 8);
    EXPECT_EQ(one->count(), 6U + 10U);
  }
  EXPECT_EQ(restored.state(), lost.state());
  restored.go_back_to(7, 100);
  EXPECT_EQ(restored.count(), 100U);
}

TEST(LostTokens, OfARoundThatOnlyALaterStageLostAreCountedToo) {
  LostTokens lost;
  lost.follow(round_of(0, 2, 10), 8);
  for (const std::uint32_t stage : {1U, 2U}) lost.follow(round_of(stage, 1, 5), 9);
  EXPECT_EQ(lost.count(), 15U);
  EXPECT_TRUE(std::ranges::is_sorted(lost.state().rounds, {}, &RoundLoss::number));
  lost.go_back_to(8, 100);
  EXPECT_EQ(lost.count(), 110U) << "that is of a round which the state lacks";
}

// A branch that changes the length of rounds gives their numbers again, to rounds of other steps.
TEST(LostTokens, OfRoundsOfTwoSchedulesAreKeptApartWhateverTheirNumbers) {
  LostTokens lost;
  for (const std::uint64_t number : {1U, 2U, 3U}) lost.follow(round_of(0, number, 10 * number), 5 * number);
  lost.begin(15);  // rounds of five steps until then, of fifteen from there on
  LostTokens restored{lost.state(), 15};
  for (LostTokens* one : {&lost, &restored}) {
    one->follow(round_of(0, 2, 25), 30);
    EXPECT_EQ(one->count(), 10U + 20U + 30U + 25U);
    one->follow(round_of(1, 2, 40), 30);
    EXPECT_EQ(one->count(), 10U + 20U + 30U + 40U) << "another stage says it of the same round";
    one->go_back_to(15, 100);
    EXPECT_EQ(one->count(), 10U + 20U + 30U + 100U);
  }
  EXPECT_EQ(restored.state(), lost.state());
}

TEST(LostTokens, OfMoreRoundsThanAreKnownApartAreStillLostOnce) {  // S-6
  const std::uint64_t rounds = LostTokens::kRoundsMax + 10;
  LostTokens lost;
  for (std::uint64_t number = 1; number <= rounds; ++number) lost.follow(round_of(0, number, 10), 5 * number);
  EXPECT_EQ(lost.count(), 10 * rounds);
  EXPECT_EQ(lost.state().rounds.size(), LostTokens::kRoundsMax);
  lost.follow(round_of(1, 1, 10), 5 * rounds);
  EXPECT_EQ(lost.count(), 10 * rounds) << "a later stage says the same of a round that is not known apart";
  LostTokens restored{lost.state()};
  for (LostTokens* one : {&lost, &restored}) {
    one->go_back_to(5 * 20, 1000);
    EXPECT_EQ(one->count(), 10U * 20 + 1000) << "each of those is known apart";
    one->go_back_to(0, 200);
    EXPECT_EQ(one->count(), 1000U + 200U) << "all of the rounds are thrown away";
  }
}

// A version before this one forgot the oldest rounds, and kept what they lost.
TEST(LostTokens, OfAnOldSnapshotGoWithTheOldestRoundThatItKnows) {
  LostTokens lost{LostTokensState{{{50, 10, 5}, {55, 11, 5}}, 30, 7}};
  EXPECT_EQ(lost.count(), 37U);
  lost.go_back_to(50, 0);
  EXPECT_EQ(lost.count(), 32U);
  lost.go_back_to(0, 100);
  EXPECT_EQ(lost.count(), 107U);
}

// Rounds of one step each, as far as the journal agrees on them two steps later (of the second stage: three, and so
// after the first stage's next one), with losses of two stages, roll-backs and snapshots; never more is lost than was
// trained. The control: the sum over all entries is more, in all.
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
      if (random() % 8 == 0) lost = LostTokens(lost.state());
      for (const std::uint32_t stage : {0U, 1U}) {
        if (version < 3 + stage) continue;
        const std::uint64_t tokens = random() % 3 == 0 ? 0 : kTokens;
        lost.follow(round_of(stage, version - 2 - stage, tokens), version);
        sum_of_all += tokens;
      }
      ASSERT_LE(lost.count(), trained);
    }
    trained_in_all += trained;
  }
  EXPECT_GT(sum_of_all, trained_in_all);
}

}  // namespace
}  // namespace shoal::lost_tokens_test
