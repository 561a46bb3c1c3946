// Commands that find a branch which another one was killed in the middle of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/branches/branch_entry.h"
#include "launch/commands/run/run_entry.h"
#include "launch/processes/run_directory.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::branch_command_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

class BranchCommand : public testing::Test {
 protected:
  BranchCommand() : corpus_(scratch_.file("text.txt", std::string(4000, 'a'))) {
    RunChoice choice;
    choice.sets = {"data.corpus=" + corpus_.string(), "model.context=16"};
    choice.out = "run";
    EXPECT_TRUE(enter(choice, {}).ok());
    before_ = *read_file(run_.config());
  }

  // Goes as far as the command would before it starts processes.
  [[nodiscard]] Status enter(const RunChoice& choice, std::optional<std::uint64_t> stop_at) const {
    auto chosen = choose_run(choice, {{}, scratch_.path().string(), {}});
    if (!chosen) return chosen.failure();
    const auto held = enter_run(*chosen, stop_at);
    return held ? Status(Done{}) : held.failure();
  }
  [[nodiscard]] Status resume(const std::optional<BranchWish>& branch, const Words& sets,
                              std::optional<std::uint64_t> stop_at = {}) const {
    RunChoice choice;
    choice.is_resumed = true;
    choice.resume_directory = "run";
    choice.sets = sets;
    choice.branch = branch;
    return enter(choice, stop_at);
  }
  // Leaves the run as a command does that is killed after the line of branch b.
  void leave_half_made() const {
    auto now = parse_config(before_, "config.toml");
    now->optim.lr = 0.5;
    const BranchRecord record{"b", Branch{1}, 0, {{"optim.lr", "0.001", "0.5"}}, "sha"};
    ASSERT_TRUE(replace_file((run_.root / "config.next-b.toml").string(), write_config(*now)).ok());
    const auto lines = read_file(run_.metrics());
    ASSERT_TRUE(replace_file(run_.metrics(), *lines + to_json_line(record) + "\n").ok());
  }
  void expect_begun_once() const {
    EXPECT_EQ(branches_told_by(run_.metrics()).size(), 1U);
    EXPECT_EQ(read_run_config(run_.root.string())->optim.lr, 0.5);
    EXPECT_EQ(*read_file((run_.root / "config.before-b.toml").string()), before_);
    EXPECT_FALSE(fs::exists(run_.root / "config.next-b.toml"));
  }

  const Scratch scratch_;
  const fs::path corpus_;
  const RunDirectory run_{scratch_.path() / "run"};
  std::string before_;
};

TEST_F(BranchCommand, TheSameOneAgainFinishesWhatItBegan) {
  leave_half_made();
  const Status again = resume(BranchWish{"b", {}}, {"optim.lr=0.5"}, 5);
  ASSERT_TRUE(again.ok()) << again.failure().message;
  expect_begun_once();
  EXPECT_TRUE(resume(BranchWish{"b", 0}, {"optim.lr=0.5"}).ok()) << "killed before its first step, and typed once more";
  expect_begun_once();
}

TEST_F(BranchCommand, WithoutABranchFinishesItToo) {
  leave_half_made();
  const Status resumed = resume({}, {}, 5);
  ASSERT_TRUE(resumed.ok()) << resumed.failure().message;
  expect_begun_once();
}

TEST_F(BranchCommand, ThatWantsAnotherOneIsToldWhatStandsHalfMade) {
  leave_half_made();
  for (const auto& [name, set] : {std::pair{"c", "optim.lr=0.5"}, std::pair{"b", "optim.lr=0.1"}}) {
    const Status refused = resume(BranchWish{name, {}}, {set});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.failure().error, Error::kUsage);
    EXPECT_THAT(refused.failure().message, AllOf(HasSubstr("branch b stands half-made"),
                                                 HasSubstr("optim.lr = 0.5 (was 0.001)"), HasSubstr("--resume")));
  }
  EXPECT_TRUE(fs::exists(run_.root / "config.next-b.toml")) << "nothing is written";
  EXPECT_EQ(*read_file(run_.config()), before_);
}

}  // namespace
}  // namespace shoal::branch_command_test
