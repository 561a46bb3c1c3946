// A run that ends and goes on is the run that never ended: same bits, whatever its wiring is afterwards.
#include <gtest/gtest.h>
#include <signal.h>

#include <set>
#include <sstream>

#include "tests/support/process_scene.h"

namespace shoal::resume_test {
namespace {

SmallRun whole_run(int stages, int replicas) {
  return {stages, replicas, 20, {"sync.reduction=exact", "optim.schedule=cosine"}};
}

std::string weights_without_a_break(ProcessScene& scene) {
  EXPECT_EQ(scene.run_to_end(train(scene, "whole", whole_run(2, 2), {"--single"})), 0);
  return scene.records("whole").weights();
}

std::vector<std::string> resumed(const ProcessScene& scene, const std::vector<std::string>& words) {
  std::vector<std::string> arguments = {"train", "--resume", scene.run().string()};
  arguments.insert(arguments.end(), words.begin(), words.end());
  return arguments;
}

// Every step is recorded once and in order.
void expect_twenty_steps(const RunRecords& records) {
  ASSERT_EQ(records.steps.size(), 20U);
  for (std::size_t i = 0; i < records.steps.size(); ++i) EXPECT_EQ(records.steps[i].step, i);
  EXPECT_TRUE(records.damaged.empty());
  ASSERT_EQ(records.finals.size(), 2U);
  EXPECT_EQ(records.finals.back().steps, 20U);
}

// A reader of the lines sees where the second start began.
void expect_resumed_after(const RunRecords& records, const std::string& steps) {
  std::size_t count = 0;
  for (const EventLine& line : records.events) {
    count +=
        line.event == "resumed" && line.subject == "run" && line.reason.starts_with("from step " + steps) ? 1U : 0U;
  }
  EXPECT_EQ(count, 1U);
}

void expect_equal_bits_after(const std::vector<std::string>& words) {
  ProcessScene scene;
  const std::string whole = weights_without_a_break(scene);
  ASSERT_EQ(scene.run_to_end(train(scene, "run", whole_run(2, 2), {"--steps", "10"})), 0);
  EXPECT_EQ(scene.records().finals.back().steps, 10U);
  EXPECT_NE(scene.records().weights(), whole);
  ASSERT_EQ(scene.run_to_end(resumed(scene, words)), 0);
  expect_twenty_steps(scene.records());
  expect_resumed_after(scene.records(), "10");
  EXPECT_EQ(scene.records().weights(), whole);
  EXPECT_EQ(scene.run_to_end({"trace", "check", scene.run().string()}), 0);
}

TEST(Resume, GoesOnWithTheSameBits) { expect_equal_bits_after({}); }

TEST(Resume, GoesOnWithFourStages) {
  expect_equal_bits_after({"--set", "pipeline.stages=4", "--set", "pipeline.replicas=1"});
}

TEST(Resume, GoesOnWithOneStageAndTwoReplicas) {
  expect_equal_bits_after({"--set", "pipeline.stages=1", "--set", "pipeline.replicas=2"});
}

TEST(Resume, GoesOnInASingleProcess) { expect_equal_bits_after({"--single"}); }

TEST(Resume, GoesOnWithAPipelineAfterASingleProcess) {
  ProcessScene scene;
  const std::string whole = weights_without_a_break(scene);
  ASSERT_EQ(scene.run_to_end(train(scene, "run", whole_run(2, 2), {"--single", "--steps", "10"})), 0);
  ASSERT_EQ(scene.run_to_end(resumed(scene, {})), 0);
  expect_twenty_steps(scene.records());
  expect_resumed_after(scene.records(), "10");
  EXPECT_EQ(scene.records().weights(), whole);
}

// The steps of the single process are in no journal.
TEST(Resume, GoesOnWithAPipelineAfterAPipelineAndASingleProcess) {
  ProcessScene scene;
  const std::string whole = weights_without_a_break(scene);
  ASSERT_EQ(scene.run_to_end(train(scene, "run", whole_run(2, 2), {"--steps", "5"})), 0);
  ASSERT_EQ(scene.run_to_end(resumed(scene, {"--single", "--steps", "10"})), 0);
  ASSERT_EQ(scene.run_to_end(resumed(scene, {})), 0);
  EXPECT_EQ(scene.records().steps.size(), 20U);
  EXPECT_EQ(scene.records().weights(), whole);
  EXPECT_EQ(scene.records().finals.back().tokens_total, scene.records("whole").finals.back().tokens_total);
}

TEST(Resume, RefusesFewerStepsThanThereAre) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", whole_run(2, 1), {"--steps", "10"})), 0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--steps", "5"},
                                                {"--steps", "5", "--single"},
                                                {"--set", "run.steps=5"},
                                                {"--set", "run.steps=5", "--single"}}) {
    EXPECT_EQ(scene.run_to_end(resumed(scene, words)), 2);
    EXPECT_EQ(scene.records().steps.size(), 10U);
    EXPECT_EQ(scene.records().finals.size(), 1U);
  }
}

