// Tests when an order that nobody answered is given again: it may wait for a spawner, and is never carried out twice.
#include "launch/processes/live_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "launch/processes/run_directory.h"
#include "launch/processes/run_hold.h"
#include "runtime/trace/metrics/step_record.h"

namespace shoal::live_run_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The spawner is gone, and its keeper is there: no connection was made.
Silence while_it_starts_again() { return {seconds(1), milliseconds(2), false, false, true}; }

TEST(LiveRun, ASpawnerThatIsBeingStartedAgainIsWaitedFor) {
  Silence silence = while_it_starts_again();
  EXPECT_TRUE(is_asked_again(silence));
  silence.since_first = kAskFor - milliseconds(1);
  EXPECT_TRUE(is_asked_again(silence));
  silence.since_first = kAskFor;
  EXPECT_FALSE(is_asked_again(silence)) << "not for ever";
}

TEST(LiveRun, NobodyWaitsForASpawnerThatNobodyStartsAgain) {
  Silence silence = while_it_starts_again();
  silence.is_spawner_kept = false;
  EXPECT_FALSE(is_asked_again(silence));
  silence.is_spawner_alive = true;
  EXPECT_TRUE(is_asked_again(silence)) << "its control actor may be starting again";
}

TEST(LiveRun, WhatMayBeUnderWayIsNotOrderedTwice) {
  Silence silence{seconds(1), milliseconds(2), true, true, true};
  EXPECT_TRUE(is_asked_again(silence)) << "answered at once: who is meant is not there";
  silence.is_spawner_alive = false;
  EXPECT_FALSE(is_asked_again(silence)) << "it may have ended by this very order";
  silence.is_spawner_alive = true;
  silence.of_this = kQuickly;
  EXPECT_FALSE(is_asked_again(silence));
  silence.was_asked = false;
  EXPECT_TRUE(is_asked_again(silence)) << "the control: nothing was asked";
}

// A run directory with one line of metrics.
class ToldRun {
 public:
  explicit ToldRun(const std::string& line) {
    fs::create_directories(run.root);
    std::ofstream(run.metrics()) << line << '\n';
  }
  ~ToldRun() { fs::remove_all(run.root); }
  [[nodiscard]] std::string silence() const {
    return explain_silence({run.root.string(), {}, {}}, fail(Error::kUnreachable, "nobody")).message;
  }
  void keep_journal() const { std::ofstream(run.journal()) << "a journal"; }

  RunDirectory run{testing::TempDir() + "live_run." + std::to_string(::getpid())};
};

std::string step_line(std::uint64_t view) {
  StepRecord record;
  record.view = view;
  return to_json_line(record);
}

