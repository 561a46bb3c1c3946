// Tests what becomes of commits and reports: one record per step, in order, whatever dies.
#include "runtime/trace/metrics/metrics_core.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/trace/metrics/metrics_file.h"
#include "tests/runtime/data/scratch.h"
#include "tests/support/manual_clock.h"

namespace shoal::metrics_core_test {
namespace {

using namespace std::chrono_literals;
using Outputs = std::vector<MetricsOutput>;

template <class T>
std::vector<T> all_of(const Outputs& outputs) {
  std::vector<T> found;
  for (const auto& output : outputs) {
    if (const auto* one = std::get_if<T>(&output)) found.push_back(*one);
  }
  return found;
}

// Two stages of two replicas (incarnations 1, 2 and 3, 4), 100 tokens and 4 sequences per step, one second each.
class TrackedRun {
 public:
  explicit TrackedRun(std::uint64_t live_after = 0, std::optional<WrittenLines> written = std::nullopt)
      : core({4, 100, 4}) {
    core.begin(JournalPosition{live_after}, written, clock.now());
    for (const std::uint64_t replica : {1U, 2U, 3U, 4U}) {
      const StageId stage{replica <= 2 ? 0U : 1U};
      journal(AddReplica{stage, ReplicaId{}, Incarnation{replica}, ProcessIncarnation{replica}, 0});
    }
  }

  Outputs journal(JournalBody body) {
    return core.on({JournalPosition{++position}, Branch{branch}, Term{1}, std::move(body)}, clock.now());
  }
  Outputs commit(std::uint64_t step, Duration took = 1s) {
    clock.advance(took);
    steps_at_end = step + 1;
    Commit commit;
    commit.step = StepId{step};
    commit.loss_sum = 250;
    commit.token_count = 100;
    commit.gradient_norm = 0.5;
    commit.learning_rate = 1e-3;
    commit.optimizer_step = step + 1;
    StageCommit stage;
    const auto entry = [](std::uint32_t microbatch) { return ManifestEntry{MicrobatchId{microbatch}, 25, 0, {}}; };
    stage.manifests = {{Incarnation{1}, {entry(0), entry(2)}}, {Incarnation{2}, {entry(1), entry(3)}}};
    commit.stages = {stage};
    commit.step_ms = timed_ms;
    if (skipped) commit.skip = SkipStep{"wte.weight", MicrobatchId{3}};
    return journal(commit);
  }
  Outputs report(std::uint64_t step, std::uint64_t replica, std::uint64_t digest = 7, std::uint32_t retried = 0) {
    ReplicaReport report;
    report.branch = Branch{branch};
    report.step = StepId{step};
    report.stage = StageId{replica <= 2 ? 0U : 1U};
    report.replica = Incarnation{replica};
    report.time.forward = 100.0 * static_cast<double>(replica);
    report.bytes.activation = 10;
    report.retried = retried;
    report.state_digest = digest + report.stage.value;
    return core.on(report);
  }
  Outputs report_all(std::uint64_t step, std::uint32_t retried = 0) {
    Outputs out;
    for (const std::uint64_t replica : {1U, 2U, 3U, 4U}) {
      for (auto& one : report(step, replica, 7, replica == 1 ? retried : 0)) out.push_back(std::move(one));
    }
    return out;
  }
  // A finished run's last record.
  FinalRecord finish(RunEventKind how = RunEventKind::kFinished) {
    return all_of<FinalRecord>(core.on(RunEvent{how, "hash", "all steps", steps_at_end}, {})).at(0);
  }

