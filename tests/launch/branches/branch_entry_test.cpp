// A branch begins whole or not at all, wherever the command that begins it is killed.
#include "launch/branches/branch_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch/branches/branch_keys.h"
#include "launch/processes/start_points.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "runtime/journal/store.h"
#include "runtime/trace/metrics/step_record.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/storage/shards.h"

namespace {

// The names of files when this process asked the disk for what it had written of them, and those beside them then.
struct Sync {
  std::string name;
  std::vector<std::string> beside;
};
std::vector<Sync>& syncs() {
  static std::vector<Sync> all;
  return all;
}

}  // namespace

// Takes the place of the library's in this program.
extern "C" int fdatasync(int descriptor) {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error);
  Sync sync{path.filename().string(), {}};
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path(), error)) {
    sync.beside.push_back(entry.path().filename().string());
  }
  syncs().push_back(std::move(sync));
  return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}

namespace shoal::branch_entry_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Config config_with(const std::vector<std::string>& sets) { return *load_config({{}, {}, sets}); }

// A run of ten steps, without checkpoints and certificates, as far as branches look at it.
class BranchEntry : public testing::Test {
 protected:
  BranchEntry() : run_{scratch_.path()} {
    EXPECT_TRUE(replace_file(run_.config(), write_config(was_)).ok());
    StepRecord step;
    step.step = 9;
    EXPECT_TRUE(replace_file(run_.metrics(), to_json_line(step) + "\n").ok());
    const auto journal = open_or_begin_journal(run_.journal(), RunId{7}, Entries::kUnheardOf);
    Commit commit;
    commit.step = StepId{9};
    EXPECT_TRUE((*journal)->append({JournalPosition{1}, Branch{3}, Term{1}, commit}).ok());
  }

  [[nodiscard]] BranchPlan plan(const std::string& name) const {
    return {{name, std::nullopt}, was_, changes_between(was_, now_)};
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    const auto found = read_file((scratch_.path() / name).string());
    return found ? *found : std::string();
  }
  [[nodiscard]] fs::path checkpoints() const { return run_.checkpoints(was_); }
  // Saves checkpoints of branch 0 after so many steps.
  void save_after(const std::vector<std::uint64_t>& steps) const {
    CheckpointWriter writer(settings_in(checkpoints()));
    for (const std::uint64_t step : steps) ASSERT_TRUE(save(writer, step).ok());
  }
  void damage(std::uint64_t step) const {
    fs::resize_file(checkpoint_folder(checkpoints(), step) / "stage_1.safetensors", 20);
  }
  void add_line(const std::string& line) const {
    ASSERT_TRUE(replace_file(run_.metrics(), text("metrics.jsonl") + line + "\n").ok());
  }
  void expect_nothing_is_written() const {
    EXPECT_EQ(text("config.toml"), write_config(was_));
    EXPECT_FALSE(fs::exists(scratch_.path() / "config.next-b.toml"));
    EXPECT_TRUE(branches_told_by(run_.metrics()).empty());
  }
  void expect_begun() const {
    EXPECT_EQ(text("config.toml"), write_config(now_));
    EXPECT_EQ(text("config.before-b.toml"), write_config(was_));
    EXPECT_FALSE(fs::exists(scratch_.path() / "config.next-b.toml"));
    EXPECT_EQ(ruling_config(run_), run_.config());
    EXPECT_EQ(*named_branches(run_.journal()),
              (std::vector<NamedBranch>{{"b", Branch{4}, 0, "optim.lr = 0.5 (was 0.001)"}}));
    EXPECT_EQ(branches_told_by(run_.metrics()).size(), 1U);
    EXPECT_EQ(branch_begun_in(run_), Branch{4});
  }

  const Scratch scratch_;
  const Config was_ = config_with({});
  const Config now_ = config_with({"optim.lr=0.5"});
  const RunDirectory run_;
};

