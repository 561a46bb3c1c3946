// The JSON of `shoal eval` and `shoal status`: the keys of their --help, and numbers.
#include "launch/commands/inspect/answers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "launch/interface.h"

namespace shoal::answers_test {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kHuge = 5.4871e28;

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

// The help of a command names every key of its answer.
void expect_in_help(const char* command, const Json& json) {
  for (const std::string& key : keys_of(json)) {
    EXPECT_NE(command_named(command).details.find("\"" + key + "\":"), std::string::npos) << key;
  }
}

TEST(EvaluationAnswer, HasEveryDigitAsJsonAndTwoOfAHugeNumberAsText) {
  const Evaluation evaluation{2.5, kHuge, 3.6067376, 1024, 8};
  const auto json = Json::parse(evaluation_json(7, evaluation));
  EXPECT_EQ(keys_of(json),
            (std::vector<std::string>{"step", "windows", "tokens", "loss", "perplexity", "bits_per_byte"}));
  EXPECT_EQ(json["step"], 7);
  EXPECT_EQ(json["perplexity"].get<double>(), kHuge);
  EXPECT_EQ(evaluation_text(7, evaluation),
            "step 7\nwindows 8\ntokens 1024\nloss 2.5\nperplexity 5.5e28\nbits_per_byte 3.6067376\n");
  expect_in_help("eval", json);
}

TEST(EvaluationAnswer, IsNullWhereNothingFiniteCanBeSaid) {
  const auto json = Json::parse(evaluation_json(7, {std::nan(""), INFINITY, 1, 8}));
  EXPECT_TRUE(json["loss"].is_null());
  EXPECT_TRUE(json["perplexity"].is_null());
  EXPECT_TRUE(json["bits_per_byte"].is_number());
}

TEST(EvaluationAnswer, OfDataThatCannotBeEvaluatedNamesItAndSaysWhatItMayBe) {
  const Failure absent = fail(Error::kInvalidData, "no file matches the pattern val_*.bin.");
  const Failure refusal = refusal_of_data("val_*.bin", absent, false);
  EXPECT_EQ(refusal.error, Error::kInvalidData);
  EXPECT_EQ(refusal.message.find("--data val_*.bin: no file matches the pattern val_*.bin. Name a text file, or "), 0U);
  for (const char* kind : {"shards", ".bin file", "folder", "pattern"}) {
    EXPECT_NE(refusal.message.find(kind), std::string::npos) << kind;
  }
  const Failure cut = fail(Error::kInvalidData, "the shard val.bin cannot be used: it was cut.");
  EXPECT_EQ(refusal_of_data("val.bin", cut, true).message,
            "--data val.bin: the shard val.bin cannot be used: it was cut.");
}

TEST(EvaluationAnswer, OfALossThatIsNotFiniteIsAFailureThatSaysSo) {
  EXPECT_TRUE(check_finite(7, {2.5, kHuge, 3.6, 1024, 8}).ok());
  EXPECT_TRUE(check_finite(7, {800, INFINITY, 1154, 1024, 8}).ok()) << "the control: a perplexity may be too large";
  for (const double loss : {std::nan(""), static_cast<double>(INFINITY)}) {
    const Status checked = check_finite(7, {loss, loss, loss, 1024, 8});
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(exit_code(checked.failure().error), 3);
    EXPECT_NE(checked.failure().message.find("the checkpoint after 7 steps is not finite"), std::string::npos)
        << checked.failure().message;
  }
}

nlohmann::json some_answer() {
  return nlohmann::json::parse(R"({"summary":"training","run":"ab","step":3,"steps":9,"branch":0,"view":12,"actors":[
    {"name":"storage","node":"storage","incarnation":0,"state":"running","mailbox":0,"restarts":1,
     "last_message":"RunEvent","last_message_ms":1500},
    {"name":"control","node":"spawner","incarnation":0,"state":"running","mailbox":0,"restarts":0,
     "last_message":"","last_message_ms":0}],"machines":[
    {"name":"a","device":"paced:5","gflops_per_thread":null,"forward_ms":5.0,"threads":2,"memory_bytes":24000000000,
     "host_bytes":null,"machine_id":"77","up_mbit_s":50.0,"down_mbit_s":null,
     "utilisation":0.25,"mfu":null,"used_bytes":310000000,"peak_bytes":null}]})");
}

