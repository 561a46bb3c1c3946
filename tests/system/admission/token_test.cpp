// Join tokens of a run that goes on: made, listed, used up, expired, revoked; and no bit of the run moves by who is
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/system/operate/commanded_run.h"

namespace shoal::token_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr Milliseconds kSoon{60'000};

class Tokens : public CommandedRun {
 protected:
  void start() {
    program = &scene.start(train(scene, "run", small));
    ASSERT_TRUE(scene.wait_for_steps(3)) << program->err();
  }
  // The one line that it prints.
  std::string make_token(const Words& words) {
    Words command = {"token", "new"};
    command.insert(command.end(), words.begin(), words.end());
    EXPECT_EQ(order(command), 0) << said;
    EXPECT_EQ(out.find('\n') + 1, out.size()) << out;
    EXPECT_TRUE(out.starts_with("shoal1.")) << out;
    return out.substr(0, out.find('\n'));
  }
  nlohmann::json list() {
    EXPECT_EQ(order({"token", "ls", "--json"}), 0) << said;
    return nlohmann::json::parse(out, nullptr, false);
  }
  // Returns the newest of the tokens that no run keeps for itself.
  nlohmann::json newest() {
    nlohmann::json found;
    for (const auto& one : list()) {
      if (!one.at("standing").get<bool>()) found = one;
    }
    return found;
  }
  Program& start_node(const std::string& name, const std::string& token) {
    const auto address = nlohmann::json::parse(read_all(scene.run() / "spawner.json")).at("address");
    return scene.start({"node", "--join", address.get<std::string>(), "--token", token, "--name", name});
  }
  void expect_admitted(const std::string& name, const std::string& token) {
    Program& node = start_node(name, token);
    const auto has_joined = [&] {
      const auto records = scene.records();
      return std::ranges::any_of(records.events,
                                 [&](const auto& line) { return line.event == "joined" && line.subject == name; });
    };
    EXPECT_TRUE(wait_until(has_joined, kSoon)) << node.err();
  }
  // Kills its worker, which comes back by its certificate.
  void expect_back(const std::string& name) {
    const auto joins = [&] {
      const auto records = scene.records();
      return std::ranges::count_if(records.events,
                                   [&](const auto& line) { return line.event == "joined" && line.subject == name; });
    };
    const auto before = joins();
    const auto worker = scene.worker_of(name);
    ASSERT_TRUE(worker);
    ASSERT_EQ(::kill(worker->pid, SIGKILL), 0);
    EXPECT_TRUE(wait_until([&] { return joins() > before; }, kSoon)) << program->err();
  }
  void expect_refused(const std::string& name, const std::string& token, const std::string& why) {
    Program& node = start_node(name, token);
    EXPECT_EQ(node.wait(kSoon), 4) << node.err();
    EXPECT_THAT(node.err(), HasSubstr(why));
    EXPECT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 4)) << "the run goes on";
  }
  void stop_and_expect_equal_bits() {
    ASSERT_TRUE(scene.stop_and_repeat_single(*program, small));
    EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
  }

  SmallRun small{1, 2, kEndless, {"sync.reduction=exact", "checkpoint.every=50"}};
  Program* program = nullptr;
};

TEST_F(Tokens, OneThatIsUsedUpAdmitsNobodyElse) {
  start();
  const std::string token = make_token({"--uses", "2"});
  EXPECT_EQ(newest().at("uses_left"), 2);
  expect_admitted("first", token);
  EXPECT_EQ(newest().at("uses_left"), 1);
  EXPECT_EQ(newest().at("state"), "valid");
  expect_admitted("second", token);
  EXPECT_EQ(newest().at("state"), "used up");
  expect_refused("third", token, "used as often as it may be");
  stop_and_expect_equal_bits();
}

TEST_F(Tokens, OneThatHasExpiredAdmitsNobody) {
  start();
  const std::string token = make_token({"--hours", "0.002"});  // 7 s
  expect_admitted("early", token);
  ASSERT_TRUE(wait_until([this] { return newest().at("state") == "expired"; }, kSoon));
  expect_refused("late", token, "has expired");
  stop_and_expect_equal_bits();
}

TEST_F(Tokens, OneThatIsRevokedAdmitsNobodyFromThenOn) {
  start();
  const std::string token = make_token({});
  expect_admitted("early", token);
  const std::string id = newest().at("id").get<std::string>();
  EXPECT_TRUE(newest().at("uses_left").is_null()) << "any number";
  ASSERT_EQ(order({"token", "revoke", id}), 0) << said;
  expect_refused("late", token, "was revoked");
  EXPECT_EQ(newest().at("state"), "revoked");
  ASSERT_EQ(order({"token", "ls"}), 0) << said;
  EXPECT_THAT(out, HasSubstr(id + "  any number"));
  EXPECT_THAT(out, HasSubstr("valid, in certs/join_token"));
  EXPECT_EQ(order({"token", "revoke", "nothing"}), 2) << said;
  EXPECT_EQ(order({"token"}), 2) << said;
  expect_admitted("other", make_token({}));
  stop_and_expect_equal_bits();
}

// No other one appears by itself, also where the spawner's process is started again; a person who starts the run means
// to have one.
TEST_F(Tokens, TheRunsOwnStaysAwayOnceItIsRevoked) {
  start();
  const fs::path file = scene.run() / "certs" / "join_token";
  ASSERT_TRUE(fs::exists(file));
  std::string id;
  for (const auto& one : list()) {
    if (one.at("standing").get<bool>()) id = one.at("id").get<std::string>();
  }
  ASSERT_EQ(order({"token", "revoke", id}), 0) << said;
  EXPECT_FALSE(fs::exists(file));
  const pid_t spawner = named_like(scene.processes(), "internal-spawner").front().pid;
  ASSERT_EQ(::kill(spawner, SIGKILL), 0);
  const std::size_t steps = scene.records().steps.size();
  ASSERT_TRUE(scene.wait_for_steps(steps + 4)) << "nodes come back by their certificates";
  ASSERT_NE(named_like(scene.processes(), "internal-spawner").front().pid, spawner);
  EXPECT_FALSE(fs::exists(file));
  expect_back("node2");
  expect_admitted("other", make_token({}));
  (void)scene.stop(*program);
  ASSERT_TRUE(scene.wait_until_all_gone(kSoon));
  program = &scene.start({"train", "--resume", scene.run().string()});
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 4)) << program->err();
  EXPECT_TRUE(fs::exists(file));
  stop_and_expect_equal_bits();
}

}  // namespace
}  // namespace shoal::token_test