TEST_F(BranchEntry, LookingSaysWhereItGoesOnAndWritesNothing) {
  const std::string before = text("metrics.jsonl");
  const auto record = look_at_branch(run_, plan("b"), now_, "5ha");
  ASSERT_TRUE(record.ok()) << record.failure().message;
  EXPECT_EQ(*record, (BranchRecord{"b", Branch{4}, 0, plan("b").changes, "5ha"})) << "the journal has branch 3";
  EXPECT_EQ(text("metrics.jsonl"), before);
  EXPECT_EQ(text("config.toml"), write_config(was_));
}

TEST_F(BranchEntry, BeginsWithItsConfigurationItsLineAndItsRow) {
  const auto record = look_at_branch(run_, plan("b"), now_, "5ha");
  ASSERT_TRUE(begin_branch(run_, *record, now_).ok());
  expect_begun();
  ASSERT_TRUE(finish_branch(run_).ok()) << "twice is as good as once";
  expect_begun();
  EXPECT_THAT(look_at_branch(run_, plan("b"), now_, "5ha").failure().message, HasSubstr("choose another"));
  EXPECT_EQ(look_at_branch(run_, plan("c"), now_, "5ha")->branch, Branch{5});
}

// Killed before its line: nothing has begun. After it: whoever comes next finishes it.
TEST_F(BranchEntry, ThatWasCutShortIsFinishedByTheNextCommand) {
  const auto record = look_at_branch(run_, plan("b"), now_, "5ha");
  const std::string next = (scratch_.path() / "config.next-b.toml").string();
  ASSERT_TRUE(replace_file(next, write_config(now_)).ok());
  EXPECT_EQ(ruling_config(run_), run_.config());
  ASSERT_TRUE(finish_branch(run_).ok());
  EXPECT_EQ(text("config.toml"), write_config(was_));
  ASSERT_TRUE(replace_file(run_.metrics(), text("metrics.jsonl") + to_json_line(*record) + "\n").ok());
  EXPECT_EQ(ruling_config(run_), next);
  ASSERT_TRUE(finish_branch(run_).ok());
  expect_begun();
}

// The run is on the branch from its line on, also after a loss of power.
TEST_F(BranchEntry, HasItsLineOnTheDiskBeforeAnythingFollowsFromIt) {
  const auto record = look_at_branch(run_, plan("b"), now_, "5ha");
  syncs().clear();
  ASSERT_TRUE(begin_branch(run_, *record, now_).ok());
  const auto of_line = std::ranges::find(syncs(), "metrics.jsonl", &Sync::name);
  ASSERT_NE(of_line, syncs().end());
  EXPECT_THAT(of_line->beside, AllOf(Contains("config.next-b.toml"), Not(Contains("config.before-b.toml"))));
}

// Nobody trains on from an older one in its place, whether it was named or is the newest, unless a person says so.
TEST_F(BranchEntry, FromADamagedCheckpointIsRefusedAndSaysWhichOneIsWhole) {
  save_after({5, 10});
  damage(10);
  for (const std::optional<std::uint64_t> from : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(10)}) {
    BranchPlan wanted = plan("b");
    wanted.wish.from = from;
    const auto record = look_at_branch(run_, wanted, now_, "5ha");
    ASSERT_FALSE(record.ok());
    EXPECT_EQ(record.failure().error, Error::kInvalidData);
    EXPECT_THAT(record.failure().message,
                AllOf(HasSubstr("step_10"), HasSubstr("stage_1.safetensors"), HasSubstr("--from 5")));
    expect_nothing_is_written();
  }
  BranchPlan older = plan("b");
  older.wish.from = 5;
  EXPECT_EQ(look_at_branch(run_, older, now_, "5ha")->step, 5U);
  damage(5);
  EXPECT_THAT(look_at_branch(run_, plan("b"), now_, "5ha").failure().message, HasSubstr("--from 0"));
}

