// The lines of metrics.jsonl and the lines a person reads: the keys are a contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/trace/metrics/progress_line.h"
#include "runtime/trace/metrics/step_record.h"

namespace shoal::record_test {
namespace {

using Json = nlohmann::ordered_json;

// A line of a step alone.
std::string line_of(const StepRecord& record, const ProgressStyle& style) {
  ProgressWindow window;
  window.add(record);
  return progress_line(record, window.take(), style);
}

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

StepRecord some_record() {
  StepRecord record;
  record.step = 9;
  record.loss = 2;
  record.grad_norm = 0.75;
  record.lr = 1e-3;
  record.tokens = 8192;
  record.tokens_total = 81920;
  record.step_ms = 500;
  record.replicas = {2, 1};
  record.time.emplace();
  record.bytes.emplace().activation = 1'500'000;
  return record;
}

TEST(StepRecord, HasTheKeysOfTheInterfaceInTheirOrder) {
  const auto json = Json::parse(to_json_line(some_record()));
  EXPECT_EQ(keys_of(json),
            (std::vector<std::string>{"branch",       "step",        "loss",         "perplexity",      "grad_norm",
                                      "lr",           "tokens",      "tokens_total", "sequences_total", "step_ms",
                                      "tokens_per_s", "mfu",         "view",         "replicas",        "microbatches",
                                      "retried",      "lost_tokens", "time",         "bytes",           "devices",
                                      "skipped",      "filled"}));
  EXPECT_EQ(keys_of(json["time"]),
            (std::vector<std::string>{"forward", "backward", "wire", "wait", "reduce", "commit", "apply"}));
  EXPECT_EQ(keys_of(json["bytes"]),
            (std::vector<std::string>{"activation", "gradient", "reduce", "state", "checkpoint", "control"}));
  EXPECT_NEAR(json["perplexity"].get<double>(), std::exp(2.0), 1e-12);
  EXPECT_NEAR(json["tokens_per_s"].get<double>(), 16384, 1e-9);
  EXPECT_EQ(json["replicas"], Json::array({2, 1}));
  EXPECT_EQ(json["skipped"], false);
  EXPECT_EQ(to_json_line(some_record()).find('\n'), std::string::npos);
}

TEST(StepRecord, SaysWhatEachReplicasDeviceDid) {
  StepRecord record = some_record();
  const auto silent = Json::parse(to_json_line(record));
  EXPECT_TRUE(silent["mfu"].is_null());
  EXPECT_EQ(keys_of(silent["devices"]), (std::vector<std::string>{"utilisation", "mfu", "used_bytes", "peak_bytes"}));
  for (const auto& figure : silent["devices"]) EXPECT_TRUE(figure.is_null()) << "nobody told";
  record.mfu = 0.4256789;
  record.devices = {{{750'000, 1'000'000, 10, 1000, 1500, 2, {20, 4, 7}}, {}}, {{1, 3, 9, 2000, 0, 1, {}}}};
  const auto json = Json::parse(to_json_line(record));
  EXPECT_EQ(json["mfu"], 0.42568);
  EXPECT_EQ(json["devices"]["utilisation"], Json::parse("[[0.75,null],[0.33333]]"));
  EXPECT_EQ(json["devices"]["mfu"], Json::parse("[[0.25,null],[null]]")) << "10 of 2 x 20; no peak is known";
  EXPECT_EQ(json["devices"]["used_bytes"], Json::parse("[[1000,null],[2000]]"));
  EXPECT_EQ(json["devices"]["peak_bytes"], Json::parse("[[1500,null],[null]]"));
}

// A spawner that was started again timed the rest of a step alone: 34 ms of one that took 400.
TEST(StepRecord, HasNoRateWhereAPartOfTheStepWasTimed) {
  StepRecord record = some_record();
  record.is_partly_timed = true;
  const auto json = Json::parse(to_json_line(record));
  EXPECT_TRUE(json["tokens_per_s"].is_null());
  EXPECT_EQ(json["step_ms"], 500) << "what was timed";
  EXPECT_NE(line_of(record, {600, 100, false}).find("     - tok/s"), std::string::npos);
  ProgressWindow window;
  window.add(some_record());
  record.step_ms = 34;
  for (int i = 0; i < 3; ++i) window.add(record);
  EXPECT_DOUBLE_EQ(window.take().usual_step_ms.value(), 500);
}

TEST(StepRecord, SaysWithRoundsHowManyMicrobatchesAreApproximated) {
  StepRecord record = some_record();
  record.approximated = 2;
  EXPECT_EQ(Json::parse(to_json_line(record)).at("approximated"), 2);
}

TEST(StepRecord, ThatIsNotFiniteIsStillJson) {
  StepRecord record = some_record();
  record.loss = std::numeric_limits<double>::quiet_NaN();
  record.grad_norm = std::numeric_limits<double>::infinity();
  record.step_ms = 0;
  record.skipped = "wte.weight, microbatch 3";
  const auto json = Json::parse(to_json_line(record));
  EXPECT_TRUE(json["loss"].is_null());
  EXPECT_TRUE(json["perplexity"].is_null());
  EXPECT_TRUE(json["grad_norm"].is_null());
  EXPECT_TRUE(json["tokens_per_s"].is_null());
  EXPECT_EQ(json["skipped"], "wte.weight, microbatch 3");
}

// The norm lacks the tensors that were left out of it.
TEST(StepRecord, OfASkippedStepHasNoNorm) {
  StepRecord record = some_record();
  EXPECT_FALSE(Json::parse(to_json_line(record))["grad_norm"].is_null()) << "the control";
  record.skipped = "wte.weight, microbatch 3";
  EXPECT_TRUE(Json::parse(to_json_line(record))["grad_norm"].is_null());
}

// A sum over lines is wrong without a sign of it where zeros stand, and a missing key is an error.
TEST(StepRecord, HasEveryKeyAndNoNumberOfWhatNobodyMeasured) {
  StepRecord record = some_record();
  const auto measured = Json::parse(to_json_line(record));
  record.time.reset();
  record.bytes.reset();
  const auto json = Json::parse(to_json_line(record));
  for (const char* group : {"time", "bytes"}) {
    EXPECT_EQ(keys_of(json[group]), keys_of(measured[group]));
    for (const auto& value : json[group]) EXPECT_TRUE(value.is_null());
    for (const auto& value : measured[group]) EXPECT_TRUE(value.is_number());
  }
  EXPECT_EQ(json["step_ms"], 500) << "the journal knows";
  EXPECT_EQ(line_of(record, {600, 100, false}).find("sent"), std::string::npos);
}

TEST(EvalRecord, HasTheKeysOfTheInterface) {
  const auto json = Json::parse(to_json_line(EvalRecord{100, 2, 2.5, false, true, 640, 81919}));
  EXPECT_EQ(keys_of(json), (std::vector<std::string>{"event", "step", "final", "windows", "tokens", "val_loss",
                                                     "perplexity", "bits_per_byte", "eval_ms"}));
  EXPECT_EQ(json["final"], true);
  EXPECT_EQ(json["windows"], 640);
  EXPECT_EQ(json["tokens"], 81919);
  EXPECT_EQ(Json::parse(to_json_line(EvalRecord{100, 2, 2.5}))["final"], false);
  EXPECT_EQ(json["event"], "eval");
  EXPECT_NEAR(json["perplexity"].get<double>(), std::exp(2.0), 1e-12);
}

TEST(EvalRecord, SaysWhenItIsOfWhatWasAgreedAndNotOfAStepsWeights) {
  EXPECT_EQ(Json::parse(to_json_line(EvalRecord{100, 2, 2.5, true})).at("weights"), "agreed");
}

TEST(FinalRecord, HasTheKeysOfTheInterface) {
  FinalRecord record;
  record.steps = 600;
  record.weights_sha256 = "abc";
  const auto json = Json::parse(to_json_line(record));
  EXPECT_EQ(keys_of(json),
            (std::vector<std::string>{"event", "steps", "tokens_total", "goodput", "lost_tokens", "weights_sha256"}));
  EXPECT_EQ(json["event"], "finished");
  EXPECT_EQ(json["weights_sha256"], "abc");
}

TEST(FinalRecord, HasNoWeightsWhereNoneWereSaved) {
  EXPECT_TRUE(Json::parse(to_json_line(FinalRecord{})).at("weights_sha256").is_null());
}

TEST(Lines, EndWithTheMomentAtWhichTheyWereGivenOut) {
  const WallTime at = std::chrono::sys_days(std::chrono::year(2026) / 11 / 25) + std::chrono::milliseconds(345);
  for (const std::string& line : {to_json_line(some_record()), to_json_line(EvalRecord{}), to_json_line(FinalRecord{}),
                                  to_json_line(RunEvent{}), to_json_line(ViewRecord{})}) {
    auto json = Json::parse(with_time(line, at));
    EXPECT_EQ(json["at"], "2026-11-25T00:00:00.345Z");
    EXPECT_EQ(keys_of(json).back(), "at") << "lines are told apart by their first key";
    json.erase("at");
    EXPECT_EQ(json, Json::parse(line));
  }
}

TEST(RunEvent, CarriesItsReason) {
  const auto json = Json::parse(to_json_line(RunEvent{RunEventKind::kRestarted, "storage", "it \"died\"\n", 4}));
  EXPECT_EQ(json["event"], "restarted");
  EXPECT_EQ(json["reason"], "it \"died\"\n");
}

// A reason may name a path, and a path may hold any byte.
TEST(RunEvent, IsJsonWhateverItsReasonHolds) {
  const auto json =
      nlohmann::json::parse(to_json_line(RunEvent{RunEventKind::kCheckpointFailed, "storage", "caf\xe9: full", 5}));
  EXPECT_EQ(json.at("reason"), "caf\xef\xbf\xbd: full");
}

TEST(ProgressLine, ShowsWhatAPersonWatches) {
  const ProgressStyle style{600, 100, false};
  EXPECT_EQ(line_of(some_record(), style),
            "step    10/600  loss 2.0000  lr 1.00e-03  norm 0.75   16384 tok/s  peers 2+1  sent 1.5MB  eta 4m55s");
  for (const char* word : {"loss", "lr", "norm", "tok/s", "peers", "sent", "eta"}) {
    EXPECT_NE(progress_legend(style).find(word), std::string::npos) << word;
  }
}

TEST(ProgressLine, HasABarOnlyOnATerminal) {
  EXPECT_EQ(line_of(some_record(), {600, 140, false}).find('['), std::string::npos);
  EXPECT_TRUE(line_of(some_record(), {40, 140, true}).starts_with("[####............] step"));
}

TEST(ProgressLine, LeavesOutWhatMattersLeastWhereTheTerminalIsNarrow) {
  const auto shown = [](int columns) { return line_of(some_record(), {600, columns, true}); };
  EXPECT_EQ(shown(118), "[................] " + line_of(some_record(), {600, 0, false}));
  EXPECT_EQ(shown(100),
            "[................] step    10/600  loss 2.0000  norm 0.75   16384 tok/s  peers 2+1  eta 4m55s");
  EXPECT_EQ(shown(80), "[................] step    10/600  loss 2.0000   16384 tok/s  eta 4m55s");
  EXPECT_EQ(shown(60), "step    10/600  loss 2.0000   16384 tok/s  eta 4m55s");
  EXPECT_EQ(shown(40), "step    10/600  loss 2.0000  eta 4m55s");
  EXPECT_EQ(shown(20), "step    10/600  loss");
  EXPECT_GT(line_of(some_record(), {600, 20, false}).size(), 80U) << "a log file is not cut";
}

TEST(ProgressLine, NeverWraps) {
  StepRecord skipped = some_record();
  skipped.skipped = "wte.weight, microbatch 3";
  for (int columns = 1; columns < 200; ++columns) {
    const std::string line = line_of(skipped, {600, columns, true, 5});
    EXPECT_LE(line.size(), static_cast<std::size_t>(columns));
    EXPECT_TRUE(columns < 70 || line.ends_with("SKIPPED: wte.weight, microbatch 3")) << line;
  }
}

TEST(ProgressLegend, NeverWrapsAndLosesNoEntry) {
  const std::string whole = progress_legend({600, 0, true});
  EXPECT_EQ(whole.find('\n'), std::string::npos);
  EXPECT_EQ(progress_legend({600, 20, false}), whole) << "a log file has one line of it";
  for (int columns = 1; columns < 250; ++columns) {
    const std::string legend = progress_legend({600, columns, true});
    std::istringstream lines(legend);
    std::string joined;
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), static_cast<std::size_t>(columns)) << line;
      joined += (joined.empty() ? "" : " | ") + line;
    }
    if (columns >= 40) {
      EXPECT_EQ(joined, whole) << columns;
    }
  }
  EXPECT_THAT(progress_legend({600, 80, true}), testing::StartsWith("step: steps applied/target | loss: nats per token "
                                                                    "before the update | lr\nnorm: "));
}

TEST(ProgressLine, OfTheLastStepHasNoEtaAndASkipIsLoud) {
  StepRecord record = some_record();
  record.skipped = "wte.weight, microbatch 3";
  const std::string line = line_of(record, {10, 100, false});
  EXPECT_EQ(line.find("eta"), std::string::npos);
  EXPECT_NE(line.find("SKIPPED: wte.weight, microbatch 3"), std::string::npos);
}

// The first line after a spawner's return stands for a step of which it has timed a part, or for none at all.
TEST(ProgressLine, HasNoEtaBeforeAWholeStepWasTimed) {
  StepRecord part = some_record();
  part.is_partly_timed = true;
  StepRecord untimed = some_record();
  untimed.step_ms = 0;
  for (const StepRecord& record : {part, untimed}) {
    ProgressWindow window;
    window.add(record);
    const std::string line = progress_line(record, window.take(), {600, 0, false});
    EXPECT_EQ(line.find("eta"), std::string::npos) << line;
    window.add(some_record());
    EXPECT_NE(progress_line(record, window.take(), {600, 0, false}).find("eta 4m55s"), std::string::npos);
  }
}

// Ten steps of which only the last has sums to send, as in a run with rounds.
TEST(ProgressLine, SaysWhatIsSentPerStepOfAllThatTheLineStandsFor) {
  ProgressWindow window;
  StepRecord record = some_record();
  for (int step = 0; step < 10; ++step) {
    record.bytes->activation = step == 9 ? 11'000'000 : 1'000'000;
    window.add(record);
  }
  EXPECT_NE(progress_line(record, window.take(), {600, 0, false}).find("sent 2.0MB"), std::string::npos);
  record.bytes->activation = 3'000'000;
  window.add(record);
  record.bytes.reset();
  window.add(record);
  EXPECT_NEAR(window.take().sent_bytes.value(), 3e6, 1) << "those before are told, and nobody knows of the last";
  EXPECT_NE(progress_legend({600, 0, false}).find("mean of the line"), std::string::npos);
}

// The first step of the new branch has the pause in it, which the steps to come have not.
TEST(ProgressLine, ExpectsNoPauseBeforeEveryStepAfterARollBack) {
  ProgressWindow window;
  StepRecord record = some_record();
  for (record.step = 0; record.step < 20; ++record.step) window.add(record);
  record.branch = 1;
  record.step = 9;
  record.step_ms = 43'000;
  window.add(record);
  const std::string line = progress_line(record, window.take(), {600, 0, false});
  EXPECT_NE(line.find("eta 4m55s"), std::string::npos) << line;
  for (std::size_t step = 0; step < ProgressWindow::kRecentMax; ++step) {
    record.step_ms = 1000;
    window.add(record);
  }
  EXPECT_NEAR(window.take().usual_step_ms.value(), 1000, 1e-9) << "a pace that lasts is the usual one";
}

TEST(ProgressLine, OfADivergedRunIsNoLongerThanOthers) {
  StepRecord record = some_record();
  record.loss = 5.4871e28;
  record.grad_norm = 1e30;
  EXPECT_NE(line_of(record, {600, 100, false}).find("loss 5.5e28  lr 1.00e-03  norm 1.0e30"), std::string::npos);
  EXPECT_EQ(
      progress_line(EvalRecord{100, 66.175, 95.47}),
      "eval at step 100: validation loss 66.1750, perplexity 5.5e28, bits per byte 95.4700 (windows 0, tokens 0)");
}

TEST(ProgressLegend, SaysWhoseWeightsAreMeasuredWhereReplicasHaveTheirOwn) {
  ProgressStyle style{600, 0, false};
  EXPECT_EQ(progress_legend(style).find("weights"), std::string::npos);
  style.steps_per_round = 50;
  EXPECT_THAT(progress_legend(style), testing::HasSubstr("of each replica's own weights"));
  EXPECT_THAT(progress_legend(style), testing::HasSubstr("eval: of the agreed weights, which are saved"));
}

TEST(ProgressLine, OfAnEvaluationNamesItsMeasures) {
  EXPECT_EQ(progress_line(EvalRecord{100, 2, 2.88539, false, false, 1280, 163840}),
            "eval at step 100: validation loss 2.0000, perplexity 7.389, bits per byte 2.8854 "
            "(windows 1280, tokens 163840)");
}

TEST(ProgressLine, OfTheFinalEvaluationHasANameOfItsOwn) {
  EXPECT_EQ(progress_line(EvalRecord{100, 2, 2.88539, true, true, 5468, 699801}),
            "final eval at step 100: final validation loss 2.0000, perplexity 7.389, bits per byte 2.8854 "
            "(windows 5468, tokens 699801, of the agreed weights)");
  EXPECT_EQ(progress_line(EvalProgress{100, 640, 5468}), "final eval at step 100: 640 of 5468 windows");
}

TEST(ProgressPace, TellsAtTheBeginAndThenEveryTenSeconds) {
  ProgressPace pace;
  const Instant begin{};
  std::vector<int> told;
  for (int second = 0; second < 25; ++second) {
    if (pace.is_due(begin + std::chrono::seconds(second))) told.push_back(second);
  }
  EXPECT_EQ(told, (std::vector{0, 10, 20}));
}

}  // namespace
}  // namespace shoal::record_test