  ManualClock clock;
  MetricsCore core;
  std::uint64_t position = 0;
  std::uint64_t steps_at_end = 0;
  std::uint32_t branch = 0;
  bool skipped = false;
  double timed_ms = 0;  // by the supervisor; 0: not known
};

TEST(Metrics, ARecordWaitsForItsReports) {
  TrackedRun run;
  run.clock.advance(5s);  // before the first step: not the step's time unless members came
  run.journal(AppointGroup{StageId{0}, Incarnation{9}});
  EXPECT_TRUE(run.commit(0, 1500ms).empty());
  EXPECT_TRUE(run.report(0, 1).empty());
  EXPECT_TRUE(run.report(0, 2).empty());
  EXPECT_TRUE(run.report(0, 3).empty());
  const auto records = all_of<StepRecord>(run.report(0, 4));
  ASSERT_EQ(records.size(), 1U);
  const StepRecord& record = records[0];
  EXPECT_EQ(record.step, 0U);
  EXPECT_DOUBLE_EQ(record.loss, 2.5);
  EXPECT_DOUBLE_EQ(record.step_ms, 1500);
  EXPECT_DOUBLE_EQ(record.time->forward, 250) << "the mean over the replicas";
  EXPECT_EQ(record.bytes->activation, 40U) << "the sum over the replicas";
  EXPECT_EQ(record.replicas, (std::vector<std::uint32_t>{2, 2}));
  EXPECT_EQ(record.microbatches, 4U);
  EXPECT_EQ(record.tokens_total, 100U);
  EXPECT_EQ(record.sequences_total, 4U);
  EXPECT_EQ(record.view, 6U);
  EXPECT_FALSE(record.skipped.has_value());
}

// The spawner's own router hears of a commit last: a quick replica may have reported by then.
TEST(Metrics, AReportThatComesBeforeItsCommitCounts) {
  TrackedRun run;
  EXPECT_TRUE(run.report_all(0).empty());
  const auto records = all_of<StepRecord>(run.commit(0));
  ASSERT_EQ(records.size(), 1U);
  EXPECT_DOUBLE_EQ(records[0].time->forward, 250);
  EXPECT_EQ(records[0].bytes->activation, 40U);
  EXPECT_TRUE(run.report(1, 1).empty());
  EXPECT_TRUE(run.report(1, 1).empty()) << "repeated: it counts once";
  run.commit(1);
  EXPECT_TRUE(run.report(1, 2).empty());
  EXPECT_TRUE(run.report(1, 3).empty());
  const auto second = all_of<StepRecord>(run.report(1, 4));
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].bytes->activation, 40U);
}

TEST(Metrics, RecordsComeInOrder) {
  TrackedRun run;
  run.commit(0);
  run.commit(1);
  EXPECT_TRUE(run.report_all(1).empty()) << "step 0 is still waited for";
  const auto records = all_of<StepRecord>(run.report_all(0));
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].step, 0U);
  EXPECT_EQ(records[1].step, 1U);
  EXPECT_EQ(records[1].tokens_total, 200U);
}

TEST(Metrics, AReplicaThatNeverReportsDelaysTwoSteps) {
  TrackedRun run;
  for (std::uint64_t step = 0; step < 2; ++step) {
    EXPECT_TRUE(run.commit(step).empty());
    for (const std::uint64_t replica : {1U, 2U, 3U}) EXPECT_TRUE(run.report(step, replica).empty());
  }
  const auto records = all_of<StepRecord>(run.commit(2));
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].step, 0U);
  EXPECT_DOUBLE_EQ(records[0].time->forward, 200) << "the mean over those that did";
}

TEST(Metrics, AReplicaThatLeavesTheViewIsNotWaitedFor) {
  TrackedRun run;
  run.commit(0);
  for (const std::uint64_t replica : {1U, 2U, 3U}) EXPECT_TRUE(run.report(0, replica).empty());
  const auto out = run.journal(RemoveReplica{StageId{1}, Incarnation{4}, "lost"});
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(std::get<StepRecord>(out[0]).step, 0U);
  EXPECT_EQ(std::get<ViewRecord>(out[1]).position, run.position);
  EXPECT_NE(std::get<ViewRecord>(out[1]).change, "");
  run.commit(1);
  run.report(1, 1);
  run.report(1, 2);
  EXPECT_EQ(all_of<StepRecord>(run.report(1, 3)).at(0).replicas, (std::vector<std::uint32_t>{2, 1}));
}

