// Arms to runs, and what is left to do of them.
#include "runtime/experiment/experiment_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::experiment_plan_test {
namespace {

using testing::ElementsAre;

Experiment two_arms() {
  Experiment out;
  out.name = "exp";
  out.steps = 20;
  out.settings = {"model.layers=4", "eval.every=5"};
  out.arms = {{"one", "one worker", {"pipeline.replicas=1"}, "", 20, 1},
              {"two", "two workers", {"pipeline.replicas=2", "model.layers=6"}, "one", 10, 2}};
  return out;
}

RunOutcome finished(std::uint64_t steps) {
  RunOutcome outcome;
  outcome.finished_step = steps;
  return outcome;
}

TEST(ExperimentPlan, LetsLaterSettingsWin) {
  const auto runs = planned_runs({two_arms(), "out", 40, {"eval.every=7"}});
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].arm, "two");
  EXPECT_EQ(runs[1].directory, "out/two");
  EXPECT_EQ(runs[1].steps, 40U);
  EXPECT_THAT(runs[1].settings, ElementsAre("model.layers=4", "eval.every=5", "pipeline.replicas=2", "model.layers=6",
                                            "run.steps=40", "eval.every=7"));
  EXPECT_EQ(planned_runs({two_arms(), "out", {}, {}})[0].steps, 20U);
}

TEST(ExperimentPlan, PrintsCommandsThatAShellReadsBack) {
  const auto runs = planned_runs({two_arms(), "an out", {}, {"optim.betas=[0.9, 0.95]", "run.name=it's"}});
  const std::string text = commands_text(runs);
  EXPECT_THAT(text, testing::StartsWith("shoal train --set model.layers=4 --set eval.every=5 --set pipeline.replicas=1 "
                                        "--set run.steps=20 --set 'optim.betas=[0.9, 0.95]' --set 'run.name=it'\\''s' "
                                        "--out 'an out/one'\nshoal train"));
}

TEST(ExperimentPlan, GoesOnWithWhatIsThere) {
  const PlannedRun run = planned_runs({two_arms(), "out", {}, {}})[0];
  EXPECT_EQ(state_of(run, false, {}), RunState::kToStart);
  EXPECT_EQ(state_of(run, true, {}), RunState::kToResume);
  EXPECT_EQ(state_of(run, true, finished(19)), RunState::kToResume);
  EXPECT_EQ(state_of(run, true, finished(20)), RunState::kFinished);
  EXPECT_THAT(arguments_of(run, RunState::kToResume), ElementsAre("train", "--resume", "out/one"));
}

TEST(ExperimentPlan, LeavesAFolderWithOtherCommandsAlone) {
  const std::string asked = commands_text(planned_runs({two_arms(), "out", {}, {}}));
  const std::string other = commands_text(planned_runs({two_arms(), "out", 21, {}}));
  EXPECT_TRUE(check_same_commands(std::nullopt, asked, "out").ok());
  EXPECT_TRUE(check_same_commands(asked, asked, "out").ok());
  const auto refused = check_same_commands(other, asked, "out");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kUsage);
  EXPECT_THAT(refused.failure().message, testing::HasSubstr("out/commands.txt"));
}

TEST(ExperimentPlan, WarnsOfFewerStepsThanARound) {
  Config config;
  config.sync.mode = SyncMode::kDiloco;
  config.sync.H = 50;
  config.run.steps = 49;
  EXPECT_NE(warning_about("slow", config).find("slow: 49 steps are less than one round"), std::string::npos);
  config.run.steps = 50;
  EXPECT_EQ(warning_about("slow", config), "");
  config.run.steps = 1;
  config.sync.mode = SyncMode::kEveryStep;
  EXPECT_EQ(warning_about("fast", config), "");
}

}  // namespace
}  // namespace shoal::experiment_plan_test
