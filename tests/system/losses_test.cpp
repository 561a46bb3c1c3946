// The same mathematics with real processes: losses per step of plain PyTorch's recording (tests/reference), within
// 2e-4, for one process and for pipelines, fast mode, a clipping that bites. And real text teaches a model.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/process_scene.h"

namespace shoal::losses_test {
namespace {

constexpr double kTolerance = 2e-4;

struct Recording {
  std::vector<std::string> sets;
  std::vector<double> losses;
};

Recording read_recording() {
  std::ifstream file(SHOAL_SOURCE_DIR "/tests/reference/small.json");
  const auto json = nlohmann::json::parse(file);
  Recording recording;
  for (const auto& [section, keys] : json.items()) {
    if (section == "recorded" || section == "data") continue;
    for (const auto& [key, value] : keys.items()) recording.sets.push_back(section + "." + key + "=" + value.dump());
  }
  recording.losses = json.at("recorded").at("losses").get<std::vector<double>>();
  return recording;
}

double largest_difference(const std::vector<double>& some, const std::vector<double>& others) {
  double largest = some.size() == others.size() ? 0 : 1e9;
  for (std::size_t i = 0; i < std::min(some.size(), others.size()); ++i)
    largest = std::max(largest, std::fabs(some[i] - others[i]));
  return largest;
}

void expect_recorded_losses(int stages, int replicas, const std::vector<std::string>& words) {
  ProcessScene scene;
  const Recording recording = read_recording();
  const SmallRun run{stages, replicas, static_cast<int>(recording.losses.size()), recording.sets};
  ASSERT_EQ(scene.run_to_end(train(scene, "run", run, words)), 0);
  const auto losses = scene.records().losses();
  EXPECT_LE(largest_difference(losses, recording.losses), kTolerance);
  // Shifted by one step they differ: the comparison can fail.
  const std::vector<double> shifted(losses.begin() + 1, losses.end());
  EXPECT_GT(largest_difference(shifted, {recording.losses.begin(), recording.losses.end() - 1}), kTolerance);
}

TEST(Losses, OfOneProcessAreThoseOfPyTorch) { expect_recorded_losses(2, 2, {"--single"}); }
TEST(Losses, OfTwoStagesAreThoseOfPyTorch) { expect_recorded_losses(2, 1, {}); }
TEST(Losses, OfTwoStagesAndTwoReplicasAreThoseOfPyTorch) { expect_recorded_losses(2, 2, {}); }
TEST(Losses, OfThreeStagesAreThoseOfPyTorch) { expect_recorded_losses(3, 1, {}); }

TEST(Losses, OfFourStagesAreThoseOfOneProcess) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "single", {4, 1, 50, {}}, {"--single"})), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "run", {4, 1, 50, {}})), 0);
  EXPECT_EQ(scene.records().steps.size(), 50U);
  EXPECT_LE(largest_difference(scene.records().losses(), scene.records("single").losses()), kTolerance);
}

TEST(Losses, FallOnRealText) {
  ProcessScene scene;
  Program& fetch = scene.start({"data", "fetch", "austen"});
  ASSERT_TRUE(fetch.wait(kRunLimit).has_value());
  if (fetch.status() != 0) GTEST_SKIP() << "the text cannot be had here: " << fetch.err();
  // A step of 2048 bytes: enough of them for the shape of English to show, in seconds.
  const std::vector<std::string> sets = {"data.corpus=austen", "batch.sequences=64", "batch.microbatch=8",
                                         "eval.batches=10", "eval.every=30"};
  ASSERT_EQ(scene.run_to_end(train(scene, "run", {2, 2, 60, sets})), 0);
  const auto records = scene.records();
  ASSERT_EQ(records.evaluations.size(), 2U);
  EXPECT_GT(records.losses().front(), 5.3);
  EXPECT_LT(records.losses().back(), 3.4);
  EXPECT_LT(records.evaluations.back().val_loss, 3.4);
}

}  // namespace
}  // namespace shoal::losses_test
