// model.precision = "bf16" with real processes: the bits of one process however it is wired and whoever dies, other
// bits than in float32, and refusals where the processor cannot.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "runtime/base/machine/bf16_units.h"
#include "tests/support/process_scene.h"

namespace shoal::precision_test {
namespace {

class Bf16Run : public testing::Test {
 protected:
  void SetUp() override {
    if (bf16_units() == "none") GTEST_SKIP() << "this processor has no units for bf16";
  }
  ProcessScene scene_;
};

SmallRun exact_run(int stages, int replicas, int steps, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"sync.reduction=exact", "model.precision=bf16"});
  return {stages, replicas, steps, std::move(more)};
}

TEST_F(Bf16Run, TwoStagesOfWhichOneIsKilledHaveTheBitsOfOneProcess) {
  const SmallRun run = exact_run(2, 1, kEndless);
  Program& program = scene_.start(train(scene_, "run", run));
  ASSERT_TRUE(wait_until([&] { return scene_.worker_of("node1").has_value(); }, kRunLimit));
  const ProcessEntry victim = *scene_.worker_of("node1");
  ASSERT_TRUE(scene_.wait_for_steps(5));
  ASSERT_EQ(::kill(victim.pid, SIGKILL), 0);
  const auto losses = [&] { return std::ranges::count(scene_.records().events, "process_lost", &EventLine::event); };
  ASSERT_TRUE(wait_until([&] { return losses() == 1; }, kRunLimit));
  ASSERT_TRUE(scene_.wait_for_steps(scene_.records().steps.size() + 10));
  ASSERT_TRUE(scene_.stop_and_repeat_single(program, run));
  EXPECT_EQ(scene_.records().weights().size(), 64U);
  EXPECT_EQ(scene_.records().weights(), scene_.records("single").weights());
  const std::string steps = std::to_string(scene_.records().finals.back().steps);
  const SmallRun fp32{2, 1, kEndless, {"sync.reduction=exact"}};
  ASSERT_EQ(scene_.run_to_end(train(scene_, "fp32", fp32, {"--single", "--steps", steps})), 0);
  EXPECT_NE(scene_.records().weights(), scene_.records("fp32").weights()) << "the control: it is another precision";
}

TEST_F(Bf16Run, EveryWiringHasTheBitsOfOneProcess) {
  const std::vector<std::string> llama = {"model.kind=llama", "model.kv_heads=1", "model.qk_norm=true"};
  for (const auto& [name, more] : std::map<std::string, std::vector<std::string>>{
           {"gpt2", {}}, {"llama", llama}, {"again", {"pipeline.recompute=true"}}}) {
    ASSERT_EQ(scene_.run_to_end(train(scene_, name + "-single", exact_run(1, 1, 12, more), {"--single"})), 0);
    for (const auto& [stages, replicas] : {std::pair{1, 2}, std::pair{4, 1}}) {
      const std::string wired = name + std::to_string(stages) + "x" + std::to_string(replicas);
      ASSERT_EQ(scene_.run_to_end(train(scene_, wired, exact_run(stages, replicas, 12, more))), 0);
      EXPECT_EQ(scene_.records(wired).weights(), scene_.records(name + "-single").weights()) << wired;
    }
  }
  EXPECT_NE(scene_.records("gpt2-single").weights(), scene_.records("llama-single").weights()) << "control";
}

TEST_F(Bf16Run, GoesOnInItsPrecisionAndOnABranchInAnother) {
  const SmallRun run = exact_run(2, 1, 8);
  ASSERT_EQ(scene_.run_to_end(train(scene_, "whole", run)), 0);
  ASSERT_EQ(scene_.run_to_end(train(scene_, "run", run, {"--steps", "4"})), 0);
  const std::vector<std::string> resume = {"train", "--resume", scene_.run().string()};
  auto changed = resume;
  changed.insert(changed.end(), {"--set", "model.precision=fp32"});
  Program& refused = scene_.start(changed);
  ASSERT_EQ(refused.wait(kRunLimit), 2);
  EXPECT_NE(refused.err().find("model.precision may change on a branch"), std::string::npos) << refused.err();
  ASSERT_EQ(scene_.run_to_end(resume), 0);
  EXPECT_EQ(scene_.records().weights(), scene_.records("whole").weights());
  changed.insert(changed.end(), {"--branch", "wide", "--from", "4"});
  ASSERT_EQ(scene_.run_to_end(changed), 0);
  EXPECT_NE(scene_.records().weights(), scene_.records("whole").weights());
  ASSERT_EQ(scene_.run_to_end({"eval", scene_.run("whole").string()}), 0);
  ASSERT_EQ(scene_.run_to_end({"sample", scene_.run("whole").string(), "--tokens", "3"}), 0);
}

TEST_F(Bf16Run, IsRefusedWhereTheProcessorHasNoUnits) {
  ASSERT_EQ(scene_.run_to_end(train(scene_, "run", exact_run(1, 1, 2), {"--single"})), 0);
  scene_.set_environment({{"SHOAL_BF16", "none"}});
  const std::vector<std::vector<std::string>> refused = {train(scene_, "one", exact_run(1, 1, 2), {"--single"}),
                                                         train(scene_, "two", exact_run(2, 1, 2)),
                                                         {"eval", scene_.run().string()},
                                                         {"sample", scene_.run().string(), "--tokens", "3"}};
  for (const auto& command : refused) {
    Program& program = scene_.start(command);
    EXPECT_EQ(program.wait(kRunLimit), 2) << command.front();
    EXPECT_NE(program.err().find("avx512_bf16"), std::string::npos) << program.err();
  }
  EXPECT_FALSE(std::filesystem::exists(scene_.run("one"))) << "nothing is left behind";
  ASSERT_EQ(scene_.run_to_end(train(scene_, "fp32", {1, 1, 2, {}}, {"--single"})), 0) << "control";
}

}  // namespace
}  // namespace shoal::precision_test