// --steps ends a run also beyond run.steps, at a start as at every later one.
TEST(Resume, GoesBeyondTheStepsOfTheRun) {
  ProcessScene scene;
  SmallRun small = whole_run(2, 1);
  small.steps = 5;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", small, {"--single", "--steps", "10"})), 0);
  Program& refused = scene.start(resumed(scene, {"--single"}));
  EXPECT_EQ(refused.wait(kRunLimit), 2) << "its end is behind it";
  EXPECT_NE(refused.err().find("go on by --steps N"), std::string::npos) << refused.err();
  ASSERT_EQ(scene.run_to_end(resumed(scene, {"--single", "--steps", "12"})), 0);
  ASSERT_EQ(scene.run_to_end(resumed(scene, {"--steps", "14"})), 0);
  EXPECT_EQ(scene.records().steps.size(), 14U);
  EXPECT_EQ(scene.records().finals.back().steps, 14U);
}

// Returns the words after `shoal` of the command that a stopped run says to go on with.
std::vector<std::string> printed_command(const std::string& said) {
  const std::string before = "go on with: shoal ";
  const auto at = said.find(before);
  if (at == std::string::npos) return {};
  std::istringstream line(said.substr(at + before.size(), said.find('\n', at) - at - before.size()));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  return words;
}

TEST(Resume, ByThePrintedCommandGoesAsFarAsTheRunThatWasStopped) {
  for (const std::vector<std::string>& how : {std::vector<std::string>{}, {"--single"}}) {
    ProcessScene scene;
    SmallRun small = whole_run(1, 1);
    small.steps = 5;
    std::vector<std::string> words{"--steps", std::to_string(kEndless)};
    words.insert(words.end(), how.begin(), how.end());
    Program& program = scene.start(train(scene, "run", small, words));
    ASSERT_TRUE(scene.wait_for_steps(8));
    scene.stop(program);
    const std::size_t steps = scene.records().steps.size();
    Program& again = scene.start(printed_command(program.err()));
    ASSERT_TRUE(scene.wait_for_steps(steps + 3)) << program.err() << again.err();
    scene.stop(again);
  }
}

// Returns a line without the moment at which it was given out.
std::string without_time(const std::string& line) { return line.substr(0, line.rfind(",\"at\":")); }

// Nothing is trained any more, and the last line says the same again.
TEST(Resume, OfAFinishedRunSaysTheSameAgain) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", whole_run(2, 2), {"--single"})), 0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--single"}, {}, {"--single"}}) {
    ASSERT_EQ(scene.run_to_end(resumed(scene, words)), 0);
    const auto finals = scene.records().finals;
    EXPECT_EQ(finals.back().steps, 20U);
    EXPECT_EQ(finals.back().tokens_total, finals.front().tokens_total);
    EXPECT_EQ(finals.back().weights_sha256, finals.front().weights_sha256);
    EXPECT_EQ(without_time(finals.back().text), without_time(finals.front().text));
  }
  EXPECT_EQ(scene.records().steps.size(), 20U);
}