TEST(Metrics, ARoundIsGivenWithItsPlaceInTheJournalAndOnce) {
  TrackedRun run;
  run.commit(0);
  const CommitRound round{StageId{1}, StepId{1}, {0, 1}, {}, 0, {{Incarnation{3}, 60}, {Incarnation{4}, 30}}, 10};
  const auto told = all_of<ViewRecord>(run.journal(round));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, RunEventKind::kRound);
  EXPECT_EQ(told[0].position, run.position);
  EXPECT_EQ(told[0].reason, "the mean of 2 replicas over 90 tokens, 10 tokens lost");
  WrittenLines written;
  written.step = WrittenStep{};
  written.view = JournalPosition{run.position};  // a metrics actor that was started again finds that line
  TrackedRun again(0, written);
  again.commit(0);
  EXPECT_TRUE(all_of<ViewRecord>(again.journal(round)).empty());
}

TEST(Metrics, ARoundSaysWhatOfItIsTrainedAgainAndFromWhichStepOn) {
  TrackedRun run;
  run.commit(0);
  CommitRound round{StageId{1}, StepId{1}, {0, 1}, {}, 0, {{Incarnation{3}, 60}}, 10};
  round.lost = {PlaceId{0}};
  round.trained_again_from = PlaceId{9};
  const auto told = all_of<ViewRecord>(run.journal(round));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].reason,
            "the mean of 1 replica over 60 tokens, 10 tokens lost; 1 microbatch trained again from step 2 on");
}

TEST(Metrics, AnEndedBranchIsNotWaitedFor) {
  TrackedRun run;
  run.commit(0);
  run.branch = 1;
  const auto out = run.journal(AddReplica{StageId{0}, ReplicaId{}, Incarnation{11}, ProcessIncarnation{1}, 0});
  EXPECT_EQ(all_of<StepRecord>(out).size(), 1U);
}

TEST(Metrics, ReplicasThatDifferAfterACommitAreAnEvent) {
  TrackedRun run;
  run.commit(0);
  EXPECT_TRUE(run.report(0, 1, 7).empty());
  EXPECT_TRUE(run.report(0, 3, 7).empty()) << "stages differ from each other";
  const auto out = run.report(0, 2, 8);
  ASSERT_EQ(out.size(), 1U);
  const auto& event = std::get<RunEvent>(out[0]);
  EXPECT_EQ(event.kind, RunEventKind::kDigestMismatch);
  EXPECT_NE(event.reason.find("S-3"), std::string::npos);
  EXPECT_EQ(event.step, 0U);
}

TEST(Metrics, ASkippedStepSaysWhy) {
  TrackedRun run;
  run.skipped = true;
  run.commit(0);
  const auto record = all_of<StepRecord>(run.report_all(0)).at(0);
  ASSERT_TRUE(record.skipped.has_value());
  EXPECT_EQ(*record.skipped, "wte.weight, microbatch 3");
}

// A replica measures from apply to apply, the journal from commit to commit.
TEST(Metrics, TheTimesOfAStepAddUpToIt) {
  for (const Duration took : {600ms, 250ms, 200ms, 100ms}) {
    TrackedRun run;
    run.commit(0, took);
    const auto record = all_of<StepRecord>(run.report_all(0)).at(0);
    const TimeBreakdown& time = *record.time;
    EXPECT_NEAR(time.forward + time.wait, record.step_ms, 1e-9) << "measured were 250 ms";
    EXPECT_NEAR(time.forward, std::min(250.0, record.step_ms), 1e-9);
  }
}

// Frozen for 20 s, or started again, it hears of many commits at once.
TEST(Metrics, AStepTookWhatTheJournalSaysWhenEverItIsHeardOf) {
  TrackedRun run;
  run.timed_ms = 300;
  for (std::uint64_t step = 0; step < 3; ++step) {
    run.commit(step, step == 0 ? 20s : 0s);
    EXPECT_EQ(all_of<StepRecord>(run.report_all(step)).at(0).step_ms, 300);
  }
  run.timed_ms = 0;
  run.commit(3, 2s);
  EXPECT_EQ(all_of<StepRecord>(run.report_all(3)).at(0).step_ms, 2000) << "a journal that does not say";
}

