// Tests what a run starts from where no checkpoint is found.
#include "launch/processes/start_points.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/storage/checkpoint_reader.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::start_points_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

class FindStart : public testing::Test {
 protected:
  [[nodiscard]] Result<StartPoint> find(const FindCheckpoint& wanted) const {
    return find_start_point({RunDirectory{scratch_.path() / "run"}, {}, RunId{9}, "text"}, wanted);
  }
  const Scratch scratch_;
};

TEST_F(FindStart, BeginsARunThatNeverSavedAnything) {
  const auto start = find({});
  ASSERT_TRUE(start.ok()) << start.failure().message;
  EXPECT_EQ(start->version, 0U);
  EXPECT_FALSE(start->from_checkpoint);
}

// Its answer may come when it is not awaited any more.
TEST_F(FindStart, LeavesItToTheSupervisorToSayWhatComesOfItsLook) {
  for (const std::uint64_t look : {0, 1}) {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(find({.look = look}).ok());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("starting from the beginning") != std::string::npos, look == 0) << said;
  }
}

// Nothing in a directory that is away tells of a checkpoint.
TEST_F(FindStart, WaitsForTheFolderOfARunThatHasSavedOne) {
  for (const std::uint64_t saved : {std::uint64_t{100}, std::uint64_t{0}}) {
    for (const bool passes_unreadable : {false, true}) {
      const auto start = find({150, passes_unreadable, saved});
      ASSERT_FALSE(start.ok());
      EXPECT_EQ(start.failure().error, Error::kIo) << "it may come back";
      EXPECT_THAT(start.failure().message, HasSubstr("bring the folder back"));
    }
  }
}

TEST_F(FindStart, DoesNotWaitForOneThatIsBeyondWhatIsWanted) { EXPECT_TRUE(find({99, false, 100}).ok()); }

class CheckCanGoOn : public testing::Test {
 protected:
  CheckCanGoOn() {
    fs::create_directories(run_.checkpoints({}));
    std::ofstream(run_.metrics()) << R"({"event":"checkpoint","subject":"step_100","reason":"","step":100})" << '\n';
  }
  void damage(std::uint64_t step) const {
    const auto folder = checkpoint_folder(run_.checkpoints({}), step);
    fs::create_directories(folder);
    std::ofstream(folder / "manifest.json") << "{";
  }
  [[nodiscard]] std::string refusal() const {
    const Status status = check_can_go_on(run_, {});
    return status ? std::string() : status.failure().message;
  }
  const Scratch scratch_;
  const RunDirectory run_{scratch_.path() / "run"};
};

TEST_F(CheckCanGoOn, NamesWhatIsDamagedWhereNoManifestCanBeRead) {
  damage(50);
  damage(100);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("step_100/manifest.json"), HasSubstr("restore the checkpoint from a copy")));
}

TEST_F(CheckCanGoOn, AsksForTheFolderWhereNoCheckpointIs) {
  EXPECT_THAT(refusal(), AllOf(HasSubstr("after 100 steps"), HasSubstr("bring the folder back")));
}

}  // namespace
}  // namespace shoal::start_points_test
