// metrics.jsonl holds whole lines only, whatever was killed or refused.
#include "runtime/trace/metrics/metrics_file.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>

#include "runtime/base/file.h"
#include "runtime/trace/metrics/step_record.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::metrics_file_test {
namespace {

StepRecord record_of(std::uint32_t branch, std::uint64_t step) {
  StepRecord record;
  record.branch = branch;
  record.step = step;
  return record;
}

TEST(MetricsFile, AppendsLinesAndKnowsTheLastStep) {
  const Scratch scratch;
  const std::string path = (scratch.path() / "metrics.jsonl").string();
  {
    auto file = MetricsFile::open(path);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file->written().step, std::nullopt);
    ASSERT_TRUE(file->append(to_json_line(record_of(1, 41))).ok());
    ASSERT_TRUE(file->append(to_json_line(EvalRecord{42, 1, 1})).ok());
  }
  const auto file = MetricsFile::open(path);
  EXPECT_EQ(file->written().step, (WrittenStep{Branch{1}, StepId{41}}));
  EXPECT_EQ(file->written().evaluation, (WrittenEvaluation{Branch{1}, 42, 1, false, 0}));
}

TEST(MetricsFile, AnEvaluationBelongsToTheBranchOfTheStepBeforeIt) {
  const Scratch scratch;
  const std::string before =
      to_json_line(record_of(0, 9)) + "\n" + to_json_line(EvalRecord{10, 1, 1, false, true, 7}) + "\n";
  EXPECT_EQ(MetricsFile::open(scratch.file("a", before).string())->written().evaluation,
            (WrittenEvaluation{Branch{0}, 10, 1, true, 7}));
  const std::string after = before + to_json_line(record_of(1, 9)) + "\n";
  EXPECT_EQ(MetricsFile::open(scratch.file("b", after).string())->written().evaluation, std::nullopt);
}

TEST(MetricsFile, KnowsUpToWhereViewsAreWritten) {
  const Scratch scratch;
  StepRecord step = record_of(0, 9);
  step.view = 20;
  const std::string text = to_json_line(ViewRecord{15, "appointed", 9}) + "\n" + to_json_line(step) + "\n";
  EXPECT_EQ(MetricsFile::open(scratch.file("a", text).string())->written().view, JournalPosition{20});
  const std::string more = text + to_json_line(ViewRecord{22, "removed", 10}) + "\n";
  EXPECT_EQ(MetricsFile::open(scratch.file("b", more).string())->written().view, JournalPosition{22});
  const std::string young = to_json_line(ViewRecord{3, "added", 0}) + "\n";
  EXPECT_EQ(MetricsFile::open(scratch.file("c", young).string())->written().view, JournalPosition{3});
}

// A step's line waits for reports, while those of the rounds after it are written.
TEST(MetricsFile, KnowsOfTheRoundsWhoseLinesStandBeforeTheLastSteps) {
  const Scratch scratch;
  const auto step = [](std::uint64_t number, std::uint64_t view) {
    StepRecord record = record_of(0, number);
    record.view = view;
    return to_json_line(record) + "\n";
  };
  const auto round = [](std::uint64_t position) {
    return to_json_line(ViewRecord{position, "stage 0 fragment 0", 9, RunEventKind::kRound, "a mean"}) + "\n";
  };
  const std::string event =
      to_json_line(RunEvent{RunEventKind::kSuspected, "node1", std::string(1000, 'x'), 10}) + "\n";
  std::string text = step(6, 12) + round(22) + step(7, 18) + step(8, 20);
  const auto written = [&] { return MetricsFile::open(scratch.file("a", text).string())->written(); };
  EXPECT_EQ(written().view, JournalPosition{22});
  EXPECT_EQ(written().step, (WrittenStep{Branch{0}, StepId{8}}));
  for (int line = 0; line < 3000; ++line) text += event;
  EXPECT_EQ(written().view, JournalPosition{22}) << "behind megabytes of events";
  text += step(9, 24);
  EXPECT_EQ(written().view, JournalPosition{24}) << "what came before it is there";
}

TEST(MetricsFile, KnowsWhetherItsLastLineEndsTheRun) {
  const Scratch scratch;
  const std::string end = to_json_line(record_of(0, 9)) + "\n" + to_json_line(FinalRecord{}) + "\n";
  EXPECT_TRUE(MetricsFile::open(scratch.file("a", end).string())->written().is_final);
  const std::string more = end + to_json_line(RunEvent{RunEventKind::kResumed, "run", "", 10}) + "\n";
  EXPECT_FALSE(MetricsFile::open(scratch.file("b", more).string())->written().is_final);
}

