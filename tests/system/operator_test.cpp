// What a person does to a run that goes on: each kind of actor and process is made to fail by `shoal kill`, and the run
// ends as if nobody had touched it: same bits, exit 0, nothing left behind (design.md, "Kill anything").
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/process_scene.h"

namespace shoal {
namespace {

using testing::HasSubstr;

constexpr int kSteps = 400;

SmallRun run_to_disturb() { return {2, 2, kSteps, {"sync.reduction=exact"}}; }

bool has_event(const RunRecords& records, const std::string& event, const std::string& subject) {
  return std::ranges::any_of(records.events, [&](const EventLine& line) {
    return line.event == event && line.subject == subject && !line.reason.empty();
  });
}

// A run that trains, and the same one in a single process to compare with.
class Operator : public testing::Test {
 protected:
  void start(const SmallRun& small = run_to_disturb()) {
    ASSERT_EQ(scene.run_to_end(train(scene, "single", small, {"--single"})), 0);
    program = &scene.start(train(scene, "run", small));
    ASSERT_TRUE(scene.wait_for_steps(5));
  }
  // The exit status of `shoal kill`, and what it said.
  int kill(const std::string& name, const std::string& how) {
    Program& command = scene.start({"kill", name, "--how", how, "--run", scene.run().string()});
    const int status = command.wait(kRunLimit).value_or(-1);
    said = command.out() + command.err();
    return status;
  }
  void kill_and_train_on(const std::string& name, const std::string& how) {
    SCOPED_TRACE(name + " by " + how);
    const std::size_t before = scene.records().steps.size();
    ASSERT_EQ(kill(name, how), 0) << said;
    EXPECT_THAT(said, HasSubstr(name));
    ASSERT_TRUE(scene.wait_for_steps(before + 4)) << "training did not go on";
    EXPECT_TRUE(has_event(scene.records(), "injected", name));
  }
  void expect_an_undisturbed_end() {
    ASSERT_EQ(program->wait(kRunLimit), 0);
    const auto records = scene.records();
    EXPECT_EQ(records.weights(), scene.records("single").weights());
    EXPECT_EQ(records.steps.size(), static_cast<std::size_t>(kSteps));
    EXPECT_TRUE(records.damaged.empty());
  }

  ProcessScene scene;
  Program* program = nullptr;
  std::string said;
};

TEST_F(Operator, ChildrenOfTheSupervisorAreStartedAgain) {
  start();
  for (const std::string name : {"data_loader", "sync_group/0", "sync_group/1"}) {
    for (const std::string how : {"exit", "kill", "throw", "freeze=0.3"}) kill_and_train_on(name, how);
    EXPECT_TRUE(has_event(scene.records(), "restarted", name));
  }
  expect_an_undisturbed_end();
}

TEST_F(Operator, WhatIsNotThereIsAUsageError) {
  start();
  EXPECT_EQ(kill("stage/7/0", "kill"), 2);
  EXPECT_THAT(said, HasSubstr("did you mean 'stage/0/0'"));
  EXPECT_THAT(said, HasSubstr("sync_group/1"));
  EXPECT_EQ(kill("stage/0/0", "stab"), 2);
  EXPECT_EQ(kill("stage/0/0", "freeze"), 2);
  expect_an_undisturbed_end();
  EXPECT_EQ(kill("stage/0/0", "kill"), 4) << "nobody is there any more";
}

}  // namespace
}  // namespace shoal