TEST(Resume, MayCutTheModelAtOtherLayers) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "whole", whole_run(2, 1), {"--single"})), 0);
  const std::vector<std::string> first{"--set", "pipeline.cut=[1,3]", "--steps", "10"};
  ASSERT_EQ(scene.run_to_end(train(scene, "run", whole_run(2, 1), first)), 0);
  ASSERT_EQ(scene.run_to_end(resumed(scene, {"--set", "pipeline.cut=[2,2]"})), 0);
  EXPECT_EQ(scene.records().weights(), scene.records("whole").weights());
  EXPECT_EQ(scene.run_to_end({"trace", "check", scene.run().string()}), 0);
}

TEST(Resume, GoesOnAfterASignal) {
  ProcessScene scene;
  SmallRun longer = whole_run(2, 2);
  longer.steps = kEndless;
  Program& program = scene.start(train(scene, "run", longer));
  ASSERT_TRUE(scene.wait_for_steps(5));
  scene.stop(program);
  const std::size_t steps = scene.records().finals.back().steps + 10;
  const std::vector<std::string> as_far{"--steps", std::to_string(steps)};
  ASSERT_EQ(scene.run_to_end(resumed(scene, as_far)), 0);
  EXPECT_EQ(scene.records().steps.size(), steps);
  ASSERT_EQ(scene.run_to_end(train(scene, "whole", longer, {"--single", as_far[0], as_far[1]})), 0);
  EXPECT_EQ(scene.records().weights(), scene.records("whole").weights());
}

// One process is killed where lines tell of more steps than its only checkpoint has; `words` go on to step 12.
void expect_no_step_twice_after_a_kill(std::vector<std::string> words) {
  ProcessScene scene;
  SmallRun longer = whole_run(2, 2);
  longer.steps = kEndless;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", longer, {"--single", "--steps", "5"})), 0);
  Program& killed = scene.start(resumed(scene, {"--single", "--set", "checkpoint.every=0"}));
  ASSERT_TRUE(scene.wait_for_steps(8));
  killed.signal(SIGKILL);
  ASSERT_EQ(killed.wait(kRunLimit), 128 + SIGKILL);
  const std::size_t told = scene.records().steps.size();
  words.insert(words.end(), {"--steps", "12"});
  ASSERT_EQ(scene.run_to_end(resumed(scene, words)), 0);
  const RunRecords records = scene.records();
  EXPECT_TRUE(records.damaged.empty());
  ASSERT_EQ(records.steps.size(), told + 7) << "steps 5 to 11 are trained again";
  std::set<std::string> identities;
  for (const StepLine& line : records.steps) identities.insert(line.text.substr(0, line.text.find(",\"loss\"")));
  EXPECT_EQ(identities.size(), records.steps.size()) << "one line of each (branch, step)";
  ASSERT_EQ(scene.run_to_end(train(scene, "whole", longer, {"--single", "--steps", "12"})), 0);
  EXPECT_EQ(records.weights(), scene.records("whole").weights());
}

TEST(Resume, ByOneProcessAfterAKillTellsOfNoStepTwice) { expect_no_step_twice_after_a_kill({"--single"}); }

TEST(Resume, ByAPipelineAfterAKillOfOneProcessTellsOfNoStepTwice) { expect_no_step_twice_after_a_kill({}); }

TEST(Resume, RefusesAnotherModel) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", whole_run(2, 2), {"--single", "--steps", "5"})), 0);
  for (const std::string key :
       {"model.width=64", "optim.lr=0.1", "run.seed=8", "sync.reduction=fast", "sync.requeue_lost=true"}) {
    Program& program = scene.start(resumed(scene, {"--set", key}));
    EXPECT_EQ(program.wait(kRunLimit), 2) << key;
    EXPECT_NE(program.err().find(key.substr(0, key.find('='))), std::string::npos) << program.err();
  }
  EXPECT_EQ(scene.records().steps.size(), 5U);
}

TEST(Resume, IsNeededForADirectoryThatHoldsARun) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", whole_run(2, 2), {"--single", "--steps", "2"})), 0);
  Program& program = scene.start(train(scene, "run", whole_run(2, 2)));
  EXPECT_EQ(program.wait(kRunLimit), 2);
  EXPECT_NE(program.err().find("--resume"), std::string::npos) << program.err();
}

}  // namespace
}  // namespace shoal::resume_test
