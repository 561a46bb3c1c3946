// Tests how many replicas each stage wants, in both forms of the key.
#include "runtime/cluster/replicas_wanted.h"

#include <gtest/gtest.h>

namespace shoal::replicas_wanted_test {
namespace {

TEST(ReplicasWanted, OneNumberGoesForEveryStage) {
  const ReplicasWanted wanted = 3;
  EXPECT_EQ(wanted.of(StageId{0}), 3U);
  EXPECT_EQ(wanted.of(StageId{7}), 3U);
  EXPECT_EQ(wanted.total(4), 12U);
  EXPECT_EQ(wanted.text(), "3");
}

TEST(ReplicasWanted, AListHasOneForEachStageAndNoneBeyond) {
  PipelineConfig pipeline;
  pipeline.stages = 4;
  pipeline.replicas_listed = {5, 1, 2, 1};
  const ReplicasWanted wanted = replicas_wanted(pipeline);
  EXPECT_EQ(wanted.of(StageId{0}), 5U);
  EXPECT_EQ(wanted.of(StageId{2}), 2U);
  EXPECT_EQ(wanted.of(StageId{4}), 0U);
  EXPECT_EQ(wanted.total(4), 9U);
  EXPECT_EQ(wanted.most(), 5U);
  EXPECT_EQ(wanted.least(), 1U);
  EXPECT_EQ(wanted.text(), "[5, 1, 2, 1]");
}

}  // namespace
}  // namespace shoal::replicas_wanted_test
