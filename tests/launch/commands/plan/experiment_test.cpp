// `shoal experiment`: its options, and that every experiment's arms are configurations that train.
#include "launch/commands/plan/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "launch/commands/run/devices.h"
#include "launch/experiments/diloco_swarm.h"
#include "launch/interface.h"
#include "runtime/base/config_file.h"
#include "runtime/base/machine/gpu_driver.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::experiment_test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

Result<ExperimentOptions> read(const std::vector<std::string>& words) {
  const auto options = parse_options(command_named("experiment"), words);
  if (!options) return options.failure();
  return experiment_options(*options);
}

std::string refusal(const std::vector<std::string>& words) {
  const auto options = read(words);
  if (options) return "accepted";
  EXPECT_EQ(options.failure().error, Error::kUsage);
  return options.failure().message;
}

Config config_of(const PlannedRun& run) {
  const auto config = load_config({std::nullopt, {}, run.settings});
  EXPECT_TRUE(config.ok()) << run.arm << ": " << (config ? "" : config.failure().message);
  return config ? *config : Config{};
}

TEST(ExperimentCommand, TakesItsOptions) {
  const auto options = read({"exp2", "--steps", "40", "--set", "run.seed=7", "--out", "there", "--dry-run"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->order.experiment.arms.size(), 5U);
  EXPECT_EQ(options->order.steps, 40U);
  EXPECT_EQ(options->order.folder, "there");
  EXPECT_TRUE(options->is_dry);
  EXPECT_EQ(options->command, "shoal experiment exp2 --steps 40 --set run.seed=7");
  EXPECT_EQ(read({"exp1"})->order.folder, "experiments/exp1-cpu");
}

TEST(ExperimentCommand, HelpSaysHowManyStepsAreTaken) {
  std::string help;
  for (const auto& option : command_named("experiment").options) {
    if (std::string(option.name) == "--steps") help = option.meaning;
  }
  for (const std::string& name : experiment_names()) {
    const auto steps = [&](ExperimentPreset preset) { return std::to_string(experiment_named(name, preset)->steps); };
    EXPECT_THAT(help, HasSubstr("default: " + steps(ExperimentPreset::kCpu) + ";")) << name;
    EXPECT_THAT(help, HasSubstr("gpu " + steps(ExperimentPreset::kGpu))) << name;
  }
}

TEST(ExperimentCommand, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refusal({"exp"}), HasSubstr("exp1, exp2 and exp3"));
  EXPECT_THAT(refusal({"exp1", "--preset", "tpu"}), HasSubstr("cpu or gpu"));
  EXPECT_THAT(refusal({"exp1", "--set", "run.steps=5"}), HasSubstr("--steps"));
  EXPECT_THAT(refusal({"exp1", "--set", "run.steps = 5"}), HasSubstr("--steps"));
  EXPECT_EQ(refusal({"exp1", "--preset", "gpu", "--dry-run"}), "accepted");
}

std::vector<std::string> commands_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(ExperimentCommand, APresetForGpusComputesThereInBf16) {
  for (const std::string& name : experiment_names()) {
    const auto options = read({name, "--preset", "gpu", "--out", "out"});
    ASSERT_TRUE(options.ok());
    const auto runs = planned_runs(options->order);
    const auto commands = commands_in(commands_on(options->devices, runs));
    ASSERT_EQ(commands.size(), runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      EXPECT_THAT(commands[i], EndsWith(" --out out/" + runs[i].arm + " --device cuda"));
      EXPECT_EQ(config_of(runs[i]).model.precision, Precision::kBf16) << runs[i].arm;
      EXPECT_THAT(arguments_on(options->devices, runs[i], RunState::kToResume),
                  ElementsAre("train", "--resume", runs[i].directory, "--device", "cuda"));
    }
    const auto control = read({name, "--out", "out"});
    ASSERT_TRUE(control.ok());
    const auto runs_on_processors = planned_runs(control->order);
    EXPECT_EQ(commands_on(control->devices, runs_on_processors), commands_text(runs_on_processors));
    EXPECT_EQ(config_of(runs_on_processors[0]).model.precision, Precision::kFp32);
  }
}

TEST(ExperimentCommand, SaysWithoutAGpuWhatEachCommandSaysAndWritesNothing) {
  const DriverAnswers driver = ask_gpu_driver();
  if (usable_devices(driver)) GTEST_SKIP() << "this machine has a GPU";
  const Scratch scratch;
  const std::string out = (scratch.path() / "there").string();
  const auto options = read({"exp1", "--preset", "gpu", "--out", out});
  ASSERT_TRUE(options.ok());
  const auto ended = run_experiment(*options);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.failure().error, Error::kUsage);
  EXPECT_EQ(ended.failure().message, settle_devices({"cuda"}, ask_gpu_driver).failure().message);
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(Experiments, HaveArmsThatAreConfigurations) {
  for (const std::string& name : experiment_names()) {
    for (const ExperimentPreset preset : {ExperimentPreset::kCpu, ExperimentPreset::kGpu}) {
      const auto experiment = experiment_named(name, preset);
      ASSERT_TRUE(experiment.ok());
      for (const PlannedRun& run : planned_runs({*experiment, "out", {}, {}})) {
        EXPECT_EQ(config_of(run).run.steps, static_cast<int>(experiment->steps));
      }
    }
  }
  auto broken = *experiment_named("exp1", ExperimentPreset::kCpu);
  broken.arms[0].settings.emplace_back("pipeline.replica=1");  // the control
  EXPECT_FALSE(load_config({std::nullopt, {}, planned_runs({broken, "out", {}, {}})[0].settings}).ok());
}

TEST(Experiments, AreCompleteInBothPresets) {
  for (const std::string& name : experiment_names()) {
    for (const ExperimentPreset preset : {ExperimentPreset::kCpu, ExperimentPreset::kGpu}) {
      const auto experiment = *experiment_named(name, preset);
      std::set<std::string> names;
      for (const ExperimentArm& arm : experiment.arms) {
        EXPECT_TRUE(names.insert(arm.name).second) << arm.name;
        EXPECT_GT(arm.published_perplexity, 1);
      }
      for (const ExperimentArm& arm : experiment.arms) {
        EXPECT_TRUE(arm.against.empty() || names.contains(arm.against)) << arm.name;
      }
    }
  }
}

TEST(Experiments, GiveASwarmFourTimesOneWorkersTokens) {
  const auto runs = planned_runs({*experiment_named("exp1", ExperimentPreset::kCpu), "out", {}, {}});
  ASSERT_EQ(runs.size(), 3U);
  const Config single = config_of(runs[0]);
  const Config swarm = config_of(runs[1]);
  const Config diloco = config_of(runs[2]);
  EXPECT_EQ(single.pipeline.stages * single.pipeline.replicas, 1);
  EXPECT_EQ(swarm.pipeline.stages * swarm.pipeline.replicas, 8);
  EXPECT_EQ(swarm.batch.sequences, 4 * single.batch.sequences);
  EXPECT_EQ(diloco.batch.sequences, swarm.batch.sequences);
  EXPECT_EQ(swarm.sync.mode, SyncMode::kEveryStep);
  EXPECT_EQ(diloco.sync.mode, SyncMode::kDiloco);
  EXPECT_EQ(diloco.sync.H, 50);
}

}  // namespace
}  // namespace shoal::experiment_test
