// The directory of a run keeps the contract of launch/RUNS.md: keys of metrics.jsonl, the last line, times that add up,
// a configuration that repeats the run, checkpoints as they are described, and the commands that read all this.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/time/utc_time.h"
#include "tests/support/process_scene.h"

namespace shoal::files_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

const std::vector<std::string> kStepKeys = {"branch",
                                            "step",
                                            "loss",
                                            "perplexity",
                                            "grad_norm",
                                            "lr",
                                            "tokens",
                                            "tokens_total",
                                            "sequences_total",
                                            "step_ms",
                                            "tokens_per_s",
                                            "mfu",
                                            "view",
                                            "replicas",
                                            "microbatches",
                                            "retried",
                                            "lost_tokens",
                                            "time",
                                            "bytes",
                                            "devices",
                                            "skipped",
                                            "filled",
                                            "at"};
const std::vector<std::string> kTimeKeys = {"forward", "backward", "wire", "wait", "reduce", "commit", "apply"};
const std::vector<std::string> kByteKeys = {"activation", "gradient", "reduce", "state", "checkpoint", "control"};
const std::vector<std::string> kFinishedKeys = {"event",          "steps", "tokens_total", "goodput", "lost_tokens",
                                                "weights_sha256", "at"};

void expect_contract_of(const StepLine& line) {
  const auto json = Json::parse(line.text);
  EXPECT_EQ(keys_of(json), kStepKeys);
  EXPECT_EQ(keys_of(json.at("time")), kTimeKeys);
  EXPECT_EQ(keys_of(json.at("bytes")), kByteKeys);
  const auto applied = line.step + 1;
  EXPECT_EQ(json.at("tokens"), 16 * 32);
  EXPECT_EQ(json.at("tokens_total"), applied * 16 * 32);
  EXPECT_EQ(json.at("sequences_total"), applied * 16);
  EXPECT_EQ(json.at("microbatches"), 8);
  EXPECT_EQ(json.at("lost_tokens"), 0);
  EXPECT_NEAR(json.at("perplexity").get<double>(), std::exp(line.loss), 1e-6 * std::exp(line.loss));
}

void expect_times_to_add_up(const RunRecords& records) {
  for (const StepLine& line : records.steps) {
    EXPECT_GT(line.step_ms, 0);
    EXPECT_NEAR(line.time_ms, line.step_ms, 0.03 * line.step_ms) << line.text;
  }
}

void expect_schedule(const RunRecords& records) {
  for (const StepLine& line : records.steps) {
    const double t = static_cast<double>(line.step);
    const double pi = std::acos(-1.0);
    const double warm = 0.003 * (t + 1) / 5;
    const double cosine = 0.0003 + 0.0027 * (1 + std::cos(pi * (t - 5) / 15)) / 2;
    EXPECT_NEAR(line.lr, t < 5 ? warm : cosine, 1e-9) << "step " << line.step;
  }
}

void expect_whole_record(const RunRecords& records) {
  ASSERT_EQ(records.steps.size(), 20U);
  for (std::size_t i = 0; i < records.steps.size(); ++i) {
    EXPECT_EQ(records.steps[i].step, i);
    expect_contract_of(records.steps[i]);
  }
  expect_schedule(records);
  EXPECT_TRUE(records.damaged.empty());
  ASSERT_EQ(records.finals.size(), 1U);
  EXPECT_EQ(records.finals[0].text, records.last_line) << "the last line of a finished run";
  const auto finished = Json::parse(records.last_line);
  EXPECT_EQ(keys_of(finished), kFinishedKeys);
  EXPECT_EQ(finished.at("event"), "finished");
  EXPECT_EQ(finished.at("steps"), 20);
  EXPECT_EQ(finished.at("tokens_total"), 20 * 16 * 32);
  // Evaluations at 10 and at the end, which is complete and precedes `finished`.
  ASSERT_EQ(records.evaluations.size(), 2U);
  EXPECT_EQ(records.evaluations[0].step, 10U);
  EXPECT_EQ(records.evaluations[1].step, 20U);
  for (const EventLine& event : records.events) EXPECT_FALSE(event.reason.empty()) << event.text;
  for (const std::string& line : records.lines) EXPECT_TRUE(parse_utc_ms(Json::parse(line).value("at", ""))) << line;
  ASSERT_EQ(records.summaries.size(), 1U);
  EXPECT_EQ(records.summaries[0], records.lines[records.lines.size() - 2]) << "before the last line";
}

SmallRun run_with_everything() { return {2, 2, 20, {"eval.every=10", "checkpoint.every=5", "checkpoint.keep=2"}}; }

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