TEST(Metrics, AStepThatNobodyMeasuredHasNoTimes) {
  TrackedRun run;
  run.commit(0);
  const auto records = all_of<StepRecord>(run.core.on(RunEvent{RunEventKind::kStopped, "hash", "signal", 1}, {}));
  ASSERT_EQ(records.size(), 1U);
  EXPECT_FALSE(records[0].time);
  EXPECT_FALSE(records[0].bytes);
}

TEST(Metrics, OldEntriesOfAResumedJournalGiveNoRecords) {
  TrackedRun run(6);
  EXPECT_TRUE(run.commit(0).empty());
  EXPECT_TRUE(run.commit(1).empty());
  EXPECT_TRUE(run.report_all(1).empty());
  EXPECT_TRUE(run.commit(2).empty());
  const auto records = all_of<StepRecord>(run.report_all(2));
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].step, 2U);
  EXPECT_EQ(records[0].tokens_total, 300U);
}

TEST(Metrics, ACoreThatReplacesOneThatDiedRepeatsNothing) {
  TrackedRun run(0, WrittenLines{WrittenStep{Branch{0}, StepId{1}}, {}, false, JournalPosition{7}});
  EXPECT_TRUE(run.commit(0).empty());
  EXPECT_TRUE(run.journal(AppointGroup{StageId{0}, Incarnation{9}}).empty());
  EXPECT_TRUE(run.commit(1).empty());
  EXPECT_TRUE(run.report_all(1).empty());
  EXPECT_EQ(run.journal(AppointGroup{StageId{0}, Incarnation{10}}).size(), 1U);
  run.commit(2);
  EXPECT_EQ(all_of<StepRecord>(run.report_all(2)).size(), 1U);
  TrackedRun other(0, WrittenLines{WrittenStep{Branch{0}, StepId{1}}, {}});
  other.branch = 1;
  other.journal(AddReplica{StageId{0}, ReplicaId{}, Incarnation{11}, ProcessIncarnation{1}, 0});
  other.commit(0);
  EXPECT_EQ(all_of<StepRecord>(other.report(0, 11)).size(), 1U) << "the same step of a later branch is another one";
}

// Lines of one process without a journal say nothing about the journal that goes on from them.
TEST(Metrics, TheFirstEntriesAfterARunWithoutAJournalAreWritten) {
  WrittenLines written;
  written.step = WrittenStep{Branch{0}, StepId{12}};
  ManualClock clock;
  MetricsCore core({4, 100, 4});
  core.begin(JournalPosition{}, written, clock.now());
  for (const std::uint64_t replica : {1U, 2U}) {
    const AddReplica added{StageId{0}, ReplicaId{}, Incarnation{replica}, ProcessIncarnation{replica}, 13};
    const auto views = all_of<ViewRecord>(core.on({JournalPosition{replica}, Branch{0}, Term{1}, added}, clock.now()));
    ASSERT_EQ(views.size(), 1U) << "entry " << replica;
    EXPECT_EQ(views[0].position, replica);
  }
}

TEST(Metrics, CommitsThatWereNotWrittenBeforeAKillAreFilledIn) {
  TrackedRun run(8, WrittenLines{WrittenStep{Branch{0}, StepId{1}}, {}});
  EXPECT_TRUE(run.commit(0).empty());
  EXPECT_TRUE(run.commit(1).empty());
  run.timed_ms = 700;
  for (const std::uint64_t step : {2U, 3U}) {
    const auto filled = all_of<StepRecord>(run.commit(step));
    ASSERT_EQ(filled.size(), 1U);
    EXPECT_EQ(filled[0].step, step);
    EXPECT_EQ(filled[0].tokens_total, 100 * (step + 1));
    EXPECT_EQ(filled[0].step_ms, 700) << "as the journal says";
    EXPECT_FALSE(filled[0].time || filled[0].bytes) << "it does not say what for";
    EXPECT_TRUE(filled[0].is_filled);
  }
  EXPECT_TRUE(run.report_all(3).empty());
  run.commit(4);
  EXPECT_EQ(all_of<StepRecord>(run.report_all(4)).size(), 1U);
  TrackedRun unwritten(8, WrittenLines{});
  EXPECT_EQ(all_of<StepRecord>(unwritten.commit(0)).size(), 1U);
  TrackedRun unknown(8, std::nullopt);
  EXPECT_TRUE(unknown.commit(0).empty()) << "who cannot read the file does not know what it lacks";
}

