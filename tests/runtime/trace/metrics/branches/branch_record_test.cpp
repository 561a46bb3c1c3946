// The line of a branch, and what is found of it.
#include "runtime/trace/metrics/branches/branch_record.h"

#include <gtest/gtest.h>

#include "runtime/trace/metrics/metrics_file.h"
#include "runtime/trace/metrics/step_record.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::branch_record_test {
namespace {

BranchRecord record(const std::string& name, std::uint32_t branch, std::uint64_t step) {
  return {name, Branch{branch}, step, {{"optim.lr", "0.001", "0.0005"}, {"data.corpus", "\"a\"", "\"b\""}}, "5ha"};
}

std::string line(const BranchRecord& told) { return to_json_line(told) + "\n"; }

std::string step_line(std::uint32_t branch, std::uint64_t step) {
  StepRecord told;
  told.branch = branch;
  told.step = step;
  return to_json_line(told) + "\n";
}

std::string checkpoint_line(std::uint64_t step) {
  return to_json_line(RunEvent{RunEventKind::kCheckpoint, "step", "saved", step}) + "\n";
}

TEST(BranchRecord, SaysWhatIsSetOtherwise) {
  EXPECT_EQ(text_of(record("b", 1, 10).changes), "optim.lr = 0.0005 (was 0.001), data.corpus = \"b\" (was \"a\")");
  EXPECT_EQ(text_of(std::vector<KeyChange>{}), "nothing is set otherwise");
  EXPECT_TRUE(line(record("b", 1, 10))
                  .starts_with("{\"event\":\"branch\",\"subject\":\"b\",\"reason\":\"from step 10, "
                               "as branch 1: optim.lr = 0.0005 (was 0.001)"));
}

TEST(BranchRecord, IsReadAsItWasWritten) {
  const Scratch scratch;
  const std::string text = step_line(0, 9) + line(record("a", 1, 10)) + step_line(1, 10) + line(record("b", 3, 8));
  const std::string path = scratch.file("m", text + "{\"event\":\"branch\",\"subject\":1}\n").string();
  EXPECT_EQ(branches_told_by(path), (std::vector<BranchRecord>{record("b", 3, 8), record("a", 1, 10)}));
  EXPECT_EQ(branch_without_steps(path), record("b", 3, 8));
  EXPECT_TRUE(branches_told_by("/nowhere/at/all").empty());
  EXPECT_EQ(branch_without_steps("/nowhere/at/all"), std::nullopt);
}

TEST(BranchRecord, OfABranchThatHasStepsIsNotLookedFor) {
  const Scratch scratch;
  const std::string path = scratch.file("m", line(record("a", 1, 10)) + step_line(1, 10)).string();
  EXPECT_EQ(branch_without_steps(path), std::nullopt);
  EXPECT_EQ(branches_told_by(path).size(), 1U);
}

TEST(BranchRecord, CheckpointsThatABranchLeftBehindAreNotItsOwn) {
  const Scratch scratch;
  const std::string old = checkpoint_line(10) + checkpoint_line(20) + checkpoint_line(30);
  const std::string begun = scratch.file("a", old + line(record("a", 1, 20))).string();
  EXPECT_EQ(checkpoint_told_by(begun, 100), 20U);
  EXPECT_EQ(checkpoint_told_by(begun, 15), 10U);
  EXPECT_EQ(checkpoint_told_by(scratch.file("b", old).string(), 100), 30U) << "the control";
  const std::string gone_on = scratch.file("c", old + line(record("a", 1, 20)) + checkpoint_line(25)).string();
  EXPECT_EQ(checkpoint_told_by(gone_on, 100), 25U);
  EXPECT_EQ(checkpoint_told_by(scratch.file("d", old + line(record("a", 1, 0))).string(), 100), std::nullopt);
}

}  // namespace
}  // namespace shoal::branch_record_test