TEST(MetricsFile, SaysHowTheRunEndedAndNothingWhileItGoesOn) {
  const Scratch scratch;
  const std::string step = to_json_line(record_of(0, 9)) + "\n";
  FinalRecord stopped;
  stopped.kind = RunEventKind::kStopped;
  const std::string end = to_json_line(stopped) + "\n";
  const std::string failure = to_json_line(RunEvent{RunEventKind::kFailed, "run", "the disk is full", 10}) + "\n";
  const auto told = [&](const std::string& text) { return end_told_by(scratch.file("a", text).string()); };
  EXPECT_EQ(told(step + end), RunEventKind::kStopped);
  EXPECT_EQ(told(step + failure), RunEventKind::kFailed);
  EXPECT_EQ(told(step + failure + end.substr(0, 20)), RunEventKind::kFailed) << "a torn line is none";
  EXPECT_EQ(told(std::string(2'000'000, '\n') + end), RunEventKind::kStopped);
  EXPECT_EQ(told(step), std::nullopt);
  EXPECT_EQ(told(step + failure + to_json_line(RunEvent{RunEventKind::kResumed, "run", "", 10}) + "\n"), std::nullopt);
  EXPECT_EQ(told(step + to_json_line(RunEvent{RunEventKind::kCheckpointFailed, "step_9", "full", 10}) + "\n"),
            std::nullopt);
  EXPECT_EQ(told(""), std::nullopt);
  EXPECT_EQ(end_told_by("/nowhere/at/all"), std::nullopt);
}

TEST(MetricsFile, TellsWhereTheCommitOfAStepStood) {
  const Scratch scratch;
  const auto line = [](std::uint32_t branch, std::uint64_t step, std::uint64_t view) {
    StepRecord record = record_of(branch, step);
    record.view = view;
    return to_json_line(record) + "\n";
  };
  const std::string event = to_json_line(RunEvent{RunEventKind::kSuspected, "node1", std::string(1000, 'x'), 4}) + "\n";
  std::string text = line(0, 3, 17) + line(0, 4, 18);
  for (int i = 0; i < 3000; ++i) text += event;
  text += line(1, 2, 40) + line(1, 3, 0);
  const std::string path = scratch.file("a", text + line(1, 4, 50).substr(0, 30)).string();
  const auto told = [&](std::uint32_t branch, std::uint64_t step) {
    const auto position = commit_told_by(path, {Branch{branch}, StepId{step}});
    return position ? std::optional(position->value) : std::nullopt;
  };
  EXPECT_EQ(told(0, 3), 17U) << "behind megabytes of events";
  EXPECT_EQ(told(1, 2), 40U);
  EXPECT_EQ(told(1, 3), 0U) << "one process trained it";
  EXPECT_EQ(told(1, 4), std::nullopt) << "a torn line is none";
  EXPECT_EQ(told(0, 9), std::nullopt);
  EXPECT_EQ(told(0, 1), std::nullopt);
  EXPECT_EQ(commit_told_by("/nowhere/at/all", {}), std::nullopt);
  EXPECT_EQ(newest_step_told_by(path), (WrittenStep{Branch{1}, StepId{3}}));
  EXPECT_EQ(newest_step_told_by("/nowhere/at/all"), std::nullopt);
}

// One process may save the state that it began with, on a branch that has no step's line.
TEST(MetricsFile, TellsWhereAStartWithoutStepsWentOnFrom) {
  const Scratch scratch;
  const std::string step = to_json_line(record_of(0, 20)) + "\n";
  const auto event = [](RunEventKind kind, std::uint64_t at) {
    return to_json_line(RunEvent{kind, "run", "a reason", at}) + "\n";
  };
  const auto told = [&](const std::string& text) { return start_without_steps(scratch.file("a", text).string()); };
  const std::string back = event(RunEventKind::kRolledBack, 15);
  EXPECT_EQ(told(step + back + event(RunEventKind::kCheckpoint, 18)), 15U);
  EXPECT_EQ(told(step + back + event(RunEventKind::kResumed, 10)), 10U) << "the newest";
  EXPECT_EQ(told(back + step + event(RunEventKind::kCheckpoint, 21)), std::nullopt);
  EXPECT_EQ(told(""), std::nullopt);
  EXPECT_EQ(start_without_steps("/nowhere/at/all"), std::nullopt);
}