// Losses in a written line are not said again by the core that replaces its writer; others are.
TEST(Metrics, TokensLostAreCountedByOneStepEach) {
  const auto round = [](std::uint64_t step, std::uint64_t number) {
    return CommitRound{StageId{1}, StepId{step}, {0, number}, {}, 0, {{Incarnation{3}, 60}}, 10 * number};
  };
  TrackedRun run(9, WrittenLines{WrittenStep{Branch{0}, StepId{1}}, {}, false, JournalPosition{8}});
  run.commit(0);
  run.journal(round(1, 1));
  EXPECT_TRUE(run.commit(1).empty()) << "its line is there";
  run.journal(round(2, 2));
  const auto filled = all_of<StepRecord>(run.commit(2));  // the journal had it, the file had not
  ASSERT_EQ(filled.size(), 1U);
  EXPECT_EQ(filled[0].lost_tokens, 20U);
  run.commit(3);
  EXPECT_EQ(all_of<StepRecord>(run.report_all(3)).at(0).lost_tokens, 0U);
  run.journal(round(4, 3));
  run.commit(4);
  EXPECT_EQ(all_of<StepRecord>(run.report_all(4)).at(0).lost_tokens, 30U);
  EXPECT_EQ(run.finish().lost_tokens, 60U) << "the last line says all of it";
}

// A step's record waits for reports while later views are written already: each has its own mark.
TEST(Metrics, ACoreThatReplacesOneThatDiedRepeatsNoView) {
  WrittenLines written{WrittenStep{Branch{0}, StepId{0}}, {}, false, JournalPosition{6}};
  TrackedRun run(7, written);
  EXPECT_TRUE(run.commit(0).empty());                                            // 5
  EXPECT_TRUE(run.journal(AppointGroup{StageId{0}, Incarnation{9}}).empty());    // 6
  EXPECT_EQ(run.journal(AppointGroup{StageId{0}, Incarnation{10}}).size(), 1U);  // 7: lost with its writer
  EXPECT_EQ(run.journal(AppointGroup{StageId{1}, Incarnation{11}}).size(), 1U);  // 8
  run.commit(1);
  EXPECT_EQ(all_of<StepRecord>(run.report_all(1)).size(), 1U);
}

void write(const Outputs& outputs, std::string& lines) {
  for (const MetricsOutput& output : outputs) {
    lines += std::visit([](const auto& record) { return to_json_line(record); }, output) + '\n';
  }
}

// Steps' lines wait while those of rounds are written, and are written after them.
TEST(Metrics, ARoundIsWrittenOnceWheneverTheWriterDies) {
  const auto round = [](std::uint64_t number) {
    return CommitRound{StageId{0}, StepId{number}, {0, number}, {}, 0, {}, 0};
  };
  const Scratch scratch;
  for (std::size_t dies_after = 1; dies_after <= 11; ++dies_after) {
    std::string lines;
    TrackedRun first;
    std::size_t done = 0;
    for (std::uint64_t step = 0; step < 4 && done < dies_after; ++step) {
      write(first.commit(step), lines);
      if (++done < dies_after) write(first.journal(round(step + 1)), lines);
      if (++done < dies_after && step > 0) write(first.report_all(step - 1), lines);
      ++done;
    }
    TrackedRun second(first.position, MetricsFile::open(scratch.file("a", lines).string())->written());
    for (std::uint64_t step = 0; step < 4; ++step) {
      write(second.commit(step), lines);
      write(second.journal(round(step + 1)), lines);
    }
    std::size_t count = 0;
    for (std::size_t at = lines.find("\"event\":\"round\""); at != std::string::npos; ++count) {
      at = lines.find("\"event\":\"round\"", at + 1);
    }
    EXPECT_EQ(count, 4U) << "it dies after " << dies_after << ":\n" << lines;
    for (const std::uint64_t position : {6U, 8U, 10U, 12U}) {
      EXPECT_NE(lines.find("\"position\":" + std::to_string(position) + "}"), std::string::npos) << lines;
    }
  }
}

