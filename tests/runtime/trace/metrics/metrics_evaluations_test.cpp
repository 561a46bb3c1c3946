// Tests which evaluations are records: the two kinds are told apart, and a part of the last one is shown only.
#include <gtest/gtest.h>

#include "runtime/trace/metrics/metrics_core.h"

namespace shoal::metrics_evaluations_test {
namespace {

using namespace std::chrono_literals;

MetricsCore core_with(const std::optional<WrittenLines>& written = WrittenLines{}) {
  MetricsCore core({4, 100});
  core.begin({}, written, Instant{});
  return core;
}

// The two kinds may be of one step: of a run that was lengthened after its end.
TEST(MetricsEvaluations, OfAnotherKindOrSizeAreNotTheOneThatIsWritten) {
  const auto lines_of = [](bool is_final, std::uint64_t windows, bool is_now_final) {
    const WrittenEvaluation written{Branch{0}, 2, 0.5, is_final, windows};
    MetricsCore core = core_with(WrittenLines{WrittenStep{Branch{0}, StepId{1}}, written});
    return core.on(EvaluationResult{Branch{0}, 2, 5, 10, 10, is_now_final, 40, 40}, Instant{}).size();
  };
  EXPECT_EQ(lines_of(true, 40, true), 0U);
  EXPECT_EQ(lines_of(false, 40, false), 0U);
  EXPECT_EQ(lines_of(true, 40, false), 1U);
  EXPECT_EQ(lines_of(false, 40, true), 1U);
  EXPECT_EQ(lines_of(true, 20, true), 1U);
}

TEST(MetricsEvaluations, APartOfTheLastOneIsShownAndNoRecord) {
  MetricsCore core = core_with();
  const auto shown = core.on(EvaluationResult{Branch{0}, 2, 5, 10, 10, false, 16, 40}, Instant{});
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(std::get<EvalProgress>(shown[0]).windows, 16U);
  EXPECT_EQ(std::get<EvalProgress>(shown[0]).windows_planned, 40U);
  const auto whole = core.on(EvaluationResult{Branch{0}, 2, 5, 10, 10, true, 40, 40}, Instant{});
  ASSERT_EQ(whole.size(), 1U);
  const auto& record = std::get<EvalRecord>(whole[0]);
  EXPECT_TRUE(record.is_final);
  EXPECT_EQ(record.windows, 40U);
  EXPECT_EQ(record.tokens, 10U);
}

JournalEntry entry(std::uint64_t position, JournalBody body) {
  return {JournalPosition{position}, Branch{0}, Term{1}, std::move(body)};
}

double eval_ms_of(MetricsCore& core, Instant now) {
  const auto out = core.on(EvaluationResult{Branch{0}, 1, 5, 10, 10, false, 40, 40}, now);
  return out.size() == 1 ? std::get<EvalRecord>(out[0]).eval_ms : -1;
}

// A metrics actor that dies in an evaluation is started again and reads the journal again.
TEST(MetricsEvaluations, TakeAsLongAsTheyDidWhoeverWasStartedAgainMeanwhile) {
  const Instant start{1h};
  Commit commit;
  commit.token_count = 100;
  const JournalEntry first = entry(1, AddReplica{{}, {}, Incarnation{1}, {}, 0});
  MetricsCore before({4, 100});
  before.begin({}, WrittenLines{}, start);
  (void)before.on(first, start);
  (void)before.on(entry(2, commit), start + 10s);
  const auto again = [&](WorkEnd known) {
    MetricsCore core({4, 100});
    core.begin({}, WrittenLines{}, start + 14s, known);
    (void)core.on(first, start + 14s);
    (void)core.on(entry(2, commit), start + 14s);
    return eval_ms_of(core, start + 15s);
  };
  EXPECT_EQ(again(before.work_end()), 5000);
  EXPECT_EQ(again({}), 1000) << "the control: its own start is all that it knows";
}

// A resumed run evaluates what its checkpoint has before it trains: the start is no part of that.
TEST(MetricsEvaluations, ThatComeFirstAreTimedFromWhenTrainingGoesOn) {
  const Instant start{};
  MetricsCore core({4, 100});
  core.begin(JournalPosition{2}, {}, start);
  Commit commit;
  commit.token_count = 100;
  (void)core.on(entry(1, AddReplica{StageId{0}, {}, Incarnation{1}, {}, 0}), start + 1s);
  (void)core.on(entry(2, commit), start + 1s);
  (void)core.on(RunEvent{RunEventKind::kResumed, "run", "from step 1", 1}, start + 2s);
  (void)core.on(entry(3, AddReplica{StageId{0}, {}, Incarnation{9}, {}, 1}), start + 20s);
  (void)core.on(RunEvent{RunEventKind::kTraining, "run", "all are ready", 1}, start + 21s);
  (void)core.on(entry(4, AddReplica{StageId{0}, {}, Incarnation{10}, {}, 1}), start + 22s);
  EXPECT_DOUBLE_EQ(eval_ms_of(core, start + 24s), 3000) << "whoever joins meanwhile begins no evaluation";
}

TEST(MetricsEvaluations, ThatASpawnersDeathEndedAreTimedFromWhenTheyBeginAgain) {
  const Instant start{};
  MetricsCore core({4, 100});
  core.begin(JournalPosition{2}, {}, start);
  Commit commit;
  commit.token_count = 100;
  (void)core.on(entry(1, AddReplica{StageId{0}, {}, Incarnation{1}, {}, 0}), start);
  (void)core.on(entry(2, commit), start);
  (void)core.on(RunEvent{RunEventKind::kReturned, "node1", "with 1 replica", 1}, start + 1s);
  (void)core.on(RunEvent{RunEventKind::kResumed, "spawner", "1 of 1 came back", 1}, start + 4s);
  EXPECT_DOUBLE_EQ(eval_ms_of(core, start + 6s), 2000);
}

}  // namespace
}  // namespace shoal::metrics_evaluations_test
