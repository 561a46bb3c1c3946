// Tests what is read out of the lines of metrics.jsonl.
#include "runtime/trace/metrics/line_facts.h"

#include <gtest/gtest.h>

#include "runtime/trace/metrics/step_record.h"

namespace shoal::line_facts_test {
namespace {

constexpr WallTime kAt{std::chrono::milliseconds(1'764'000'000'345)};

StepRecord some_step() {
  StepRecord record;
  record.branch = 1;
  record.step = 7;
  record.tokens = 100;
  record.retried = 2;
  record.step_ms = 250.5;
  record.view = 12;
  record.time.emplace().wait = 40;
  record.bytes = ByteCounts{1, 2, 3, 4, 5, 6};
  return record;
}

StepFacts facts_of_step(const StepRecord& record) {
  return std::get<StepFacts>(facts_of(with_time(to_json_line(record), kAt)));
}

TEST(LineFacts, OfAStepAreThoseOfItsRecord) {
  const StepFacts facts = facts_of_step(some_step());
  EXPECT_EQ(facts.step, 7U);
  EXPECT_EQ(facts.tokens, 100U);
  EXPECT_EQ(facts.retried, 2U);
  EXPECT_DOUBLE_EQ(facts.step_ms, 250.5);
  EXPECT_DOUBLE_EQ(facts.wait_ms, 40);
  EXPECT_FALSE(facts.is_of_one_process);
  EXPECT_EQ(facts.bytes, (LineBytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(facts.at, kAt);
  EXPECT_FALSE(facts.is_filled);
  StepRecord filled = some_step();
  filled.is_filled = true;
  EXPECT_TRUE(facts_of_step(filled).is_filled);
  EXPECT_FALSE(facts_of_step(filled).is_partly_timed);
  filled.is_partly_timed = true;
  EXPECT_TRUE(facts_of_step(filled).is_partly_timed);
}

TEST(LineFacts, OfAnOlderVersionsStepHaveItsShardsAmongTheState) {
  std::string line = to_json_line(some_step());
  for (const std::string& later : {std::string("\"checkpoint\":6,"), std::string(",\"filled\":false")}) {
    ASSERT_NE(line.find(later), std::string::npos);
    line.erase(line.find(later), later.size());
  }
  const auto facts = std::get<StepFacts>(facts_of(line));
  EXPECT_EQ(facts.bytes, (LineBytes{1, 2, 3, 4, 5, 0}));
  EXPECT_FALSE(facts.is_filled);
}

TEST(LineFacts, OfACheckpointAreItsBytesAndSecondsWhereItSaysThem) {
  const auto facts_of_checkpoint = [](const std::string& reason) {
    const std::string line = to_json_line(RunEvent{RunEventKind::kCheckpoint, "step_3", reason, 3});
    return std::get<EventFacts>(facts_of(line));
  };
  const EventFacts facts = facts_of_checkpoint("1024 bytes in 0.5 s");
  EXPECT_EQ(facts.saved_bytes, 1024U);
  EXPECT_DOUBLE_EQ(facts.saved_s, 0.5);
  EXPECT_EQ(facts_of_checkpoint("saved").saved_bytes, 0U);
  EXPECT_EQ(facts_of_checkpoint("some bytes in a while").saved_s, 0);
}

TEST(LineFacts, OfARollBackAreTheBranchThatBeginsWithIt) {
  const auto branch_in = [](RunEventKind kind, const std::string& reason) {
    return std::get<EventFacts>(facts_of(with_time(to_json_line(RunEvent{kind, "run", reason, 3}), kAt))).branch;
  };
  EXPECT_EQ(branch_in(RunEventKind::kRolledBack, "\"x\", as branch 9: from step 3 of 5 committed, as branch 12"), 12U);
  EXPECT_EQ(branch_in(RunEventKind::kRolledBack, "a reason"), std::nullopt);
  EXPECT_EQ(branch_in(RunEventKind::kRolledBack, "as told, as branch "), std::nullopt);
  EXPECT_EQ(branch_in(RunEventKind::kResumed, "from step 3, as branch 12"), std::nullopt) << "is no roll-back";
}

TEST(LineFacts, OfLinesThatWereLostAreTheirNumber) {
  const auto lost_in = [](RunEventKind kind, const std::string& reason) {
    return std::get<EventFacts>(facts_of(to_json_line(RunEvent{kind, "metrics.jsonl", reason, 3}))).lost_lines;
  };
  EXPECT_EQ(lost_in(RunEventKind::kLinesLost, "31 lines before this one: no space"), 31U);
  EXPECT_EQ(lost_in(RunEventKind::kLinesLost, "some lines"), 0U);
  EXPECT_EQ(lost_in(RunEventKind::kProcessLost, "31 lines"), 0U);
}

TEST(LineFacts, OfAStepThatNobodyMeasuredHaveNoNumberOfIt) {
  StepRecord record = some_step();
  record.bytes.reset();
  record.time.reset();
  record.view = 0;
  const StepFacts facts = facts_of_step(record);
  EXPECT_EQ(facts.bytes, std::nullopt);
  EXPECT_EQ(facts.wait_ms, 0);
  EXPECT_TRUE(facts.is_of_one_process);
  EXPECT_EQ(std::get<StepFacts>(facts_of(to_json_line(record))).at, std::nullopt) << "an older version's line";
}

TEST(LineFacts, OfAnEventAreItsWordSubjectAndTime) {
  const std::string line =
      with_time(to_json_line(RunEvent{RunEventKind::kProcessLost, "node2", "a \"reason\"", 3}), kAt);
  const auto event = std::get<EventFacts>(facts_of(line));
  EXPECT_EQ(event.kind, RunEventKind::kProcessLost);
  EXPECT_EQ(event.subject, "node2");
  EXPECT_EQ(event.at, kAt);
  EvalRecord evaluation;
  evaluation.eval_ms = 12.5;
  EXPECT_DOUBLE_EQ(std::get<EventFacts>(facts_of(to_json_line(evaluation))).eval_ms, 12.5);
}

TEST(LineFacts, OfATornOrForeignLineAreNone) {
  const std::string step = to_json_line(some_step());
  for (std::size_t cut = 0; cut < step.size(); ++cut) {
    ASSERT_TRUE(std::holds_alternative<std::monostate>(facts_of(step.substr(0, cut)))) << step.substr(0, cut);
  }
  EXPECT_TRUE(std::holds_alternative<std::monostate>(facts_of("not JSON")));
}

}  // namespace
}  // namespace shoal::line_facts_test