// A writer that was killed while another checkpoint of that step took its place left it under another name.
TEST_F(BranchEntry, LeavesACheckpointThatSteppedAsideBehindUnderItsName) {
  save_after({5, 8});
  fs::rename(checkpoints() / "step_8", checkpoints() / ".step_8.replaced");
  BranchPlan from_five = plan("b");
  from_five.wish.from = 5;
  const auto record = look_at_branch(run_, from_five, now_, "5ha");
  ASSERT_TRUE(record.ok()) << record.failure().message;
  ASSERT_TRUE(begin_branch(run_, *record, now_).ok());
  EXPECT_EQ(list_checkpoints(checkpoints()), std::vector<std::uint64_t>{5});
  EXPECT_TRUE(fs::exists(checkpoints() / "before-b" / "step_8"));
}

TEST_F(BranchEntry, FromANewestCheckpointThatIsGoneIsRefused) {
  save_after({5});
  add_line(to_json_line(RunEvent{RunEventKind::kCheckpoint, "step_10", "saved", 10}));
  const auto record = look_at_branch(run_, plan("b"), now_, "5ha");
  ASSERT_FALSE(record.ok());
  EXPECT_THAT(record.failure().message, AllOf(HasSubstr("step_10"), HasSubstr("--from 5")));
}

// Steps from there would be those of no run.
TEST_F(BranchEntry, WhoseBaseIsDamagedDoesNotGoOnFromBeforeIt) {
  save_after({5, 10});
  const auto record = look_at_branch(run_, plan("b"), now_, "corpus hash");
  ASSERT_TRUE(begin_branch(run_, *record, now_).ok());
  const SavedStates saved{run_, now_, RunId{0xab}, "corpus hash"};
  ASSERT_EQ(find_start_point(saved, {kAnyStep, true})->version, 10U);
  damage(10);
  const auto start = find_start_point(saved, {kAnyStep, true});
  ASSERT_FALSE(start.ok());
  EXPECT_EQ(start.failure().error, Error::kInvalidData);
  EXPECT_THAT(start.failure().message,
              AllOf(HasSubstr("branch b"), HasSubstr("step_10/stage_1.safetensors"), HasSubstr("--from 5")));
  CheckpointWriter writer(settings_in(checkpoints()));
  ASSERT_TRUE(save(writer, 15, 2, record->branch.value).ok());
  EXPECT_EQ(find_start_point(saved, {kAnyStep, true})->version, 15U) << "the branch has one of its own";
}

TEST_F(BranchEntry, IsAWantedWayBackUntilItHasAStep) {
  save_after({5, 10});
  const SavedStates saved{run_, now_, RunId{0xab}, "corpus hash"};
  EXPECT_FALSE(find_start_point(saved, {kAnyStep, true})->is_wanted);
  const auto record = look_at_branch(run_, plan("b"), now_, "corpus hash");
  ASSERT_TRUE(begin_branch(run_, *record, now_).ok());
  EXPECT_TRUE(find_start_point(saved, {kAnyStep, true})->is_wanted);
  EXPECT_TRUE(newest_start_point(saved).is_wanted);
  StepRecord step;
  step.branch = record->branch.value;
  step.step = 10;
  add_line(to_json_line(step));
  EXPECT_FALSE(find_start_point(saved, {kAnyStep, true})->is_wanted) << "to go back again is a roll-back";
}

// Rounds had five steps up to a branch from step 15, and have three from there on.
TEST_F(BranchEntry, FromBehindAChangeOfRoundsIsHeldToTheRoundsOfItsState) {
  const Config was = config_with({"sync.mode=diloco", "sync.H=3"});
  save_after({5, 12, 15});
  add_line(to_json_line(BranchRecord{"shorter", Branch{2}, 15, {{"sync.H", "5", "3"}}, "5ha"}));
  const auto look = [&](std::uint64_t from, const std::vector<std::string>& sets) {
    std::vector<std::string> all = {"sync.mode=diloco", "sync.H=3"};
    all.insert(all.end(), sets.begin(), sets.end());
    const Config now = config_with(all);
    return look_at_branch(run_, {{"b", from}, was, changes_between(was, now)}, now, "5ha");
  };
  const auto in_the_middle = look(12, {"optim.lr=0.5"});
  ASSERT_FALSE(in_the_middle.ok()) << "no round of five steps ends there, though one of three does";
  EXPECT_THAT(
      in_the_middle.failure().message,
      AllOf(HasSubstr("sync.H = 3 (was 5)"), HasSubstr("ends are after 10 and 15 steps"), HasSubstr("--set sync.H=5")));
  EXPECT_EQ(look(12, {"sync.H=5"})->step, 12U) << "nothing of the rounds changes there";
  EXPECT_FALSE(look(5, {"optim.lr=0.5"}).ok()) << "no round of three steps begins there";
  EXPECT_EQ(look(5, {"sync.H=5", "sync.outer_lr=0.5"})->step, 5U);
  EXPECT_EQ(look(15, {"optim.lr=0.5"})->step, 15U);
}

