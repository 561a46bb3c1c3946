// Tests what the reports of replicas say of how fast their workers compute.
#include "runtime/cluster/balance/measured_speeds.h"

#include <gtest/gtest.h>

#include "runtime/cluster/balance/work_board.h"

namespace shoal::measured_speeds_test {
namespace {

constexpr ProcessIncarnation kOne{1}, kTwo{2}, kThree{3};

MeasuredWork work_of(std::uint32_t microbatches, double computed_ms) { return {{}, computed_ms, microbatches}; }

TEST(MeasuredSpeeds, IsTheWorkDividedByTheTimeOfComputing) {
  MeasuredSpeeds speeds;
  speeds.hear(kOne, 2, work_of(10, 500));
  EXPECT_DOUBLE_EQ(speeds.of(kOne), 40);
  speeds.hear(kTwo, 2, work_of(1, 50));
  EXPECT_DOUBLE_EQ(speeds.of(kTwo), 40) << "who has little work is not slow";
}

TEST(MeasuredSpeeds, WhoIsNotMeasuredIsAsFastAsTheOthers) {
  MeasuredSpeeds speeds;
  EXPECT_DOUBLE_EQ(speeds.of(kThree), 1);
  speeds.hear(kOne, 1, work_of(10, 1000));
  speeds.hear(kTwo, 1, work_of(30, 1000));
  EXPECT_DOUBLE_EQ(speeds.of(kThree), 20);
  speeds.forget(kTwo);
  EXPECT_DOUBLE_EQ(speeds.of(kThree), 10);
}

TEST(MeasuredSpeeds, FollowsAChangeAndNotOneNoisyStep) {
  MeasuredSpeeds speeds;
  speeds.hear(kOne, 1, work_of(10, 1000));
  speeds.hear(kOne, 1, work_of(1, 10));
  EXPECT_LT(speeds.of(kOne), 25);
  for (int step = 0; step < 20; ++step) speeds.hear(kOne, 1, work_of(10, 100));
  EXPECT_NEAR(speeds.of(kOne), 100, 1);
}

TEST(WorkBoard, AddsUpTheTrailsOfTrainingUntilTheyAreTaken) {
  WorkBoard board;
  Backward answer;
  answer.trail = {{Incarnation{7}, 1, 30, 2}, {Incarnation{8}, 1, 10, 2}};
  board.add(answer);
  board.add(answer);
  answer.purpose = Purpose::kEvaluate;
  board.add(answer);
  const auto work = board.take();
  ASSERT_EQ(work.size(), 2U);
  EXPECT_EQ(work[0].replica, Incarnation{7});
  EXPECT_DOUBLE_EQ(work[0].computed_ms, 60);
  EXPECT_EQ(work[0].microbatches, 2U);
  EXPECT_TRUE(board.take().empty());
}

TEST(MeasuredSpeeds, NoWorkSaysNothing) {
  MeasuredSpeeds speeds;
  speeds.hear(kOne, 1, work_of(10, 1000));
  speeds.hear(kOne, 1, work_of(0, 0));
  speeds.hear(kOne, 1, work_of(5, 0));
  EXPECT_DOUBLE_EQ(speeds.of(kOne), 10);
}

}  // namespace
}  // namespace shoal::measured_speeds_test
