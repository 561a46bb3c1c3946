// A branch begins whole or not at all, wherever the command that begins it is killed.
#include "launch/branches/branch_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/branches/branch_keys.h"
#include "launch/processes/start_points.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "runtime/journal/store.h"
#include "runtime/trace/metrics/step_record.h"
#include "tests/runtime/data/scratch.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

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

TEST_F(BranchEntry, AtACheckpointThatIsNotThereIsRefused) {
  BranchPlan absent = plan("b");
  absent.wish.from = 5;
  const auto record = look_at_branch(run_, absent, now_, "5ha");
  ASSERT_FALSE(record.ok());
  EXPECT_THAT(record.failure().message, HasSubstr("no checkpoint of step 5"));
}

}  // namespace
}  // namespace shoal
