// A run's evaluations as a person sees them: each says on how much text it was made, the two kinds have names of their
// own, and on the same windows all ways to evaluate a checkpoint say the same.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/process_scene.h"

namespace shoal::evaluations_test {
namespace {

constexpr std::uint64_t kSequences = 16;  // those of a batch of the small run

// Returns the number that `shoal eval` prints after this word.
double number_of(const std::string& printed, const std::string& word) {
  const auto at = printed.find(word + " ");
  EXPECT_NE(at, std::string::npos) << printed;
  return at == std::string::npos ? NAN : std::stod(printed.substr(at + word.size() + 1));
}

double evaluated(ProcessScene& scene, const std::string& name, std::uint64_t step, const std::string& batches) {
  Program& eval = scene.start({"eval", scene.run(name).string(), "--step", std::to_string(step), "--batches", batches});
  EXPECT_EQ(eval.wait(kRunLimit), 0) << eval.err();
  EXPECT_EQ(number_of(eval.out(), "windows"), std::stod(batches) * kSequences);
  return number_of(eval.out(), "loss");
}

SmallRun small_run(std::vector<std::string> more) {
  std::vector<std::string> sets = {"eval.every=5", "eval.batches=2", "checkpoint.every=5", "checkpoint.keep=0",
                                   "sync.reduction=exact"};
  sets.insert(sets.end(), more.begin(), more.end());
  return {2, 2, 10, sets};
}

class Evaluations : public testing::TestWithParam<std::vector<std::string>> {};

// A run that ends at a step, and one that goes on beyond it, evaluate one checkpoint in both ways.
TEST_P(Evaluations, OfOneCheckpointOnTheSameWindowsAreEqualToTheBit) {
  ProcessScene scene;
  const SmallRun run = small_run({"eval.final_batches=2"});
  std::vector<std::string> to_step_5 = GetParam();
  to_step_5.insert(to_step_5.end(), {"--steps", "5"});
  ASSERT_EQ(scene.run_to_end(train(scene, "ended", run, to_step_5)), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "whole", run, GetParam())), 0);
  const auto ended = scene.records("ended").evaluations;
  const auto whole = scene.records("whole").evaluations;
  ASSERT_EQ(ended.size(), 1U);
  ASSERT_EQ(whole.size(), 2U);
  EXPECT_TRUE(ended[0].is_final);
  EXPECT_FALSE(whole[0].is_final);
  EXPECT_TRUE(whole[1].is_final);
  EXPECT_EQ(ended[0].windows, 2 * kSequences);
  EXPECT_EQ(whole[0].windows, ended[0].windows);
  EXPECT_EQ(whole[0].tokens, ended[0].tokens);
  EXPECT_EQ(whole[0].val_loss, ended[0].val_loss);
  EXPECT_NEAR(evaluated(scene, "whole", 5, "2"), whole[0].val_loss, 1e-6);
  EXPECT_GT(std::abs(evaluated(scene, "whole", 5, "1") - whole[0].val_loss), 1e-5) << "the control: other windows";
}

INSTANTIATE_TEST_SUITE_P(Pipeline, Evaluations, testing::Values(std::vector<std::string>{}));
INSTANTIATE_TEST_SUITE_P(OneProcess, Evaluations, testing::Values(std::vector<std::string>{"--single"}));

// A data loader says every tenth of a second how far it is: the text and its pieces are such that it takes longer.
TEST(Evaluation, TheFinalOneShowsHowFarItIsAndHasANameOfItsOwn) {
  ProcessScene scene;
  const std::uint64_t validation = std::filesystem::file_size(scene.text()) / 2;
  const SmallRun run = small_run({"data.validation_fraction=0.5", "batch.microbatch=1"});
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, std::vector<std::string>{"--single"}}) {
    const std::string name = words.empty() ? "run" : "single";
    Program& program = scene.start(train(scene, name, run, words));
    ASSERT_EQ(program.wait(kRunLimit), 0);
    const auto lines = scene.records(name).evaluations;
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_LT(lines[0].windows, lines[1].windows);
    EXPECT_EQ(lines[1].tokens, validation - 1) << "0: all";
    const std::string shown = program.err();
    EXPECT_NE(shown.find("\neval at step 5: validation loss "), std::string::npos) << shown;
    EXPECT_NE(shown.find("final eval at step 10: final validation loss "), std::string::npos) << shown;
    EXPECT_NE(shown.find(" of " + std::to_string(lines[1].windows) + " windows\n"), std::string::npos) << shown;
    EXPECT_NE(shown.find("picture: " + (scene.run(name) / "plot.svg").string()), std::string::npos) << shown;
    EXPECT_TRUE(std::filesystem::exists(scene.run(name) / "plot.svg"));
  }
  const std::string file = (scene.run() / "both.svg").string();
  Program& plot = scene.start({"plot", scene.run().string(), scene.run("single").string(), "--out", file});
  EXPECT_EQ(plot.wait(kRunLimit), 0) << plot.err();
  EXPECT_EQ(plot.out(), file + "\n");
  Program& nowhere = scene.start({"plot", scene.run().string(), scene.run("none").string(), "--out", file + "2"});
  EXPECT_EQ(nowhere.wait(kRunLimit), 2);
  EXPECT_NE(nowhere.err().find("none: there is no such directory"), std::string::npos) << nowhere.err();
  EXPECT_FALSE(std::filesystem::exists(file + "2"));
}

// The validation windows are the end of the text: of another text they are others.
TEST(Evaluation, OfATextThatHasChangedSaysSo) {
  ProcessScene scene;
  const SmallRun run{1, 1, 2, {"eval.every=0"}};
  ASSERT_EQ(scene.run_to_end(train(scene, "run", run, {"--single"})), 0);
  const std::string words = "was trained on another text, or with another tokenizer";
  Program& same = scene.start({"eval", scene.run().string(), "--batches", "1"});
  EXPECT_EQ(same.wait(kRunLimit), 0);
  EXPECT_EQ(same.err().find(words), std::string::npos) << "the control: " << same.err();
  std::ofstream(scene.text(), std::ios::app) << "One more sentence.";
  Program& changed = scene.start({"eval", scene.run().string(), "--batches", "1"});
  EXPECT_EQ(changed.wait(kRunLimit), 0);
  EXPECT_NE(changed.err().find(words), std::string::npos) << changed.err();
}

// Eager updates put every replica ahead of what all agreed on, and a checkpoint holds both.
TEST(Evaluation, OfAnEagerRunAreOfTheWeightsThatItSaves) {
  ProcessScene scene;
  const SmallRun run = small_run({"sync.reduction=fast", "sync.mode=diloco", "sync.H=5", "sync.outer_update=eager",
                                  "run.steps=20", "eval.final_batches=2"});
  Program& program = scene.start(train(scene, "run", run, {}));
  ASSERT_EQ(program.wait(kRunLimit), 0);
  const auto lines = scene.records().evaluations;
  ASSERT_EQ(lines.size(), 4U);
  for (const EvalLine& line : lines) {
    EXPECT_NEAR(evaluated(scene, "run", line.step, "2"), line.val_loss, 1e-5) << line.step;
  }
  EXPECT_GT(std::abs(lines[0].val_loss - lines[1].val_loss), 1e-3) << "the control";
  EXPECT_NE(program.err().find("of the agreed weights)"), std::string::npos) << program.err();
}

}  // namespace
}  // namespace shoal::evaluations_test