// Two stages lose 60 and 40 of the same 100 tokens. Then two steps are thrown away with the round between them.
TEST(Metrics, ATokenIsLostOnceHoweverManyStagesLackItAndHoweverOftenItsStepIsLeft) {
  const auto round = [](std::uint32_t stage, std::uint64_t number, std::uint64_t lost) {
    return CommitRound{StageId{stage}, StepId{number}, {0, number}, {}, 0, {}, lost};
  };
  TrackedRun run;
  std::uint64_t in_lines = 0;
  const auto read = [&in_lines](const Outputs& outputs) {
    for (const StepRecord& line : all_of<StepRecord>(outputs)) in_lines += line.lost_tokens;
  };
  read(run.commit(0));
  read(run.journal(round(0, 1, 60)));
  read(run.journal(round(1, 1, 40)));
  read(run.commit(1));
  read(run.journal(round(0, 2, 100)));
  read(run.commit(2));
  run.branch = 1;
  for (const std::uint64_t replica : {11U, 13U}) {
    const StageId stage{replica == 11U ? 0U : 1U};
    read(run.journal(AddReplica{stage, ReplicaId{}, Incarnation{replica}, ProcessIncarnation{1}, 1}));
  }
  read(run.commit(1));
  read(run.report(1, 11));
  read(run.report(1, 13));
  EXPECT_EQ(run.finish().lost_tokens, 60U + 200U) << "not 60 + 40 + 100 + 200";
  EXPECT_EQ(in_lines, 60U + 200U);
}

TEST(Metrics, AnEvaluationThatIsRepeatedIsWrittenOnce) {
  TrackedRun run;
  EvaluationResult result{Branch{0}, 100, 5, 10, 10, false};
  EXPECT_EQ(run.core.on(result, Instant{}).size(), 1U);
  EXPECT_TRUE(run.core.on(result, Instant{}).empty());
  result.complete = true;
  EXPECT_EQ(run.core.on(result, Instant{}).size(), 1U);
  result.step = 200;
  EXPECT_EQ(run.core.on(result, Instant{}).size(), 1U);
}

TEST(Metrics, AnEvaluationThatIsMadeAgainIsWrittenOnce) {
  TrackedRun run(0, WrittenLines{WrittenStep{Branch{0}, StepId{1}}, WrittenEvaluation{Branch{0}, 2}});
  EvaluationResult result;
  result.step = 2;
  EXPECT_TRUE(run.core.on(result, Instant{}).empty());
  result.branch = Branch{1};
  EXPECT_EQ(run.core.on(result, Instant{}).size(), 1U);
}

// A restarted run may end where the lines tell of a part of its validation text.
TEST(Metrics, ACompleteEvaluationIsNotThePartThatIsWritten) {
  TrackedRun run(0, WrittenLines{WrittenStep{Branch{0}, StepId{1}}, WrittenEvaluation{Branch{0}, 2, 0.5}});
  EvaluationResult result{Branch{0}, 2, 5, 10, 10, true};
  EXPECT_TRUE(run.core.on(result, Instant{}).empty()) << "the very line";
  TrackedRun other(0, WrittenLines{WrittenStep{Branch{0}, StepId{1}}, WrittenEvaluation{Branch{0}, 2, 0.25}});
  EXPECT_EQ(other.core.on(result, Instant{}).size(), 1U);
}

