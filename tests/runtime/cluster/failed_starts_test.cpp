// When it is of no use to go on with a start, and whom the next one asks last.
#include "runtime/cluster/failed_starts.h"

#include <gtest/gtest.h>

#include "runtime/base/compose.h"

namespace shoal::failed_starts_test {
namespace {

constexpr StageId kStage{0}, kOther{1};

// Three nodes of the stage failed.
FailedStarts three_failed() {
  FailedStarts failed;
  for (const char* node : {"a", "b", "c"}) failed.add(kStage, node, node);
  return failed;
}

TEST(FailedStarts, OfThreeNodesAreHopelessWhoeverIsLeft) {
  FailedStarts failed;
  failed.add(kStage, "a", "a");
  failed.add(kStage, "b", "b");
  EXPECT_FALSE(failed.are_hopeless(kStage, {0, 1}, {0, 1}, 100));
  failed.add(kStage, "c", "c");
  EXPECT_TRUE(failed.are_hopeless(kStage, {0, 1}, {0, 1}, 100));
}

TEST(FailedStarts, OfThreeNodesSayNothingOfAStateThatOthersHaveLoaded) {
  const FailedStarts failed = three_failed();
  EXPECT_FALSE(failed.are_hopeless(kStage, {1, 0}, {1, 0}, 100));
  EXPECT_FALSE(failed.are_hopeless(kStage, {1, 0}, {1, 0}, 0)) << "the run waits for somebody in their places";
  EXPECT_TRUE(failed.are_hopeless(kStage, {0, 0}, {5, 0}, 100)) << "that of another stage is another state";
}

TEST(FailedStarts, OfAllThereAreEndAStartThatNeedsMoreThanAreReady) {
  const FailedStarts failed = three_failed();
  EXPECT_TRUE(failed.are_hopeless(kStage, {1, 0, 2}, {3, 0}, 0));
  EXPECT_FALSE(failed.are_hopeless(kStage, {1, 0, 2}, {3, 0}, 1)) << "another may be asked";
  EXPECT_FALSE(failed.are_hopeless(kStage, {1, 1, 3}, {3, 1}, 0)) << "somebody tries";
  EXPECT_FALSE(failed.are_hopeless(kStage, {2, 0, 2}, {4, 0}, 0)) << "nothing lacks";
}

TEST(FailedStarts, OfThreeNodesSayLittleWhileManyOthersTry) {
  const FailedStarts failed = three_failed();
  EXPECT_FALSE(failed.are_hopeless(kStage, {0, 7}, {0, 997}, 100));
  EXPECT_FALSE(failed.are_hopeless(kStage, {0, 7}, {0, 997}, 0));
  EXPECT_TRUE(failed.are_hopeless(kStage, {0, 3}, {0, 997}, 100)) << "as many of the stage have failed as try";
}

// What is wrong for everybody ends each stage's replicas at about the same time.
TEST(FailedStarts, OfDifferentStagesCountTogetherWhereNobodyIsReady) {
  FailedStarts failed;
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    const std::string node = compose("node", stage);
    failed.add(StageId{stage}, node, node);
  }
  EXPECT_TRUE(failed.are_hopeless(StageId{3}, {0, 0}, {0, 4}, 4));
  EXPECT_FALSE(failed.are_hopeless(StageId{3}, {0, 0}, {0, 5}, 4));
  EXPECT_FALSE(failed.are_hopeless(StageId{3}, {0, 0}, {1, 3}, 4)) << "somebody can";
}

TEST(FailedStarts, OfOneNodeSayNothingOfTheOthers) {
  FailedStarts failed;
  for (int round = 0; round < 10; ++round) {
    for (const char* device : {"a:0", "a:1", "a:2", "a:3"}) failed.add(kStage, device, "a");
  }
  EXPECT_TRUE(failed.contains("a:3"));
  EXPECT_FALSE(failed.contains("b"));
  EXPECT_FALSE(failed.are_hopeless(kStage, {}, {}, 1));
  EXPECT_TRUE(failed.are_hopeless(kStage, {}, {}, 0)) << "but there are none";
}

TEST(FailedStarts, OfAllThereAreMayHaveBeenPassing) {
  FailedStarts failed;
  failed.add(kStage, "a", "a");
  failed.add(kOther, "b", "b");
  EXPECT_FALSE(failed.are_hopeless(kOther, {}, {}, 0));
  failed.add(kStage, "a", "a");
  EXPECT_TRUE(failed.are_hopeless(kStage, {}, {}, 0));
  EXPECT_FALSE(failed.are_hopeless(kStage, {0, 1}, {0, 1}, 0)) << "somebody tries";
}

TEST(FailedStarts, AreRememberedOverTriesAndCountedInOne) {
  FailedStarts failed = three_failed();
  failed.begin_again();
  EXPECT_TRUE(failed.contains("b")) << "others are asked before it";
  EXPECT_FALSE(failed.has_failed_now("b"));
  failed.add(kStage, "b", "b");
  EXPECT_TRUE(failed.has_failed_now("b"));
  EXPECT_FALSE(failed.are_hopeless(kStage, {0, 1}, {0, 1}, 0));
}

TEST(FailedStarts, S6RemembersSoMany) {
  FailedStarts failed;
  const std::uint64_t most = FailedStarts::kRememberedMax;
  std::size_t known = 0;
  for (std::uint64_t number = 0; number < 2 * most; ++number) {
    const std::string node = compose("node", number);
    failed.add(kStage, node, node);
  }
  for (std::uint64_t number = 0; number < 2 * most; ++number) known += failed.contains(compose("node", number)) ? 1 : 0;
  EXPECT_EQ(known, most);
}

}  // namespace
}  // namespace shoal::failed_starts_test
