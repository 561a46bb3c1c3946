// The metrics actor as a shell: each record is a line on disk and is shown; a disk that refuses stops nothing.
#include "actors/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "runtime/base/file.h"
#include "tests/actors/lone_actor.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::metrics_test {
namespace {

class MetricsTest : public testing::Test {
 protected:
  MetricsActor start(const std::string& path) {
    MetricsSettings settings;
    settings.path = path;
    settings.show = [shown = shown_](const MetricsOutput& output) { shown->push_back(output); };
    settings.router = lone_.router();
    const MetricsActor actor = lone_.spawn(metrics, std::move(settings));
    give(actor, 1, AddReplica{StageId{0}, ReplicaId{}, Incarnation{1}, ProcessIncarnation{1}, 0});
    return actor;
  }
  void give(const MetricsActor& actor, std::uint64_t position, JournalBody body) {
    lone_.give(actor, JournalEntry{JournalPosition{position}, {}, Term{1}, std::move(body)});
  }
  void train(const MetricsActor& actor, std::uint64_t step) {
    Commit commit;
    commit.step = StepId{step};
    commit.token_count = 10;
    commit.step_ms = 250;
    give(actor, step + 2, commit);
    ReplicaReport report;
    report.step = StepId{step};
    report.replica = Incarnation{1};
    lone_.give(actor, report);
  }
  [[nodiscard]] long lines(const std::string& path) const {
    const std::string text = read_file(path).value();
    return std::count(text.begin(), text.end(), '\n');
  }

  Scratch scratch_;
  LoneActor lone_;
  std::shared_ptr<std::vector<MetricsOutput>> shown_ = std::make_shared<std::vector<MetricsOutput>>();
};

TEST_F(MetricsTest, EachRecordIsALineAndShown) {
  const std::string path = (scratch_.path() / "metrics.jsonl").string();
  const MetricsActor actor = start(path);
  train(actor, 0);
  lone_.give(actor, RunEvent{RunEventKind::kProcessLost, "node2", "killed", 1});
  ASSERT_EQ(shown_->size(), 3U);
  EXPECT_EQ(std::get<StepRecord>((*shown_)[1]).tokens, 10U);
  EXPECT_EQ(lines(path), 3);
}

TEST_F(MetricsTest, ARestartRepeatsNothing) {
  const std::string path = (scratch_.path() / "metrics.jsonl").string();
  const MetricsActor first = start(path);
  train(first, 0);
  train(first, 1);
  lone_.end(first);
  const MetricsActor second = start(path);
  train(second, 0);
  train(second, 1);
  EXPECT_EQ(lines(path), 3);
  train(second, 2);
  EXPECT_EQ(lines(path), 4);
}

TEST_F(MetricsTest, WhoComesAfterARestartKnowsTheGoodputOfAllOfTheRun) {
  const std::string path = (scratch_.path() / "metrics.jsonl").string();
  const MetricsActor first = start(path);
  for (const std::uint64_t step : {0U, 1U, 2U}) train(first, step);
  lone_.end(first);
  const MetricsActor second = start(path);
  for (const std::uint64_t step : {0U, 1U, 2U}) train(second, step);
  lone_.give(second, RunEvent{RunEventKind::kStopped, "hash", "signal", 3});
  EXPECT_NEAR(std::get<FinalRecord>(shown_->back()).goodput.value(), 1, 1e-9);
  EXPECT_NE(read_file(path).value().find("\"goodput\":1"), std::string::npos);
  const auto& summary = std::get<SummaryRecord>((*shown_)[shown_->size() - 2]);
  EXPECT_EQ(summary.run.steps, 3U);
  EXPECT_EQ(summary.run.tokens, 30U);
}

TEST_F(MetricsTest, AFailureHasASummaryBeforeIt) {
  const std::string path = (scratch_.path() / "metrics.jsonl").string();
  const MetricsActor actor = start(path);
  train(actor, 0);
  lone_.give(actor, RunEvent{RunEventKind::kFailed, "run", "a reason", 1});
  EXPECT_EQ(std::get<SummaryRecord>((*shown_)[shown_->size() - 2]).steps, 1U);
  EXPECT_EQ(std::get<RunEvent>(shown_->back()).kind, RunEventKind::kFailed);
}

TEST_F(MetricsTest, ADiskThatRefusesStopsNothing) {
  const MetricsActor actor = start("/nowhere/at/all/metrics.jsonl");
  train(actor, 0);
  EXPECT_EQ(shown_->size(), 2U);
}

TEST_F(MetricsTest, WhatADiskRefusedIsThereWhenItIsWritten) {
  const auto folder = scratch_.path() / "later";
  const std::string path = (folder / "metrics.jsonl").string();
  const MetricsActor actor = start(path);
  train(actor, 0);
  std::filesystem::create_directory(folder);
  train(actor, 1);
  EXPECT_EQ(lines(path), 3);
}

}  // namespace
}  // namespace shoal::metrics_test