TEST(Metrics, TheEndIsSaidAgainOnlyAfterSomethingElse) {
  WrittenLines ended{WrittenStep{Branch{0}, StepId{1}}, {}, true, JournalPosition{4}};
  EXPECT_TRUE(TrackedRun(0, ended).core.on(RunEvent{RunEventKind::kFinished, "hash", "all steps", 2}, {}).empty());
  TrackedRun run(0, ended);
  EXPECT_EQ(run.core.on(RunEvent{RunEventKind::kResumed, "run", "more steps", 2}, {}).size(), 1U);
  EXPECT_EQ(run.finish().kind, RunEventKind::kFinished);
  ended.is_final = false;
  EXPECT_EQ(TrackedRun(0, ended).finish().kind, RunEventKind::kFinished) << "the line was lost with its writer";
}

// The run ends with the checkpoint that it would have gone on from: what lies beyond is in no weights.
TEST(Metrics, AnEndAfterARollBackIsThatOfItsWeights) {
  TrackedRun run;
  for (std::uint64_t step = 0; step < 5; ++step) run.commit(step);
  run.steps_at_end = 3;
  const FinalRecord last = run.finish(RunEventKind::kStopped);
  EXPECT_EQ(last.steps, 3U);
  EXPECT_EQ(last.tokens_total, 300U);
  EXPECT_EQ(last.lost_tokens, 200U);
}

TEST(Metrics, WhatARollBackTrainsAgainIsLost) {
  TrackedRun run;
  for (std::uint64_t step = 0; step < 5; ++step) {
    run.commit(step);
    run.report_all(step);
  }
  run.branch = 1;
  for (const std::uint64_t replica : {11U, 13U}) {
    const StageId stage{replica == 11U ? 0U : 1U};
    run.journal(AddReplica{stage, ReplicaId{}, Incarnation{replica}, ProcessIncarnation{1}, 2});
  }
  run.commit(2);
  run.report(2, 11);
  const auto records = all_of<StepRecord>(run.report(2, 13));
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].lost_tokens, 300U);
  EXPECT_EQ(records[0].tokens_total, 300U);
  run.commit(3);
  run.report(3, 11);
  EXPECT_EQ(all_of<StepRecord>(run.report(3, 13))[0].lost_tokens, 0U);
  const FinalRecord last = run.finish();
  EXPECT_EQ(last.lost_tokens, 300U);
}

// Events of an actor that looks after others know no step; that of a roll-back is where the run goes on.
TEST(Metrics, AnEventThatKnowsNoStepIsOfTheOneInProgress) {
  const RunEvent restarted{RunEventKind::kRestarted, "storage", "killed", 0};
  TrackedRun run;
  EXPECT_EQ(all_of<RunEvent>(run.core.on(restarted, {})).at(0).step, 0U);
  for (const std::uint64_t step : {0, 1}) run.commit(step);
  EXPECT_EQ(all_of<RunEvent>(run.core.on(restarted, {})).at(0).step, 2U);
  EXPECT_EQ(all_of<RunEvent>(run.core.on(RunEvent{RunEventKind::kCheckpoint, "step_1", "ok", 1}, {})).at(0).step, 1U);
  EXPECT_EQ(all_of<RunEvent>(run.core.on(RunEvent{RunEventKind::kRolledBack, "run", "why", 0}, {})).at(0).step, 0U);
  MetricsCore again({4, 100});
  again.begin({}, WrittenLines{WrittenStep{Branch{0}, StepId{1}}, {}}, run.clock.now());
  EXPECT_EQ(all_of<RunEvent>(again.on(restarted, {})).at(0).step, 2U) << "it has not heard the journal yet";
}

// An evaluation waits for the rounds that are due after the step before it.
TEST(Metrics, AnEvaluationTakesTheTimeSinceTheStepOrTheRoundBeforeIt) {
  TrackedRun run;
  run.commit(0);
  run.clock.advance(300ms);
  const auto evaluated = [&run](std::uint64_t step) {
    return std::get<EvalRecord>(
        run.core.on(EvaluationResult{Branch{0}, step, 5, 10, 10, false}, run.clock.now()).at(0));
  };
  EXPECT_DOUBLE_EQ(evaluated(1).eval_ms, 300);
  run.commit(1);
  run.clock.advance(5s);
  run.journal(CommitRound{StageId{1}, StepId{2}, {0, 1}, {}, 0, {{Incarnation{3}, 60}}, 0});
  run.clock.advance(200ms);
  EXPECT_DOUBLE_EQ(evaluated(2).eval_ms, 200);
}

