// Tests what a run starts from, and when a start is refused: no checkpoint is found, or one that its journal lacks.
#include "launch/processes/start_points.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/storage/checkpoint_reader.h"
#include "runtime/trace/metrics/step_record.h"
#include "runtime/transport/identity.h"
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

// A run in which the journal has ten steps, and whose checkpoints may lie in a folder that other copies of its
// directory share. It has no certificates, so that every checkpoint is its own by its folder.
class CheckJournal : public testing::Test {
 protected:
  CheckJournal() {
    config_.checkpoint.dir = (scratch_.path() / "shared").string();
    fs::create_directories(run_.root);
    append(AddReplica{StageId{0}, ReplicaId{0}, Incarnation{1}, ProcessIncarnation{1}, 0});
    for (std::uint64_t step = 0; step < 10; ++step) commit(step);
    line(0, 9, 11);
  }
  void append(JournalBody body, std::uint32_t branch = 0) {
    const JournalPosition next{journal_->last_position().value + 1};
    ASSERT_TRUE(journal_->append({next, Branch{branch}, Term{1}, std::move(body)}).ok());
  }
  void commit(std::uint64_t step, std::uint32_t branch = 0) {
    Commit committed;
    committed.step = StepId{step};
    append(committed, branch);
  }
  void line(std::uint32_t branch, std::uint64_t step, std::uint64_t view) const {
    StepRecord record;
    record.branch = branch;
    record.step = step;
    record.view = view;
    std::ofstream(run_.metrics(), std::ios::app) << to_json_line(record) << '\n';
  }
  void event(RunEventKind kind, std::uint64_t step) const {
    std::ofstream(run_.metrics(), std::ios::app) << to_json_line(RunEvent{kind, "run", "a reason", step}) << '\n';
  }
  void save(std::uint64_t step, std::uint32_t branch = 0, RunId run = kRun) const {
    const auto folder = folder_of_step(config_.checkpoint.dir, step);
    fs::create_directories(folder);
    CheckpointManifest manifest;
    manifest.run = run_text(run);
    manifest.branch = branch;
    manifest.step = step;
    manifest.files["stage_0.safetensors"] = {};
    std::ofstream(folder / "manifest.json") << to_json(manifest);
  }
  [[nodiscard]] std::string refusal() const {
    const Status status = check_journal({run_, config_, kRun, {}}, *journal_, false);
    if (status) return {};
    EXPECT_EQ(status.failure().error, Error::kInvalidData);
    return status.failure().message;
  }
  static constexpr RunId kRun{7};
  const Scratch scratch_;
  const RunDirectory run_{scratch_.path() / "run"};
  Config config_;
  const std::unique_ptr<JournalStore> journal_ = make_memory_journal(kRun);
};

// The directory was restored from a copy, or copied, with all that it says of itself; the checkpoints lie elsewhere.
TEST_F(CheckJournal, RefusesToGoOnBehindACheckpointThatNothingInTheDirectoryTellsOf) {
  save(10);
  EXPECT_EQ(refusal(), "") << "the control";
  save(20);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("journal.db ends after 10 steps of branch 0"),
                               HasSubstr("shared/step_20 of this run after 20 steps of branch 0"),
                               HasSubstr("restore it from a copy"), HasSubstr("move the newer checkpoints")));
}

TEST_F(CheckJournal, KnowsThatALaterBranchIsFurtherWithFewerSteps) {
  save(8, 1);
  EXPECT_THAT(refusal(), HasSubstr("after 8 steps of branch 1"));
  append(AddReplica{StageId{0}, ReplicaId{0}, Incarnation{2}, ProcessIncarnation{2}, 5}, 1);
  EXPECT_NE(refusal(), "") << "it begins the branch before those steps";
  for (std::uint64_t step = 5; step < 8; ++step) commit(step, 1);
  EXPECT_EQ(refusal(), "");
  save(12, 0);
  EXPECT_EQ(refusal(), "") << "it was left behind by the branch";
}

TEST_F(CheckJournal, GoesOnAfterStepsThatOneProcessTrained) {
  save(20);
  line(0, 19, 0);
  EXPECT_EQ(refusal(), "");
  save(25);
  EXPECT_NE(refusal(), "") << "of these steps nothing tells";
}

// One process was stopped before its first step, and has saved the state that it went on from as a branch's.
TEST_F(CheckJournal, GoesOnAfterAStartWithoutStepsInOneProcess) {
  save(5, 1);
  EXPECT_NE(refusal(), "");
  event(RunEventKind::kRolledBack, 5);
  EXPECT_EQ(refusal(), "");
  event(RunEventKind::kResumed, 4);
  EXPECT_NE(refusal(), "") << "another state";
}

TEST_F(CheckJournal, TakesNoCheckpointOfAnotherRunForItsOwn) {
  save(20, 0, RunId{8});
  EXPECT_EQ(refusal(), "");
}

TEST_F(CheckJournal, ReadsASnapshotInPlaceOfTheOldestEntries) {
  JournalSnapshot past;
  past.view.position = journal_->last_position();
  past.view.committed_steps = 10;
  ASSERT_TRUE(journal_->cut(past).ok());
  save(10);
  EXPECT_EQ(refusal(), "");
  save(11);
  EXPECT_NE(refusal(), "");
  commit(10);
  EXPECT_EQ(refusal(), "");
}

}  // namespace
}  // namespace shoal::start_points_test