TEST(MetricsFile, TellsTheNewestEntryAndTheNewestCheckpoint) {
  const Scratch scratch;
  const auto event = [](RunEventKind kind, std::uint64_t step) {
    return to_json_line(RunEvent{kind, "step_" + std::to_string(step), "a reason", step}) + "\n";
  };
  StepRecord record = record_of(0, 20);
  record.view = 9;
  std::string text =
      to_json_line(record) + "\n" + event(RunEventKind::kCheckpoint, 10) + event(RunEventKind::kCheckpoint, 20);
  text += R"({"event":"view","subject":"entry 31","reason":"journal","step":20,"position":31})";
  text += "\n" + event(RunEventKind::kCheckpointFailed, 30);
  for (int i = 0; i < 30000; ++i) text += event(RunEventKind::kSuspected, 30);
  const std::string path = scratch.file("a", text).string();
  EXPECT_EQ(checkpoint_told_by(path, 100), 20U);
  EXPECT_EQ(checkpoint_told_by(path, 19), 10U);
  EXPECT_EQ(checkpoint_told_by(path, 9), std::nullopt);
  EXPECT_EQ(newest_entry_told_by(path).value, 31U);
  EXPECT_EQ(checkpoint_told_by("/nowhere/at/all", 9), std::nullopt);
  EXPECT_EQ(newest_entry_told_by("/nowhere/at/all").value, 0U);
}

TEST(MetricsFile, FindsTheLastStepBehindMegabytesOfEvents) {
  const Scratch scratch;
  std::string text = to_json_line(record_of(0, 9)) + "\n";
  const std::string event =
      to_json_line(RunEvent{RunEventKind::kSuspected, "node1", std::string(1000, 'x'), 10}) + "\n";
  for (int line = 0; line < 3000; ++line) text += event;
  EXPECT_EQ(MetricsFile::open(scratch.file("a", text).string())->written().step, (WrittenStep{Branch{0}, StepId{9}}));
}

TEST(MetricsFile, CutsOffWhatAKilledWriterLeft) {
  const Scratch scratch;
  const std::string whole = to_json_line(record_of(0, 3)) + "\n";
  const std::string path = scratch.file("metrics.jsonl", whole + to_json_line(record_of(0, 4)).substr(0, 30)).string();
  auto file = MetricsFile::open(path);
  EXPECT_EQ(file->written().step, (WrittenStep{Branch{0}, StepId{3}}));
  ASSERT_TRUE(file->append("{}").ok());
  EXPECT_EQ(read_file(path).value(), whole + "{}\n");
}

TEST(MetricsFile, LooksForTheLastStepBehindOtherLinesAndThroughDamage) {
  const Scratch scratch;
  const std::string path =
      scratch.file("metrics.jsonl", to_json_line(record_of(2, 7)) + "\n\nno json\n{\"loss\":1}\n[]\n").string();
  EXPECT_EQ(MetricsFile::open(path)->written().step, (WrittenStep{Branch{2}, StepId{7}}));
  EXPECT_EQ(MetricsFile::open(scratch.file("other", "torn").string())->written().step, std::nullopt);
}

TEST(MetricsFile, ALineThatTheDiskRefusesLeavesNoPart) {
  const Scratch scratch;
  const std::string path = (scratch.path() / "metrics.jsonl").string();
  auto file = MetricsFile::open(path);
  ASSERT_TRUE(file->append("first").ok());
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{20, before.rlim_max};
  const auto on_excess = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto refused = file->append(std::string(100, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  (void)std::signal(SIGXFSZ, on_excess);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(read_file(path).value(), "first\n");
  ASSERT_TRUE(file->append("second").ok());
  EXPECT_EQ(read_file(path).value(), "first\nsecond\n");
  EXPECT_FALSE(MetricsFile::open("/nowhere/at/all").ok());
}

TEST(MetricsFile, LeavesTheJournalItsSpace) {
  const Scratch scratch;
  if (::mount("shoal", scratch.path().c_str(), "tmpfs", 0, "size=512k") != 0) GTEST_SKIP() << "cannot mount a tmpfs";
  const auto lines_taken = [&](const std::string& name, std::uint64_t left) {
    auto file = MetricsFile::open((scratch.path() / name).string(), left);
    const std::string line(10'000, 'x');
    int lines = 0;
    while (lines < 100 && file->append(line).ok()) ++lines;
    return lines;
  };
  const int lines = lines_taken("metrics.jsonl", kLeftForTheJournal);
  EXPECT_GT(lines, 20);
  EXPECT_LT(lines, 30) << "some 25 are half of it";
  EXPECT_GT(lines_taken("others.jsonl", 0), 20) << "the control: the other half, where there is no journal";
  ::umount(scratch.path().c_str());
}

}  // namespace
}  // namespace shoal::metrics_file_test