TEST(Metrics, AnEvaluationIsOneRecord) {
  TrackedRun run;
  EvaluationResult result;
  result.step = 100;
  result.loss_sum = 200 * std::log(2.0);
  result.token_count = 100;
  result.target_bytes = 400;
  const auto record = std::get<EvalRecord>(run.core.on(result, Instant{}).at(0));
  EXPECT_EQ(record.step, 100U);
  EXPECT_NEAR(record.val_loss, 2 * std::log(2.0), 1e-12);
  EXPECT_NEAR(record.bits_per_byte, 0.5, 1e-12);
  EXPECT_EQ(std::get<EvalRecord>(run.core.on(EvaluationResult{}, Instant{}).at(0)).bits_per_byte, 0);
}

TEST(Metrics, TheLastRecordFollowsEverythingThatWaits) {
  TrackedRun run;
  run.commit(0);
  run.commit(1);
  const auto out = run.core.on(RunEvent{RunEventKind::kStopped, "abc", "signal", 2}, {});
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(std::get<StepRecord>(out[1]).step, 1U);
  const auto& last = std::get<FinalRecord>(out[2]);
  EXPECT_EQ(last.kind, RunEventKind::kStopped);
  EXPECT_EQ(last.steps, 2U);
  EXPECT_EQ(last.tokens_total, 200U);
  EXPECT_EQ(last.weights_sha256, "abc");
}

TEST(Metrics, NothingComesAfterTheEnd) {
  for (const RunEventKind end : {RunEventKind::kFinished, RunEventKind::kStopped, RunEventKind::kFailed}) {
    TrackedRun run;
    run.commit(0);
    const auto last = run.core.on(RunEvent{end, "hash", "why", 1}, {});
    EXPECT_EQ(all_of<StepRecord>(last).size(), 1U) << "what waits for reports comes before it";
    EXPECT_FALSE(std::holds_alternative<StepRecord>(last.back()));
    EXPECT_TRUE(run.report_all(0).empty());
    EXPECT_TRUE(run.core.on(RunEvent{RunEventKind::kProcessLost, "node2", "it left", 1}, {}).empty()) << word_of(end);
    EXPECT_TRUE(run.core.on(EvaluationResult{Branch{0}, 1, 5, 10, 10, true}, Instant{}).empty());
    EXPECT_TRUE(run.journal(RemoveReplica{StageId{1}, Incarnation{4}, "lost"}).empty());
    EXPECT_TRUE(run.core.on(RunEvent{RunEventKind::kFinished, "hash", "again", 1}, {}).empty());
  }
}

TEST(Metrics, AFailureIsTheLastLineWithItsReason) {
  TrackedRun run;
  const auto out = run.core.on(RunEvent{RunEventKind::kFailed, "run", "training diverged", 0}, {});
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(std::get<RunEvent>(out[0]).reason, "training diverged");
}

// `train --single` trained them: no journal has them.
TEST(Metrics, StepsThatNoJournalHasCountAsPlanned) {
  MetricsCore core({4, 100, 4});
  ManualClock clock;
  core.begin({}, {}, clock.now());
  const AddReplica added{StageId{0}, ReplicaId{}, Incarnation{1}, ProcessIncarnation{1}, 5};
  (void)core.on(JournalEntry{JournalPosition{1}, Branch{0}, Term{1}, added}, clock.now());
  const auto last = all_of<FinalRecord>(core.on(RunEvent{RunEventKind::kFinished, "hash", "all steps", 5}, {})).at(0);
  EXPECT_EQ(last.steps, 5U);
  EXPECT_EQ(last.tokens_total, 500U);
}

}  // namespace
}  // namespace shoal::metrics_core_test
