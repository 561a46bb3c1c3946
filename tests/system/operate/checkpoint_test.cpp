// `shoal checkpoint`: a state that is asked for lies on the disk, complete; a run goes on from it with the bits of one
// that was never asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "runtime/storage/checkpoint_reader.h"
#include "tests/system/operate/commanded_run.h"

namespace shoal::checkpoint_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Milliseconds kSoon{60'000};

SmallRun small_run(std::vector<std::string> sets = {"sync.reduction=exact", "checkpoint.every=0"}) {
  return {2, 2, kEndless, std::move(sets)};
}

class AskedCheckpoint : public CommandedRun {
 protected:
  void start(const SmallRun& small = small_run()) {
    small_ = small;
    program_ = &scene.start(train(scene, "run", small));
    ASSERT_TRUE(scene.wait_for_steps(5));
  }
  [[nodiscard]] std::filesystem::path checkpoints() const { return scene.run() / "checkpoints"; }
  // Steps of the checkpoint that `out` names.
  [[nodiscard]] std::uint64_t step_said() const {
    const std::size_t at = out.rfind("step_");
    return at == std::string::npos ? 0 : std::stoull(out.substr(at + 5));
  }
  [[nodiscard]] testing::AssertionResult is_complete(std::uint64_t step) const {
    const auto opened = Checkpoint::open(checkpoint_folder(checkpoints(), step));
    if (!opened) return testing::AssertionFailure() << opened.failure().message;
    if (opened->manifest().files.size() == 2) return testing::AssertionSuccess();
    return testing::AssertionFailure() << opened->manifest().files.size() << " files";
  }
  void die() {
    program_->signal(SIGKILL);
    ASSERT_TRUE(scene.wait_until_all_gone(kSoon));
  }
  void stop() { EXPECT_THAT(scene.stop(*program_), testing::SizeIs(2)); }

  SmallRun small_;
  Program* program_ = nullptr;
};

TEST_F(AskedCheckpoint, LiesOnTheDiskAndIsGoneOnFromWithTheSameBits) {
  start();
  EXPECT_THAT(list_checkpoints(checkpoints()), IsEmpty()) << "the control: none would be there";
  ASSERT_EQ(order({"checkpoint", "--wait"}), 0) << said;
  const std::uint64_t step = step_said();
  EXPECT_EQ(out, checkpoint_folder(checkpoints(), step).string() + "\n");
  EXPECT_GE(step, 5U);
  EXPECT_TRUE(is_complete(step));
  ASSERT_TRUE(scene.wait_for_steps(step + 3)) << "training goes on";
  die();
  const std::string steps = std::to_string(step + 6);
  ASSERT_EQ(scene.run_to_end({"train", "--resume", scene.run().string(), "--steps", steps}), 0);
  const auto records = scene.records();
  EXPECT_TRUE(std::ranges::any_of(records.events, [&](const EventLine& line) {
    return line.event == "rolled_back" && line.reason.starts_with("from step " + std::to_string(step) + " of ");
  }));
  ASSERT_EQ(scene.run_to_end(train(scene, "single", small_, {"--single", "--steps", steps})), 0);
  EXPECT_EQ(records.weights(), scene.records("single").weights());
}

TEST_F(AskedCheckpoint, IsAnnouncedAtOnceWithoutWait) {
  start();
  ASSERT_EQ(order({"checkpoint"}), 0) << said;
  EXPECT_THAT(out, HasSubstr("the state after "));
  const std::uint64_t step = step_said();
  EXPECT_THAT(out, EndsWith(": " + checkpoint_folder(checkpoints(), step).string() + "\n"));
  EXPECT_TRUE(wait_until([&] { return is_complete(step) == testing::AssertionSuccess(); }, kSoon));
  stop();
  const auto records = scene.records();
  EXPECT_EQ(std::ranges::count(records.events, "checkpoint_asked", &EventLine::event), 1);
}

TEST_F(AskedCheckpoint, CountsAmongThoseThatAreKept) {
  start(small_run({"sync.reduction=exact", "checkpoint.every=0", "checkpoint.keep=1"}));
  ASSERT_EQ(order({"checkpoint", "--wait"}), 0) << said;
  const std::uint64_t first = step_said();
  ASSERT_TRUE(scene.wait_for_steps(first + 2));
  ASSERT_EQ(order({"checkpoint", "--wait"}), 0) << said;
  EXPECT_GT(step_said(), first);
  const auto is_alone = [&] { return list_checkpoints(checkpoints()) == std::vector{step_said()}; };
  EXPECT_TRUE(wait_until(is_alone, kSoon));
  stop();
}

TEST_F(AskedCheckpoint, IsWaitedForWhileTheSpawnerIsStartedAgain) {
  start();
  const auto spawner = named_like(scene.processes(), "internal-spawner");
  ASSERT_EQ(spawner.size(), 1U);
  ASSERT_EQ(::kill(spawner[0].pid, SIGKILL), 0);
  EXPECT_EQ(order({"checkpoint", "--wait"}), 0) << said;
  EXPECT_TRUE(is_complete(step_said()));
  stop();
}

TEST_F(AskedCheckpoint, OfARunOfRoundsIsCompleteToo) {
  start(small_run({"sync.mode=diloco", "sync.H=5", "pipeline.routing=static", "checkpoint.every=0"}));
  ASSERT_EQ(order({"checkpoint", "--wait"}), 0) << said;
  const std::uint64_t step = step_said();
  EXPECT_TRUE(is_complete(step));
  die();
  ASSERT_EQ(scene.run_to_end({"train", "--resume", scene.run().string(), "--steps", std::to_string(step + 7)}), 0);
  EXPECT_EQ(scene.records().finals.back().steps, step + 7);
}

TEST_F(AskedCheckpoint, HasALimitAndSaysWhatItWaitsFor) {
  start();
  ASSERT_EQ(order({"kill", "storage", "--how", "freeze=20"}), 0) << said;
  EXPECT_EQ(order({"checkpoint", "--wait", "--wait-timeout", "2"}), 4);
  EXPECT_THAT(said, HasSubstr("no checkpoint within 2 s: the state after "));
  EXPECT_EQ(order({"checkpoint", "--wait-timeout", "2"}), 2) << said;
  ASSERT_EQ(order({"checkpoint", "--wait"}), 0) << said;
  stop();
}

TEST_F(AskedCheckpoint, OfARunThatIsOverOrNotThereIsRefused) {
  ASSERT_EQ(scene.run_to_end(train(scene, "run", {1, 1, kEndless, {"checkpoint.every=0"}}, {"--steps", "4"})), 0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"checkpoint"}, {"checkpoint", "--wait"}}) {
    EXPECT_EQ(order(words), 4);
    EXPECT_THAT(said, HasSubstr("has finished"));
  }
  EXPECT_EQ(scene.run_to_end({"checkpoint", "--run", scene.run("nowhere").string()}), 2);
  ASSERT_EQ(scene.run_to_end(train(scene, "single", {1, 1, kEndless, {}}, {"--single", "--steps", "4"})), 0);
  Program& one = scene.start({"checkpoint", "--wait", "--run", scene.run("single").string()});
  EXPECT_EQ(one.wait(kRunLimit), 4);
  EXPECT_THAT(one.err(), HasSubstr("single"));
}

}  // namespace
}  // namespace shoal::checkpoint_test
