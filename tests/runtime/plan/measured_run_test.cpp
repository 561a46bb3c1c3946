// Tests which lines of a metrics.jsonl count, and how.
#include "runtime/plan/measured_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tests/support/each_line.h"

namespace shoal::measured_run_test {
namespace {

std::string line(double step_ms, double forward_ms, double backward_ms, double reduce_ms) {
  return R"({"step":1,"step_ms":)" + std::to_string(step_ms) + R"(,"time":{"forward":)" + std::to_string(forward_ms) +
         R"(,"backward":)" + std::to_string(backward_ms) + R"(,"reduce":)" + std::to_string(reduce_ms) + "}}\n";
}

Result<MeasuredStep> measured_step(std::string_view lines) {
  StepTimesReader reader;
  give_each_line(lines, [&reader](std::string_view line) { reader.add(line); });
  return reader.measured();
}

TEST(MeasuredRun, TakesMediansAndLeavesTheReductionOut) {
  std::string lines = line(9000, 1, 1, 0);  // the first tenth
  for (int i = 0; i < 8; ++i) lines += line(50, 10, 30, 5);
  lines += line(7000, 10, 30, 5);
  const auto step = measured_step(lines);
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(step->steps, 9U);
  EXPECT_DOUBLE_EQ(step->step_s, 0.045);
  EXPECT_DOUBLE_EQ(step->reduce_s, 0.005);
  EXPECT_DOUBLE_EQ(step->forward_share, 0.25);
}

TEST(MeasuredRun, SkipsWhatIsNoStep) {
  const auto step = measured_step("{\"event\":\"eval\",\"step\":1}\nbroken{\n\n[1]\n" + line(50, 10, 30, 5) +
                                  R"({"step":2,"step_ms":null,"time":{}})"
                                  "\n" +
                                  R"({"step":3,"step_ms":50,"time":{"forward":null,"backward":null,"reduce":null}})");
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(step->steps, 1U);
}

// Times of a run of one process.
TEST(MeasuredRun, TakesBothPassesFromABackwardThatHoldsThem) {
  std::string lines;
  for (int i = 0; i < 4; ++i) lines += line(13, 0, 12, 0.5);
  const auto step = measured_step(lines);
  ASSERT_TRUE(step.ok()) << step.failure().message;
  EXPECT_DOUBLE_EQ(step->compute_s, 0.012);
  EXPECT_DOUBLE_EQ(step->step_s, 0.0125);
  EXPECT_DOUBLE_EQ(step->forward_share, 1.0 / 3);
}

TEST(MeasuredRun, RefusesARunWithoutTimes) {
  EXPECT_EQ(measured_step("").failure().error, Error::kInvalidData);
  EXPECT_EQ(measured_step("{\"event\":\"finished\"}\n").failure().error, Error::kInvalidData);
  EXPECT_FALSE(measured_step(line(50, 10, 0, 5)).ok());
  EXPECT_FALSE(measured_step(line(50, 10, 30, 50)).ok());
}

}  // namespace
}  // namespace shoal::measured_run_test