// The newest checkpoint is of the line that it leaves until its own are apart.
TEST_F(BranchEntry, ThatStandsHalfMadeGoesOnBehindTheNewestCheckpoint) {
  save_after({5, 20});
  ASSERT_TRUE(replace_file((scratch_.path() / "config.next-b.toml").string(), write_config(now_)).ok());
  add_line(to_json_line(BranchRecord{"b", Branch{4}, 5, plan("b").changes, "5ha"}));
  ASSERT_TRUE(begun_branch(run_)->is_half_made);
  EXPECT_TRUE(check_run_goes_so_far(run_, now_, 8).ok());
  const auto refused = check_run_goes_so_far(run_, now_, 3);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.failure().message, AllOf(HasSubstr("branch b"), HasSubstr("after 5 steps")));
  ASSERT_TRUE(finish_branch(run_).ok());
  EXPECT_FALSE(begun_branch(run_)->is_half_made);
  EXPECT_TRUE(check_run_goes_so_far(run_, now_, 8).ok());
}

TEST_F(BranchEntry, NoRunGoesOnThatHasMoreStepsThanItIsToHave) {
  save_after({5, 20});
  const Config longer = config_with({"run.steps=20"}), shorter = config_with({"run.steps=19"});
  EXPECT_TRUE(check_run_goes_so_far(run_, longer, {}).ok()) << "it finishes at once";
  const auto refused = check_run_goes_so_far(run_, shorter, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kUsage);
  EXPECT_THAT(refused.failure().message, HasSubstr("run.steps = 19: the run has 20 steps already"));
  // From behind a branch's begin, what lies on the line that it left does not count.
  add_line(to_json_line(BranchRecord{"b", Branch{4}, 5, plan("b").changes, "5ha"}));
  EXPECT_TRUE(check_run_goes_so_far(run_, shorter, {}).ok());
  EXPECT_FALSE(check_run_goes_so_far(run_, config_with({"run.steps=4"}), {}).ok());
}

// --steps N stops after step N, whatever run.steps is.
TEST_F(BranchEntry, ARunGoesOnToTheStepsThatAreAskedFor) {
  save_after({5, 20});
  const Config shorter = config_with({"run.steps=19"});
  EXPECT_TRUE(check_run_goes_so_far(run_, shorter, 25).ok());
  EXPECT_TRUE(check_run_goes_so_far(run_, shorter, 20).ok()) << "it finishes at once";
  const auto refused = check_run_goes_so_far(run_, config_with({"run.steps=30"}), 19);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kUsage);
  EXPECT_THAT(refused.failure().message, HasSubstr("--steps 19: the run has 20 steps already"));
  EXPECT_THAT(check_run_goes_so_far(run_, shorter, {}).failure().message, HasSubstr("--steps N")) << "says how";
  add_line(to_json_line(BranchRecord{"b", Branch{4}, 5, plan("b").changes, "5ha"}));
  EXPECT_TRUE(check_run_goes_so_far(run_, config_with({"run.steps=4"}), 6).ok());
}

TEST_F(BranchEntry, AtACheckpointThatIsNotThereIsRefused) {
  BranchPlan absent = plan("b");
  absent.wish.from = 5;
  const auto record = look_at_branch(run_, absent, now_, "5ha");
  ASSERT_FALSE(record.ok());
  EXPECT_THAT(record.failure().message, HasSubstr("no checkpoint of step 5"));
}

}  // namespace
}  // namespace shoal::branch_entry_test