TEST(StatusAnswer, HasTheKeysOfTheHelpAndSeconds) {
  const auto json = Json::parse(status_json_text(some_answer()));
  const std::vector<std::string> keys = {"run",  "summary", "step",   "steps",  "branch",
                                         "view", "begun",   "rounds", "actors", "machines"};
  EXPECT_EQ(keys_of(json), keys);
  expect_in_help("status", json);
  expect_in_help("status", json["actors"][0]);
  expect_in_help("status", json["machines"][0]);
  EXPECT_EQ(json["machines"][0]["up_mbit_s"], 50.0);
  auto machine = some_answer()["machines"][0];
  const std::string gives = "paced:5, 5.0 ms a forward, 24.0 GB, up 50 Mbit/s";
  EXPECT_EQ(machine_text(machine), gives + "; computing 25 % of the time, 310.0 MB in use");
  for (const char* key : {"utilisation", "mfu", "used_bytes", "peak_bytes"}) machine.erase(key);
  machine.erase("host_bytes");
  EXPECT_EQ(machine_text(machine), gives) << "a spawner of an older version does not say";
  machine["host_bytes"] = 128'000'000'000;
  EXPECT_EQ(machine_text(machine),
            "paced:5, 5.0 ms a forward, 24.0 GB, its machine 128.0 GB of host memory, up 50 Mbit/s");
  EXPECT_TRUE(json["rounds"].is_null());
  EXPECT_EQ(json["actors"][0]["last_message_s"], 1.5);
  EXPECT_TRUE(json["actors"][1]["last_message_s"].is_null()) << "it has heard nothing";
}

TEST(ActorsAnswer, HasTheActorsOfTheStatusAndTheMachinesOfNodeAgents) {
  auto answer = some_answer();
  answer["actors"].push_back({{"name", "node_agent/a"},
                              {"node", "a"},
                              {"incarnation", 3},
                              {"state", "running"},
                              {"mailbox", 0},
                              {"restarts", 0},
                              {"last_message", ""},
                              {"last_message_ms", 0}});
  const auto json = Json::parse(actors_json_text(answer));
  ASSERT_EQ(json.size(), 3U);
  expect_in_help("ps", json[2]);
  expect_in_help("ps", json[2]["machine"]);
  EXPECT_EQ(json[2]["machine"], answer["machines"][0]);
  EXPECT_TRUE(json[0]["machine"].is_null()) << "it is no worker's";
  Json without = json[0];
  without.erase("machine");
  EXPECT_EQ(without, Json::parse(status_json_text(answer))["actors"][0]);
}

TEST(StatusAnswer, NamesTheBranchThatAPersonBegan) {
  auto answer = some_answer();
  EXPECT_EQ(progress_text(answer), "step 3 of 9, branch 0, view 12");
  EXPECT_TRUE(Json::parse(status_json_text(answer))["begun"].is_null());
  answer["branch"] = 2;
  answer["begun"] = {{"name", "lower"}, {"from", 1}};
  EXPECT_EQ(progress_text(answer), "step 3 of 9, branch 2 (lower, from step 1), view 12");
  const auto json = Json::parse(status_json_text(answer));
  EXPECT_EQ(json["begun"]["name"], "lower");
  EXPECT_EQ(json["begun"]["from"], 1);
  expect_in_help("status", json["begun"]);
}

TEST(StatusAnswer, SaysWhatRoundsLost) {
  auto answer = some_answer();
  answer["rounds"] = {{"lost_tokens", 64}, {"approximated", 2}};
  EXPECT_EQ(Json::parse(status_json_text(answer))["rounds"]["lost_tokens"], 64);
  answer.erase("step");
  EXPECT_THROW((void)status_json_text(answer), nlohmann::json::exception);
}

}  // namespace
}  // namespace shoal::answers_test
