// A node with two devices, as a person sees it: its name stands for both, and what both said to their end is in the run
// directory, though they may be on another machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "tests/system/operate/commanded_run.h"

namespace shoal::devices_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Milliseconds kSoon{60'000};

class Devices : public CommandedRun {
 protected:
  Program& start_node(const std::string& name, int devices) {
    std::vector<std::string> words = join_;
    words.insert(words.end(), {"--name", name});
    for (int device = 0; device < devices; ++device) words.insert(words.end(), {"--device", "cpu"});
    return scene.start(words);
  }
  void start() {
    std::vector<std::string> words{"spawner", "--out", scene.run().string()};
    const auto settings = settings_of(scene, {1, 2, kEndless, {"checkpoint.every=5"}});
    words.insert(words.end(), settings.begin(), settings.end());
    spawner_ = &scene.start(words);
    join_ = wait_for_join_words(*spawner_);
    one_ = &start_node("one", 2);
    two_ = &start_node("two", 2);
    ASSERT_TRUE(scene.wait_for_steps(4)) << spawner_->err();
    ASSERT_TRUE(wait_until([this] { return count_of("joined", "one:1") + count_of("joined", "two:1") == 2; }, kSoon));
  }
  [[nodiscard]] std::size_t count_of(const std::string& event, const std::string& subject) const {
    const auto records = scene.records();
    return static_cast<std::size_t>(std::ranges::count_if(
        records.events, [&](const EventLine& line) { return line.event == event && line.subject == subject; }));
  }
  // As `shoal ps --json` has it; null: the worker does not state it.
  [[nodiscard]] nlohmann::json stated_by(const std::string& worker, const char* key) {
    for (const auto& actor : actors()) {
      if (actor.at("name") == "node_agent/" + worker) return actor.at("machine").at(key);
    }
    return "there is no such worker";
  }
  [[nodiscard]] nlohmann::json host_bytes_of(const std::string& worker) { return stated_by(worker, "host_bytes"); }
  [[nodiscard]] nlohmann::json machine_of(const std::string& worker) { return stated_by(worker, "machine_id"); }
  [[nodiscard]] bool goes_on() { return scene.wait_for_steps(scene.records().steps.size() + 4); }

  Program* spawner_ = nullptr;
  Program* one_ = nullptr;
  Program* two_ = nullptr;

 private:
  std::vector<std::string> join_;
};

TEST_F(Devices, AllLeaveWhenTheirNodeIsDrainedAndTheirLastWordsReachTheRun) {
  start();
  ASSERT_EQ(order({"drain", "two"}), 0) << said;
  EXPECT_THAT(out, HasSubstr("two:1 "));
  EXPECT_EQ(two_->wait(kSoon), 0) << two_->err();
  ASSERT_TRUE(wait_until([this] { return count_of("left", "two") + count_of("left", "two:1") == 2; }, kSoon));
  ASSERT_TRUE(goes_on());
  spawner_->signal(SIGINT);
  EXPECT_EQ(spawner_->wait(kSoon), 130) << spawner_->err();
  EXPECT_EQ(one_->wait(kSoon), 0) << one_->err();
  EXPECT_THAT(one_->err(), Not(HasSubstr("looking for it"))) << "the run is over";
  for (const std::string name : {"one", "one:1", "two", "two:1"}) {
    EXPECT_EQ(order({"logs", name}), 0) << said;
    EXPECT_THAT(out, HasSubstr("ends with status 0")) << name;
  }
  Program& summary = scene.start({"trace", "summary", scene.run().string()});
  EXPECT_EQ(summary.wait(kSoon), 0) << summary.err();
  EXPECT_THAT(summary.out(), HasSubstr("left, as asked"));
  const std::string lives = summary.out().substr(0, summary.out().find("actor and work"));
  EXPECT_THAT(lives, Not(HasSubstr("cut off")));
}

TEST_F(Devices, OneOfThemIsDrainedOrKilledByItsOwnName) {
  start();
  const auto of_machine = host_bytes_of("one:1");
  ASSERT_TRUE(of_machine.is_number()) << of_machine;
  EXPECT_EQ(host_bytes_of("two:1"), of_machine);
  start_node("three", 1);
  ASSERT_TRUE(wait_until([this] { return count_of("joined", "three") == 1; }, kSoon));
  EXPECT_EQ(host_bytes_of("three"), of_machine) << "of another node there";
  const auto machine = machine_of("one");
  ASSERT_TRUE(machine.is_string()) << machine;
  for (const char* const worker : {"one:1", "two", "two:1", "three"}) EXPECT_EQ(machine_of(worker), machine) << worker;
  ASSERT_EQ(order({"drain", "two:1"}), 0) << said;
  ASSERT_TRUE(wait_until([this] { return count_of("left", "two:1") == 1; }, kSoon));
  ASSERT_TRUE(goes_on());
  EXPECT_EQ(count_of("left", "two"), 0U);
  ASSERT_EQ(order({"kill", "one", "--how", "kill"}), 0) << said;
  ASSERT_TRUE(wait_until([this] { return count_of("joined", "one") + count_of("joined", "one:1") == 4; }, kSoon));
  EXPECT_EQ(host_bytes_of("one:1"), of_machine) << "whatever is free";
  EXPECT_EQ(machine_of("one"), machine) << "of every start";
  ASSERT_TRUE(goes_on());
  spawner_->signal(SIGTERM);
  EXPECT_EQ(spawner_->wait(kSoon), 75) << spawner_->err();
  EXPECT_EQ(one_->wait(kSoon), 0) << one_->err();
  EXPECT_EQ(two_->wait(kSoon), 0) << two_->err();
}

}  // namespace
}  // namespace shoal::devices_test
