// Activations and gradients in fewer bytes between real processes: how many, that the model still learns, and that the
// promise of exact mode holds: any replicas, any death, the same bits.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/process_scene.h"

namespace shoal::activations_test {
namespace {

constexpr std::uint64_t kMicrobatches = 8;
constexpr std::uint64_t kValues = 2 * 32 * 32;  // [B,T,C]

SmallRun run_with(const std::string& form, int replicas, int steps) {
  return {2, replicas, steps, {"sync.reduction=exact", "pipeline.activations=" + form}};
}

struct StepBytes {
  std::uint64_t activation = 0;
  std::uint64_t gradient = 0;
};

// Bytes of a step in which nothing was sent twice: those of the step with the fewest.
StepBytes step_bytes(const RunRecords& records) {
  StepBytes fewest{UINT64_MAX, UINT64_MAX};
  for (const StepLine& line : records.steps) {
    const auto bytes = nlohmann::json::parse(line.text).at("bytes");
    fewest.activation = std::min(fewest.activation, bytes.at("activation").get<std::uint64_t>());
    fewest.gradient = std::min(fewest.gradient, bytes.at("gradient").get<std::uint64_t>());
  }
  return fewest;
}

double mean_of_last(const RunRecords& records, std::size_t count) {
  const auto losses = records.losses();
  double sum = 0;
  for (std::size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
  return sum / static_cast<double>(count);
}

TEST(Activations, TakeAHalfOrAQuarterOfTheBytesAndTheModelLearnsAsWell) {
  ProcessScene scene;
  for (const std::string form : {"fp32", "bf16", "int8"}) {
    ASSERT_EQ(scene.run_to_end(train(scene, form, run_with(form, 1, 40))), 0);
    ASSERT_EQ(scene.records(form).steps.size(), 40U);
  }
  const auto plain = scene.records("fp32");
  const StepBytes all = step_bytes(plain);
  for (const auto& [form, tensor] :
       std::map<std::string, std::uint64_t>{{"bf16", 64 + kValues * 2}, {"int8", 64 + kValues / 256 * 4 + kValues}}) {
    const auto records = scene.records(form);
    const StepBytes bytes = step_bytes(records);
    const std::uint64_t saved = kMicrobatches * (kValues * 4 - tensor + 2 * 8);  // and two extents of the shape
    EXPECT_EQ(all.activation - bytes.activation, saved) << form;
    EXPECT_EQ(all.gradient - bytes.gradient, saved) << form;
    EXPECT_LT(mean_of_last(records, 5), records.losses().front() - 1) << form;
    EXPECT_NEAR(mean_of_last(records, 5), mean_of_last(plain, 5), 0.02 * mean_of_last(plain, 5)) << form;
    EXPECT_NE(records.weights(), plain.weights()) << form;
  }
}

class Activations : public testing::TestWithParam<const char*> {};

TEST_P(Activations, AreTheSameBytesWhoeverComputesThem) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", run_with(GetParam(), 2, kEndless)));
  ASSERT_TRUE(wait_until([&] { return scene.worker_of("node1").has_value(); }, kRunLimit));
  const ProcessEntry victim = *scene.worker_of("node1");
  ASSERT_TRUE(scene.wait_for_steps(5));
  ASSERT_EQ(::kill(victim.pid, SIGKILL), 0);
  const auto losses = [&] { return std::ranges::count(scene.records().events, "process_lost", &EventLine::event); };
  ASSERT_TRUE(wait_until([&] { return losses() == 1; }, kRunLimit));
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 10));
  const SmallRun narrow = run_with(GetParam(), 1, kEndless);
  ASSERT_TRUE(scene.stop_and_repeat_single(program, narrow));
  const std::string steps = std::to_string(scene.records().finals.back().steps);
  ASSERT_EQ(scene.run_to_end(train(scene, "undisturbed", narrow, {"--steps", steps})), 0);
  EXPECT_EQ(scene.records().weights().size(), 64U);
  EXPECT_EQ(scene.records().weights(), scene.records("undisturbed").weights());
  EXPECT_NE(scene.records().weights(), scene.records("single").weights()) << "the control: one process has no borders";
}

TEST_P(Activations, OfARunThatDivergesSaySo) {
  ProcessScene scene;
  SmallRun run = run_with(GetParam(), 1, 100);
  run.sets.insert(run.sets.end(), {"optim.lr=1e30", "optim.clip_norm=0"});
  Program& program = scene.start(train(scene, "run", run));
  ASSERT_EQ(program.wait(kRunLimit), 5) << program.err();
  EXPECT_EQ(std::ranges::count(scene.records().events, "stage_ended", &EventLine::event), 0);
}

INSTANTIATE_TEST_SUITE_P(Forms, Activations, testing::Values("bf16", "int8"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(Activations, KeepTheirFormWhenARunIsResumed) {
  ProcessScene scene;
  const SmallRun run = run_with("bf16", 1, 6);
  ASSERT_EQ(scene.run_to_end(train(scene, "whole", run)), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "run", run, {"--steps", "3"})), 0);
  const std::vector<std::string> words = {"train", "--resume", scene.run().string()};
  auto changed = words;
  changed.insert(changed.end(), {"--set", "pipeline.activations=int8"});
  Program& refused = scene.start(changed);
  ASSERT_EQ(refused.wait(kRunLimit), 2);
  EXPECT_NE(refused.err().find("pipeline.activations"), std::string::npos) << refused.err();
  ASSERT_EQ(scene.run_to_end(words), 0);
  EXPECT_EQ(scene.records().weights(), scene.records("whole").weights());
}

}  // namespace
}  // namespace shoal::activations_test
