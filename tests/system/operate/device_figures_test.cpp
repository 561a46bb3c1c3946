// How devices are used, as a person reads it: in metrics.jsonl, in `shoal ps` and in `shoal status`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "tests/system/operate/commanded_run.h"

namespace shoal::device_figures_test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr Milliseconds kSoon{60'000};
constexpr double kLittle = 20e6;  // bytes, less than any worker has

class DeviceFigures : public CommandedRun {
 protected:
  // Returns a figure of the only replica of a stage, of each step in which it is known: of the first one it is not, and
  // a report that comes late is in no line.
  [[nodiscard]] std::vector<double> figures(const char* key, std::size_t stage) const {
    std::vector<double> known;
    for (const StepLine& step : scene.records().steps) {
      const Json all = Json::parse(step.text).at("devices").at(key);
      if (!all.is_null() && !all.at(stage).at(0).is_null()) known.push_back(all.at(stage).at(0).get<double>());
    }
    return known;
  }
  // The middle one; -1: there is none.
  [[nodiscard]] double middle(const char* key, std::size_t stage) const {
    std::vector<double> values = figures(key, stage);
    std::ranges::sort(values);
    return values.empty() ? -1 : values[values.size() / 2];
  }
  // Those of whole steps, where they are known.
  [[nodiscard]] std::vector<double> mfu_of_steps() const {
    std::vector<double> known;
    for (const StepLine& step : scene.records().steps) {
      const Json mfu = Json::parse(step.text).at("mfu");
      if (!mfu.is_null()) known.push_back(mfu.get<double>());
    }
    return known;
  }
  [[nodiscard]] Json machine_of(const std::string& worker) {
    for (const Json& actor : actors()) {
      if (actor.at("name") == "node_agent/" + worker) return actor.at("machine");
    }
    return {};
  }
  void expect_figures_of(const std::string& worker) {
    const Json machine = machine_of(worker);
    EXPECT_GT(machine.at("utilisation").get<double>(), 0) << worker;
    EXPECT_LE(machine.at("utilisation").get<double>(), 1) << worker;
    EXPECT_GT(machine.at("mfu").get<double>(), 0) << worker;
    EXPECT_LT(machine.at("mfu").get<double>(), 1) << worker;
    EXPECT_GT(machine.at("used_bytes").get<double>(), kLittle) << worker;
    EXPECT_GE(machine.at("peak_bytes").get<double>(), machine.at("used_bytes").get<double>()) << worker;
  }
};

TEST_F(DeviceFigures, AreInStepsAndInWhatCommandsSay) {
  Program& run = scene.start(train(scene, "run", {2, 1, kEndless, {}}));
  ASSERT_TRUE(scene.wait_for_steps(40)) << run.err();
  ASSERT_TRUE(wait_until([this] { return machine_of("node1").value("mfu", 0.0) > 0; }, kSoon)) << said;
  for (const char* const worker : {"node1", "node2"}) expect_figures_of(worker);
  for (const char* const command : {"ps", "status"}) {
    ASSERT_EQ(order({command}), 0) << said;
    EXPECT_THAT(out, HasSubstr("% of the time, MFU ")) << command;
    EXPECT_THAT(out, HasSubstr("B in use, at most ")) << command;
  }
  run.signal(SIGINT);
  ASSERT_EQ(run.wait(kSoon), 130) << run.err();
  for (std::size_t stage = 0; stage < 2; ++stage) {
    for (const char* const key : {"utilisation", "mfu"}) {
      const auto known = figures(key, stage);
      ASSERT_GE(known.size(), 20U) << key;
      EXPECT_GT(std::ranges::min(known), 0) << key;
      EXPECT_LE(std::ranges::max(known), 1) << key;
    }
    EXPECT_GT(middle("used_bytes", stage), kLittle);
    EXPECT_GE(middle("peak_bytes", stage), middle("used_bytes", stage));
  }
  const auto known = mfu_of_steps();
  ASSERT_GE(known.size(), 20U);
  EXPECT_GT(std::ranges::min(known), 0);
  EXPECT_LT(std::ranges::max(known), 1);
}

// A device of a known pace has no speed of its own, and the quicker one waits for the slower one.
TEST_F(DeviceFigures, ShowAnIdleDeviceAndNoMfuOfAPacedOne) {
  std::vector<std::string> words{"spawner", "--out", scene.run().string()};
  const auto settings = settings_of(scene, {2, 1, 5, {}});
  words.insert(words.end(), settings.begin(), settings.end());
  Program& spawner = scene.start(words);
  const auto join = wait_for_join_words(spawner);
  for (const std::string pace : {"paced:30", "paced:1"}) {
    std::vector<std::string> node = join;
    node.insert(node.end(), {"--device", pace, "--name", "of-" + pace.substr(6)});
    scene.start(node);
  }
  ASSERT_EQ(spawner.wait(kSoon), 0) << spawner.err();
  const auto [idle, busy] = std::minmax({middle("utilisation", 0), middle("utilisation", 1)});
  EXPECT_GE(idle, 0);
  EXPECT_GT(busy, 0.5);
  EXPECT_LT(idle, busy / 2);
  for (std::size_t stage = 0; stage < 2; ++stage) {
    EXPECT_TRUE(figures("mfu", stage).empty());
    EXPECT_GT(middle("used_bytes", stage), kLittle);
  }
  EXPECT_TRUE(mfu_of_steps().empty());
}

TEST_F(DeviceFigures, OfOneProcessAreInEveryStep) {
  ASSERT_EQ(scene.run_to_end(train(scene, "run", {1, 1, 4, {}}, {"--single"})), 0);
  EXPECT_EQ(figures("mfu", 0).size(), 4U);
  EXPECT_EQ(figures("mfu", 0), mfu_of_steps()) << "there is one device";
  EXPECT_GT(middle("utilisation", 0), 0);
  EXPECT_LE(middle("utilisation", 0), 1);
  EXPECT_GE(middle("peak_bytes", 0), middle("used_bytes", 0));
}

}  // namespace
}  // namespace shoal::device_figures_test
