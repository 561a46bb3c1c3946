// Commands that were typed at the same time, and what each of them finds.
#include "launch/commands/run/run_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/processes/run_directory.h"
#include "launch/processes/unwritten_events.h"
#include "runtime/base/file.h"
#include "runtime/transport/certificates.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::run_entry_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RunEntry : public testing::Test {
 protected:
  RunEntry() : corpus_(scratch_.file("text.txt", std::string(4000, 'a'))) {}

  ChosenRun chosen(std::optional<std::string> out, const std::vector<std::string>& sets = {}) {
    RunChoice choice;
    choice.sets = {"data.corpus=" + corpus_.string(), "model.context=16"};
    choice.sets.insert(choice.sets.end(), sets.begin(), sets.end());
    choice.out = std::move(out);
    const Surroundings here{{}, scratch_.path().string(), {}};
    auto run = choose_run(choice, here);
    EXPECT_TRUE(run.ok()) << run.failure().message;
    return *run;
  }

  const Scratch scratch_;
  const fs::path corpus_;
};

TEST_F(RunEntry, TwoThatChoseTheSameNameHaveADirectoryEach) {
  ChosenRun one = chosen({}), other = chosen({});
  ASSERT_EQ(one.directory, other.directory);
  const auto first = enter_run(one, {});
  const auto second = enter_run(other, {});
  ASSERT_TRUE(first.ok()) << first.failure().message;
  ASSERT_TRUE(second.ok()) << second.failure().message;
  EXPECT_EQ(other.directory, one.directory + "-2");
  EXPECT_TRUE(fs::exists(one.directory + "/config.toml"));
  EXPECT_TRUE(fs::exists(other.directory + "/config.toml"));
}

TEST_F(RunEntry, OneDirectoryThatTwoNamedIsTheFirstOnes) {
  ChosenRun one = chosen("run"), other = chosen("run");
  const auto first = enter_run(one, {});
  ASSERT_TRUE(first.ok()) << first.failure().message;
  const auto second = enter_run(other, {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.failure().error, Error::kUsage);
  EXPECT_THAT(second.failure().message, HasSubstr("another command owns"));
}

// The first one's run is over when the second gets to the directory, whose text took a while to open.
TEST_F(RunEntry, ADirectoryThatAnotherCommandFilledMeanwhileIsNoNewRuns) {
  ChosenRun one = chosen("run"), other = chosen("run");
  ASSERT_TRUE(enter_run(one, {}).ok());  // held for a moment only
  const auto second = enter_run(other, {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.failure().error, Error::kUsage);
  EXPECT_THAT(second.failure().message, HasSubstr("has begun a run there meanwhile"));
}

TEST_F(RunEntry, ARunThatAnotherCommandChangedMeanwhileIsChosenAgain) {
  ChosenRun run = chosen("run");
  ASSERT_TRUE(enter_run(run, {}).ok());
  RunChoice resume;
  resume.is_resumed = true;
  resume.resume_directory = run.directory;
  const Surroundings here{{}, scratch_.path().string(), {}};
  auto before = choose_run(resume, here);
  ASSERT_TRUE(before.ok()) << before.failure().message;
  const std::string config = RunDirectory{run.directory}.config();
  ASSERT_TRUE(replace_file(config, *read_file(config) + "# another branch\n").ok());
  const auto entered = enter_run(*before, {});
  ASSERT_FALSE(entered.ok());
  EXPECT_EQ(entered.failure().error, Error::kUsage);
  EXPECT_THAT(entered.failure().message, HasSubstr("give this command again"));
  auto again = choose_run(resume, here);
  EXPECT_TRUE(enter_run(*again, {}).ok());
}

// They are kept apart also before either of them has a checkpoint.
TEST_F(RunEntry, RunsThatWouldShareTheirCheckpointsAreKeptApart) {
  const std::vector<std::string> sets{"checkpoint.dir=kept"};
  ChosenRun one = chosen("one", sets), other = chosen("other", sets);
  ASSERT_TRUE(enter_run(one, {}).ok());
  const auto second = enter_run(other, {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.failure().error, Error::kUsage);
  EXPECT_THAT(second.failure().message, testing::AllOf(HasSubstr("checkpoint.dir"), HasSubstr(one.directory)));
  EXPECT_FALSE(fs::exists(other.directory)) << "who is refused leaves nothing behind";
  one.is_resumed = true;
  EXPECT_TRUE(enter_run(one, {}).ok());
}

TEST_F(RunEntry, OfAnOldRunRenewsWhatItsProcessesShow) {
  ChosenRun run = chosen("run");
  ASSERT_TRUE(enter_run(run, {}).ok());
  const std::string certs = RunDirectory{run.directory}.certs();
  const auto authority = Authority::open(certs);
  const WallTime long_ago = std::chrono::system_clock::now() - std::chrono::hours(24 * 400);
  const TlsFiles files = credential_files(certs, "spawner");
  const Validity over{long_ago, long_ago + std::chrono::hours(24 * 365)};
  const auto old = authority->issue(PeerIdentity{authority->run(), PeerRole::kSpawner, "spawner"}, over);
  ASSERT_TRUE(write_credentials(files, *old).ok());
  const std::string storage = read_credentials(credential_files(certs, "storage"))->certificate;
  run.is_resumed = true;
  ASSERT_TRUE(enter_run(run, {}).ok());
  EXPECT_FALSE(needs_renewal(files, std::chrono::system_clock::now()));
  EXPECT_EQ(identity_of(read_credentials(files)->certificate)->run, authority->run());
  EXPECT_EQ(read_credentials(credential_files(certs, "storage"))->certificate, storage) << "the others stay";
}

TEST_F(RunEntry, WhatTheFormerStartLeftIsToldBeforeThisOneBegins) {
  ChosenRun run = chosen("run");
  ASSERT_TRUE(enter_run(run, {}).ok());
  const RunDirectory directory{run.directory};
  ASSERT_TRUE(
      leave_unwritten(directory, RunEvent{RunEventKind::kFailed, "run", "why", 0}, std::chrono::system_clock::now())
          .ok());
  run.is_resumed = true;
  ASSERT_TRUE(enter_run(run, {}).ok());
  const auto lines = read_file(directory.metrics());
  ASSERT_TRUE(lines.ok());
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = lines->find("{\"event\":\"", at)) != std::string::npos; at += 10) {
    words.push_back(lines->substr(at + 10, lines->find('"', at + 10) - at - 10));
  }
  EXPECT_THAT(words, testing::ElementsAre("started", "summary", "failed", "started"));
}

TEST_F(RunEntry, APlaceWhereNothingCanBeMadeIsNamed) {
  ChosenRun run = chosen({});
  run.usual_name = run.directory = "/proc/runs/one";
  const auto held = enter_run(run, {});
  ASSERT_FALSE(held.ok());
  EXPECT_EQ(held.failure().error, Error::kIo);
  EXPECT_THAT(held.failure().message, HasSubstr("/proc/runs/one"));
}

}  // namespace
}  // namespace shoal::run_entry_test
