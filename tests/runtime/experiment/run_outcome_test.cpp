// Tests which part of a metrics.jsonl is a run's outcome.
#include "runtime/experiment/run_outcome.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

#include "tests/support/each_line.h"

namespace shoal::run_outcome_test {
namespace {

std::string evaluation(std::uint64_t step, double loss) {
  return R"({"event":"eval","step":)" + std::to_string(step) + R"(,"val_loss":)" + std::to_string(loss) +
         R"(,"perplexity":1,"bits_per_byte":)" + std::to_string(loss / 2) + "}\n";
}

std::string step(std::uint64_t tokens_total) {
  return R"({"branch":0,"step":0,"loss":3,"tokens_total":)" + std::to_string(tokens_total) + "}\n";
}

std::string round(int stage, int number) {
  return R"({"event":"round","subject":"stage )" + std::to_string(stage) + " fragment 0 round " +
         std::to_string(number) + R"(","reason":"","step":5})" + "\n";
}

RunOutcome outcome_of(std::string_view lines) {
  OutcomeReader reader;
  give_each_line(lines, [&reader](std::string_view line) { reader.add(line); });
  return reader.outcome();
}

const std::string kFinished = R"({"event":"finished","steps":20,"tokens_total":80,"goodput":1})"
                              "\n";

TEST(RunOutcome, IsTheLastEvaluationOfAFinishedRun) {
  const RunOutcome outcome = outcome_of(step(40) + round(0, 1) + round(1, 1) + evaluation(10, 3.5) + step(80) +
                                        evaluation(20, 2.5) + kFinished);
  ASSERT_EQ(outcome.evaluations.size(), 2U);
  EXPECT_EQ(outcome.evaluations.back().step, 20U);
  EXPECT_DOUBLE_EQ(outcome.evaluations.back().loss, 2.5);
  EXPECT_DOUBLE_EQ(outcome.evaluations.back().bits_per_byte, 1.25);
  EXPECT_EQ(outcome.finished_step, 20U);
  EXPECT_EQ(outcome.tokens, 80U);
  EXPECT_EQ(outcome.rounds, 1U);
}

TEST(RunOutcome, IsNotFinishedWhenTheRunWentOn) {
  EXPECT_FALSE(outcome_of(kFinished + step(100)).finished_step);
  EXPECT_FALSE(outcome_of(step(80) + evaluation(20, 2.5)).finished_step);
  EXPECT_FALSE(outcome_of(R"({"event":"stopped","steps":20,"tokens_total":80})").finished_step);
  EXPECT_TRUE(outcome_of(step(80) + kFinished).finished_step);  // the control
}

// The final evaluation is on other text than those before it: a curve through both would bend at its end.
TEST(RunOutcome, TellsTheFinalEvaluationFromThePeriodicOnes) {
  const std::string final_at_20 = R"({"event":"eval","step":20,"final":true,"windows":99,"val_loss":2.5})"
                                  "\n";
  const std::string periodic_at_20 = R"({"event":"eval","step":20,"final":false,"windows":9,"val_loss":2.25})"
                                     "\n";
  const auto kinds = [](const std::string& lines) {
    std::vector<bool> found;
    for (const RunEvaluation& known : outcome_of(lines).evaluations) found.push_back(known.is_final);
    return found;
  };
  EXPECT_EQ(kinds(evaluation(10, 3) + final_at_20 + kFinished), (std::vector{false, true}));
  EXPECT_EQ(kinds(evaluation(10, 3) + evaluation(20, 2) + kFinished), (std::vector{false, true})) << "it did not say";
  EXPECT_EQ(kinds(evaluation(10, 3) + evaluation(20, 2)), (std::vector{false, false}));
  EXPECT_EQ(kinds(final_at_20 + kFinished + periodic_at_20), (std::vector{true, false})) << "a run that was lengthened";
}

TEST(RunOutcome, CountsWhatAResumedRunDidTwiceOnce) {
  const RunOutcome outcome = outcome_of(round(0, 1) + evaluation(10, 3.5) + round(0, 2) + evaluation(20, 9) +
                                        round(0, 2) + round(0, 3) + evaluation(15, 3) + kFinished);
  EXPECT_EQ(outcome.rounds, 3U);
  ASSERT_EQ(outcome.evaluations.size(), 2U);  // the one at 20 is of steps that were left
  EXPECT_EQ(outcome.evaluations.back().step, 15U);
}

// Cut anywhere, a file says the same of its whole lines.
TEST(RunOutcome, ReadsABrokenFileAsFarAsItGot) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200; ++i) {
    std::string text;
    for (std::uint64_t at = 1; at <= 1 + random() % 6; ++at) {
      text += random() % 3 == 0 ? "{\"event\":7}\n[]\nnull\n" : "";
      text += evaluation(at, 1.0 / static_cast<double>(1 + random() % 9)) + round(0, static_cast<int>(at));
    }
    text += kFinished;
    const std::size_t cut = random() % (text.size() - 1);  // never the last line's whole
    const std::size_t lines_end = cut == 0 ? 0 : text.rfind('\n', cut - 1) + 1;
    if (text[cut] == '\n') continue;  // a whole line, which lacks nothing but its end
    const RunOutcome of_cut = outcome_of(text.substr(0, cut));
    const RunOutcome of_lines = outcome_of(text.substr(0, lines_end));
    EXPECT_EQ(of_cut.rounds, of_lines.rounds);
    EXPECT_EQ(of_cut.evaluations.size(), of_lines.evaluations.size());
    EXPECT_FALSE(of_cut.finished_step);
    EXPECT_TRUE(outcome_of(text).finished_step);
  }
}

}  // namespace
}  // namespace shoal::run_outcome_test
