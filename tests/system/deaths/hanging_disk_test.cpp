// A disk that hangs while all look for the checkpoint to go back to, as a network file system does: the run answers
// meanwhile, goes on when the disk does, also under another spawner, and ends when it is told to.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/compose.h"
#include "runtime/storage/checkpoint_reader.h"
#include "tests/support/process_scene.h"
#include "tests/system/deaths/counted_events.h"

namespace shoal::hanging_disk_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr Milliseconds kSoon{60'000};
constexpr Milliseconds kAtOnce{20'000};

class HangingDisk : public testing::Test {
 protected:
  // Trains until a checkpoint is there, whose manifest is a pipe then: whoever opens it waits for who writes. Then a
  // stage loses its only replica.
  void lose_a_stage_on_a_hanging_disk() {
    program_ = &scene_.start(train(scene_, "run", small_));
    ASSERT_TRUE(scene_.wait_for_steps(5));
    ASSERT_EQ(scene_.run_to_end({"checkpoint", "--wait", "--run", scene_.run().string()}), 0);
    const auto saved = list_checkpoints(scene_.run() / "checkpoints");
    ASSERT_EQ(saved.size(), 1U);
    manifest_ = checkpoint_folder(scene_.run() / "checkpoints", saved.front()) / "manifest.json";
    fs::rename(manifest_, kept());
    ASSERT_EQ(::mkfifo(manifest_.c_str(), 0600), 0);
    ASSERT_EQ(scene_.run_to_end({"kill", "stage/1/0", "--how", "throw", "--run", scene_.run().string()}), 0);
  }
  [[nodiscard]] fs::path kept() const { return scene_.run() / "manifest.kept"; }
  // The words of `shoal status`, or of its failure.
  [[nodiscard]] std::string status() {
    Program& asked = scene_.start({"status", "--run", scene_.run().string()});
    const auto ended = asked.wait(kSoon);
    return ended == 0 ? asked.out() : compose("status ", ended.value_or(-1), ": ", asked.err());
  }
  // The pipe gets the bytes that were there, and its place the file.
  void let_the_disk_go_on() {
    const std::string bytes = read_all(kept());
    const int pipe = ::open(manifest_.c_str(), O_WRONLY);
    ASSERT_GE(pipe, 0);
    fs::rename(kept(), manifest_);
    ASSERT_EQ(::write(pipe, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::close(pipe);
  }

  void expect_the_run_goes_on() {
    ASSERT_TRUE(wait_until([&] { return count_of(scene_.records(), "rolled_back") == 1; }, kSoon)) << program_->err();
    ASSERT_TRUE(scene_.wait_for_steps(scene_.records().steps.size() + 10));
    ASSERT_TRUE(scene_.stop_and_repeat_single(*program_, small_));
    EXPECT_EQ(scene_.records().weights(), scene_.records("single").weights());
  }

  ProcessScene scene_;
  SmallRun small_{2, 1, kEndless, {"sync.reduction=exact", "checkpoint.every=0"}};
  Program* program_ = nullptr;
  fs::path manifest_;
};

TEST_F(HangingDisk, IsWaitedForByARunThatAnswersMeanwhile) {
  lose_a_stage_on_a_hanging_disk();
  ASSERT_FALSE(HasFatalFailure());
  std::string said;
  const auto is_looking = [&] { return (said = status()).find("looking for a checkpoint") != std::string::npos; };
  EXPECT_TRUE(wait_until(is_looking, kSoon)) << said;
  let_the_disk_go_on();
  ASSERT_FALSE(HasFatalFailure());
  expect_the_run_goes_on();
}

TEST_F(HangingDisk, IsReadByTheNextSpawnerWhereTheFirstOneDiesAtIt) {
  lose_a_stage_on_a_hanging_disk();
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_TRUE(wait_until([&] { return count_of(scene_.records(), "stage_lost") == 1; }, kSoon));
  const auto spawner = named_like(scene_.processes(), "internal-spawner");
  ASSERT_EQ(spawner.size(), 1U);
  ASSERT_EQ(::kill(spawner.front().pid, SIGKILL), 0);
  const auto is_another_there = [&] {
    const auto next = named_like(scene_.processes(), "internal-spawner");
    return next.size() == 1 && next.front().pid != spawner.front().pid;
  };
  ASSERT_TRUE(wait_until(is_another_there, kSoon));
  let_the_disk_go_on();
  ASSERT_FALSE(HasFatalFailure());
  expect_the_run_goes_on();
}

TEST_F(HangingDisk, HoldsUpNoEnd) {
  lose_a_stage_on_a_hanging_disk();
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_TRUE(wait_until([&] { return count_of(scene_.records(), "stage_lost") == 1; }, kSoon));
  program_->signal(SIGINT);
  EXPECT_EQ(program_->wait(kAtOnce), 130) << program_->err();
  EXPECT_TRUE(scene_.wait_until_all_gone(kAtOnce)) << describe(scene_.processes());
  ASSERT_EQ(scene_.records().finals.size(), 1U);
  EXPECT_EQ(scene_.records().finals.back().event, "stopped");
  EXPECT_EQ(program_->err().find("its end took longer"), std::string::npos) << program_->err();
}

}  // namespace
}  // namespace shoal::hanging_disk_test