// A copy has the certificates of the run that goes on, and would end that one.
TEST(LiveRun, ACopyOfALiveRunsDirectoryGivesNoOrders) {
  const ToldRun run(step_line(7));
  const RunDirectory copy{run.run.root.string() + ".copy"};
  const RunDirectory moved{run.run.root.string() + ".moved"};
  const auto refusal = [](const RunDirectory& of) {
    const auto client = client_of({of.root.string(), {}, {}});
    return client ? std::string() : client.failure().message;
  };
  const SpawnerAddress address{{"127.0.0.1", 1}, static_cast<std::uint64_t>(::getpid()), "run"};
  ASSERT_TRUE(write_spawner_json(run.run, address).ok());
  fs::copy(run.run.root, copy.root, fs::copy_options::recursive);
  EXPECT_THAT(refusal(run.run), Not(HasSubstr("is a copy"))) << "the control";
  const auto refused = client_of({copy.root.string(), {}, {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kUsage);
  EXPECT_THAT(refused.failure().message,
              AllOf(HasSubstr(copy.root.string() + " is a copy"), HasSubstr(run.run.root.string() + " on "),
                    HasSubstr("--spawner 127.0.0.1:1 --certs " + copy.certs())));
  const auto named = client_of({copy.root.string(), HostPort{"127.0.0.1", 1}, copy.certs()});
  EXPECT_THAT(named ? "" : named.failure().message, Not(HasSubstr("is a copy"))) << "the spawner itself was named";
  fs::rename(run.run.root, moved.root);
  EXPECT_THAT(refusal(moved), Not(HasSubstr("is a copy")));
  std::ofstream(copy.metrics(), std::ios::app) << R"({"event":"stopped","steps":3})" << '\n';
  const auto over = client_of({copy.root.string(), {}, {}});
  EXPECT_EQ(over.failure().error, Error::kUnreachable) << "explain_silence() says that it was stopped";
  ASSERT_TRUE(write_spawner_json(copy, address).ok());
  EXPECT_THAT(refusal(copy), Not(HasSubstr("is a copy"))) << "it has a spawner of its own";
  for (const RunDirectory& made : {copy, moved}) fs::remove_all(made.root);
}

// One that was moved, mounted anew, or is mounted on another machine; a copy, and a snapshot of its disk.
TEST(LiveRun, KnowsTheDirectoryOfASpawnerByItsInodeOrItsPlace) {
  const DirectoryIdentity known{"a", "/runs/x", 3, 7};
  EXPECT_TRUE(is_same_directory(known, {"a", "/runs/y", 3, 7}));
  EXPECT_TRUE(is_same_directory(known, {"a", "/runs/x", 4, 8}));
  EXPECT_TRUE(is_same_directory(known, {"b", "/mnt/x", 5, 7}));
  EXPECT_FALSE(is_same_directory(known, {"a", "/runs/y", 3, 8}));
  EXPECT_FALSE(is_same_directory(known, {"a", "/snapshots/x", 4, 7}));
  EXPECT_FALSE(is_same_directory(known, {"b", "/runs/x", 3, 8}));
  EXPECT_FALSE(is_same_directory({"a", "/runs/x", 3, 0}, {"b", "/runs/x", 3, 0})) << "nobody could say";
}

TEST(LiveRun, OneProcessTakesNoOrders) {
  const ToldRun run(step_line(0));
  const auto hold = RunHold::take(run.run);
  ASSERT_TRUE(hold.ok());
  EXPECT_THAT(run.silence(), HasSubstr("in one process (--single)"));
  EXPECT_THAT(run.silence(), Not(HasSubstr("--resume"))) << "which would be refused";
  run.keep_journal();
  EXPECT_THAT(run.silence(), HasSubstr("in one process (--single)")) << "pipelines trained it before";
}

// A process that was killed has told of no end.
TEST(LiveRun, OneProcessThatIsGoneIsStartedAgainByNobody) {
  const ToldRun run(step_line(0));
  const auto is_told = AllOf(HasSubstr("(--single) is not running; `shoal train --single --resume "),
                             Not(HasSubstr("keeper")), Not(HasSubstr("spawner")));
  EXPECT_THAT(run.silence(), is_told);
  run.keep_journal();
  EXPECT_THAT(run.silence(), is_told) << "pipelines trained it before";
}

// Its first line is that of its start.
TEST(LiveRun, OneProcessThatIsGoneBeforeItsFirstStepWasNoSpawner) {
  const ToldRun run(R"({"event":"started","subject":"run"})");
  EXPECT_THAT(run.silence(), AllOf(HasSubstr("(--single) is not running; `shoal train --single --resume "),
                                   Not(HasSubstr("spawner"))));
  run.keep_journal();
  EXPECT_THAT(run.silence(), AllOf(HasSubstr("the spawner of "), Not(HasSubstr("--single")))) << "the control";
}

TEST(LiveRun, ASpawnerWithoutAKeeperIsStartedAgainByNobody) {
  const ToldRun run(step_line(7));
  run.keep_journal();
  EXPECT_THAT(run.silence(), AllOf(HasSubstr(" is not running; `shoal train --resume "), Not(HasSubstr("keeper"))));
}

TEST(LiveRun, ASpawnerThatIsNotThereMayComeBack) {
  const ToldRun run(step_line(7));
  run.keep_journal();
  const auto hold = RunHold::take(run.run);
  ASSERT_TRUE(hold.ok());
  EXPECT_THAT(run.silence(), HasSubstr("its keeper starts it again"));
}

TEST(LiveRun, OneProcessThatHasEndedIsOver) {
  const ToldRun run(R"({"event":"finished","steps":3})");
  const auto hold = RunHold::take(run.run);
  ASSERT_TRUE(hold.ok());
  EXPECT_THAT(run.silence(), HasSubstr("has finished"));
}

}  // namespace
}  // namespace shoal::live_run_test