TEST(Files, OfAPipelineAreAsDescribed) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", run_with_everything())), 0);
  expect_whole_record(scene.records());
  expect_times_to_add_up(scene.records());
  for (const char* name : {"config.toml", "metrics.jsonl", "journal.db", "spawner.json", "logs", "certs", "trace"})
    EXPECT_TRUE(fs::exists(scene.run() / name)) << name;
  EXPECT_EQ(names_in(scene.run() / "checkpoints"), (std::set<std::string>{"step_15", "step_20"}));
  EXPECT_EQ(names_in(scene.run() / "checkpoints" / "step_20"),
            (std::set<std::string>{"manifest.json", "stage_0.safetensors", "stage_1.safetensors"}));
}

TEST(Files, OfASingleProcessAreAsDescribed) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", run_with_everything(), {"--single"})), 0);
  expect_whole_record(scene.records());
  expect_times_to_add_up(scene.records());
}

// The failure is the last line, whatever the processes still say of each other while they end.
TEST(Files, ARunThatDivergesSaysSoInItsLastLine) {
  ProcessScene scene;
  for (const std::string name : {"run", "single"}) {
    std::vector<std::string> words;
    if (name == "single") words = {"--single"};
    Program& program = scene.start(train(scene, name, {2, 2, 100, {"optim.lr=1e30", "optim.clip_norm=0"}}, words));
    ASSERT_EQ(program.wait(kRunLimit), 5) << program.err();
    EXPECT_NE(program.err().find("diverged"), std::string::npos) << program.err();
    const auto last = Json::parse(scene.records(name).last_line);
    EXPECT_EQ(last.at("event"), "failed");
    EXPECT_NE(last.at("reason").get<std::string>().find("diverged"), std::string::npos);
    EXPECT_EQ(last.at("step"), scene.records(name).steps.size()) << "every step has its line";
    EXPECT_TRUE(scene.records(name).finals.empty());
  }
}

TEST(Files, SecretsBelongToTheirOwner) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", {2, 1, 2, {}})), 0);
  for (const auto& entry : fs::recursive_directory_iterator(scene.run() / "certs")) {
    if (!entry.is_regular_file()) continue;
    const auto others = fs::perms::group_all | fs::perms::others_all;
    EXPECT_EQ(fs::status(entry.path()).permissions() & others, fs::perms::none) << entry.path();
  }
}

TEST(Files, TheManifestNamesWhatWasSaved) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", {2, 1, 5, {}})), 0);
  std::ifstream file(scene.run() / "checkpoints" / "step_5" / "manifest.json");
  const auto manifest = Json::parse(file);
  for (const char* key : {"run", "branch", "step", "optimizer_step", "tokens_total", "config_sha256", "corpus_sha256",
                          "weights_sha256", "files"})
    EXPECT_TRUE(manifest.contains(key)) << key;
  EXPECT_EQ(manifest.at("step"), 5);
  EXPECT_EQ(manifest.at("tokens_total"), 5 * 16 * 32);
  EXPECT_EQ(manifest.at("weights_sha256").get<std::string>(), scene.records().weights());
  EXPECT_EQ(manifest.at("files").size(), 2U);
}

TEST(Files, TheConfigurationRepeatsTheRun) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", {2, 2, 10, {"sync.reduction=exact"}})), 0);
  const std::string config = (scene.run() / "config.toml").string();
  ASSERT_EQ(scene.run_to_end({"train", config, "--out", scene.run("again").string()}), 0);
  EXPECT_EQ(scene.records("again").weights(), scene.records().weights());
  EXPECT_EQ(scene.records("again").losses(), scene.records().losses());
}

TEST(Files, EvalAndSampleReadThem) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", {2, 1, 10, {}}, {})), 0);
  Program& eval = scene.start({"eval", scene.run().string()});
  ASSERT_EQ(eval.wait(kRunLimit), 0) << eval.err();
  const auto at = eval.out().find("loss ");
  ASSERT_NE(at, std::string::npos) << eval.out();
  EXPECT_NEAR(std::stod(eval.out().substr(at + 5)), scene.records().evaluations.back().val_loss, 1e-5);
  Program& sample = scene.start({"sample", scene.run().string(), "--prompt", "the fish", "--tokens", "20"});
  ASSERT_EQ(sample.wait(kRunLimit), 0) << sample.err();
  EXPECT_TRUE(sample.out().starts_with("the fish")) << sample.out();
  EXPECT_GE(sample.out().size(), 28U);
}

TEST(Files, StandardOutputHoldsTheSampleAlone) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", {2, 1, 3, {}}));
  ASSERT_EQ(program.wait(kRunLimit), 0);
  EXPECT_FALSE(program.out().empty());
  EXPECT_EQ(program.out().find("step "), std::string::npos);
  EXPECT_NE(program.err().find("loss"), std::string::npos);
}

}  // namespace
}  // namespace shoal::files_test
