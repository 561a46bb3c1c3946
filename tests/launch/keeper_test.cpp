// The keeper with real child processes: small shell scripts that die, linger, or leave as they are told.
#include "launch/keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <tuple>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"

namespace shoal::keeper_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class KeeperTest : public testing::Test {
 protected:
  KeeperTest() {
    folder_ = testing::TempDir() + "keeper." + std::to_string(::getpid()) + "." +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    ::signal(SIGHUP, SIG_DFL);  // also where the tests run under nohup
    ::sigprocmask(SIG_SETMASK, nullptr, &signals_before_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  ~KeeperTest() override { ::sigprocmask(SIG_SETMASK, &signals_before_, nullptr); }

  // A ward that runs a script in the test's folder; its words go to <name>.log.
  Ward ward(const std::string& name, WardRole role, const std::string& script) {
    Ward made;
    made.name = name;
    made.role = role;
    made.program = {{"/bin/sh", "-c", "cd " + folder_ + "; " + script}, folder_ + "/" + name + ".log"};
    made.limits.first_delay = milliseconds(1);
    return made;
  }

  std::string log(const std::string& name) { return *read_file(folder_ + "/" + name + ".log"); }
  bool exists(const std::string& name) { return std::filesystem::exists(folder_ + "/" + name); }

  // Runs the keeper; sends itself `signals`, one after each file of `when` has appeared.
  static Result<int> run_with_signals(Keeper& keeper, std::vector<std::pair<std::string, int>> signals) {
    keeper.poll([signals, next = std::size_t{0}](Keeper&) mutable -> Result<bool> {
      if (!std::filesystem::exists(signals[next].first)) return false;
      ::kill(::getpid(), signals[next].second);
      return ++next == signals.size();
    });
    return keeper.run();
  }

  std::string path(const std::string& name) { return folder_ + "/" + name; }

  std::string folder_;
  sigset_t signals_before_{};
};

// Waits for a file with a text in it, as long as the test's own limit allows.
std::string text_of(const std::string& path) {
  for (;;) {
    const auto text = read_file(path);
    if (text.ok() && text->find('\n') != std::string::npos) return *text;
    ::sched_yield();
  }
}

TEST_F(KeeperTest, PassesOnTheFinalCodeOfItsLeader) {
  Keeper keeper({});
  ASSERT_TRUE(keeper.add(ward("leader", WardRole::kLeader, "echo words; exit 0")).ok());
  EXPECT_EQ(*keeper.run(), 0);
  EXPECT_EQ(log("leader"), "words\n");

  Keeper refused({});
  Ward leader = ward("leader", WardRole::kLeader, "exit 4");
  leader.limits.final_codes = {0, 4};
  ASSERT_TRUE(refused.add(leader).ok());
  EXPECT_EQ(*refused.run(), 4);
}

TEST_F(KeeperTest, RestartsWhatDiesByASignalOrACodeThatIsNotFinal) {
  Keeper keeper({});
  ASSERT_TRUE(
      keeper
          .add(ward("worker", WardRole::kEqual,
                    "echo start; [ -e one ] || { touch one; kill -9 $$; }; [ -e two ] || { touch two; exit 3; }"))
          .ok());
  EXPECT_EQ(*keeper.run(), 0);
  EXPECT_EQ(log("worker"), "start\nstart\nstart\n");
}

// The keeper says so also while it stops: the number is between the two.
TEST_F(KeeperTest, TellsOneOfWhoWasGivenUp) {
  const std::string code = std::to_string(kGivenUpStatus);
  Keeper keeper({});
  ASSERT_TRUE(keeper.add(ward("worker", WardRole::kEqual, "echo start; exit " + code)).ok());
  EXPECT_EQ(*keeper.run(), 1);
  EXPECT_EQ(log("worker"), "start\n");

  Keeper stopping({});
  const std::string script = "trap 'exit " + code + "' TERM; : > ready; while :; do :; done";
  ASSERT_TRUE(stopping.add(ward("worker", WardRole::kEqual, script)).ok());
  EXPECT_EQ(*run_with_signals(stopping, {{path("ready"), SIGTERM}}), 1);
}

TEST_F(KeeperTest, StartsAgainWithOtherArgumentsWhereTheyDiffer) {
  Keeper keeper({});
  Ward worker = ward("worker", WardRole::kEqual, "kill -9 $$");
  worker.again = ward("worker", WardRole::kEqual, "echo again").program;
  ASSERT_TRUE(keeper.add(worker).ok());
  EXPECT_EQ(*keeper.run(), 0);
  EXPECT_EQ(log("worker"), "again\n");
}

TEST_F(KeeperTest, GivesUpPastTheBudget) {
  Keeper keeper({});
  Ward worker = ward("worker", WardRole::kEqual, "echo start; exit 1");
  worker.limits.budget = 3;
  ASSERT_TRUE(keeper.add(worker).ok());
  EXPECT_EQ(*keeper.run(), 1);
  EXPECT_EQ(log("worker"), "start\nstart\nstart\nstart\n");
}

// The word comes through a socket with a number of two digits, perhaps: that takes bash.
std::string telling(const std::string& word, const std::string& script) {
  return "exec /bin/bash -c 'printf " + word + " >&$SHOAL_KEEPER; " + script + "'";
}

TEST_F(KeeperTest, WhatDidWorkIsStartedAgainHoweverOftenItDies) {
  const std::string dies_twenty_times = "echo start; [ $(wc -l < worker.log) -lt 20 ] || exit 0; ";
  for (const auto& [word, how, starts] : {std::tuple{"w0", "kill -9 $$", 20},
                                          {"w0", "exit 1", 20},
                                          {"u0", "kill -9 $$", 20},
                                          {"u0", "exit 1", 4},
                                          {"x0", "kill -9 $$", 4}}) {
    std::filesystem::remove(path("worker.log"));
    Keeper keeper({});
    Ward worker = ward("worker", WardRole::kEqual, dies_twenty_times + telling(word, how));
    worker.limits.budget = 3;
    worker.limits.longest_delay = milliseconds(2);
    ASSERT_TRUE(keeper.add(worker).ok());
    EXPECT_EQ(*keeper.run(), starts == 20 ? 0 : 1) << word << how;
    EXPECT_EQ(std::ranges::count(log("worker"), '\n'), starts) << word << how;
  }
}

TEST_F(KeeperTest, EndsWithTheFirstCodeThatIsNotZeroAmongEquals) {
  Keeper keeper({});
  Ward refused = ward("b", WardRole::kEqual, "exit 4");
  refused.limits.final_codes = {0, 2, 4};
  ASSERT_TRUE(keeper.add(ward("a", WardRole::kEqual, "exit 0")).ok());
  ASSERT_TRUE(keeper.add(refused).ok());
  EXPECT_EQ(*keeper.run(), 4);
}

TEST_F(KeeperTest, TheFirstSignalReachesTheLeaderAloneAndFollowersEndAfterIt) {
  Keeper keeper({Duration::zero(), seconds(20)});
  ASSERT_TRUE(keeper
                  .add(ward("leader", WardRole::kLeader,
                            "trap '[ -e follower_gone ] || echo saved; exit 75' USR1; : > leading; "
                            "while :; do :; done"))
                  .ok());
  ASSERT_TRUE(keeper
                  .add(ward("follower", WardRole::kFollower,
                            "trap 'touch follower_gone; echo bye; exit 0' TERM; "
                            "while ! [ -e leading ]; do :; done; : > ready; while :; do :; done"))
                  .ok());
  const int code = *run_with_signals(keeper, {{path("ready"), SIGUSR1}});
  EXPECT_EQ(log("leader"), "saved\n");
  EXPECT_EQ(log("follower"), "bye\n");
  EXPECT_EQ(code, 75);  // not final in the limits, but nothing is restarted while stopping
}

TEST_F(KeeperTest, ALeaderThatIsKilledWhileItStopsIsStartedAgainToStop) {
  Keeper keeper({});
  Ward leader = ward("leader", WardRole::kLeader, "trap 'kill -9 $$' TERM; : > up; while :; do :; done");
  leader.again = leader.program;
  leader.again->arguments = {"/bin/sh", "-c", "echo \"$0 $1\"; exit 75"};
  leader.stop_option = "--stopping";
  leader.limits.final_codes = {0, 75};
  ASSERT_TRUE(keeper.add(leader).ok());
  EXPECT_EQ(*run_with_signals(keeper, {{path("up"), SIGTERM}}), 75);
  EXPECT_EQ(log("leader"), "--stopping 15\n");
}

TEST_F(KeeperTest, EqualsGetSigtermWhateverTheSignalWas) {
  Keeper keeper({});
  ASSERT_TRUE(
      keeper.add(ward("worker", WardRole::kEqual, "trap 'echo left; exit 0' TERM; : > ready; while :; do :; done"))
          .ok());
  EXPECT_EQ(*run_with_signals(keeper, {{path("ready"), SIGINT}}), 0);
  EXPECT_EQ(log("worker"), "left\n");
}

// A worker that still loads its libraries ends so. One that dies of something else meanwhile has failed.
TEST_F(KeeperTest, WhoEndsByTheSignalThatAskedItToHasLeftPolitely) {
  for (const auto& [how, code] : {std::pair{": > ready; while :; do :; done", 0},
                                  {"trap 'kill -KILL $$' TERM; : > ready; while :; do :; done", 1}}) {
    std::filesystem::remove(path("ready"));
    Keeper keeper({});
    ASSERT_TRUE(keeper.add(ward("worker", WardRole::kEqual, how)).ok());
    EXPECT_EQ(*run_with_signals(keeper, {{path("ready"), SIGTERM}}), code);
  }
}

TEST_F(KeeperTest, ALeaderThatDiesOfTheSignalThatAskedItToEndSaysWhich) {
  for (const auto& [how, code] : {std::pair{": > ready; while :; do :; done", 128 + SIGUSR1},
                                  {"trap 'kill -KILL $$' USR1; : > ready; while :; do :; done", 1}}) {
    std::filesystem::remove(path("ready"));
    Keeper keeper({});
    ASSERT_TRUE(keeper.add(ward("leader", WardRole::kLeader, how)).ok());
    EXPECT_EQ(*run_with_signals(keeper, {{path("ready"), SIGUSR1}}), code);
    EXPECT_FALSE(keeper.was_pressed());
  }
}

TEST_F(KeeperTest, WhatDoesNotLeaveWithinTheGraceIsKilled) {
  Keeper keeper({Duration::zero(), milliseconds(50)});
  ASSERT_TRUE(keeper.add(ward("leader", WardRole::kLeader, "while ! [ -e ready ]; do :; done; exit 0")).ok());
  ASSERT_TRUE(keeper.add(ward("stubborn", WardRole::kFollower, "trap '' TERM; : > ready; while :; do :; done")).ok());
  EXPECT_EQ(*keeper.run(), 0);
}

// Ends as after a second signal: nothing is wrong with the program.
TEST_F(KeeperTest, AnEqualThatIsKilledBehindItsGraceHasTheCodeOfASecondSignal) {
  for (const auto& [signal, code] : {std::pair{SIGTERM, 143}, {SIGINT, 130}, {SIGUSR1, 143}}) {
    std::filesystem::remove(path("ready"));
    Keeper keeper({Duration::zero(), milliseconds(50)});
    ASSERT_TRUE(keeper.add(ward("stubborn", WardRole::kEqual, "trap '' TERM; : > ready; while :; do :; done")).ok());
    EXPECT_EQ(*run_with_signals(keeper, {{path("ready"), signal}}), code);
    EXPECT_FALSE(keeper.was_pressed());
  }
}

// Hangs in its start, before it listens. Started again to stop, it may hang again.
TEST_F(KeeperTest, ALeaderThatIsToStopAndNeverComesUpIsKilled) {
  for (const auto& [signal, code] : {std::pair{SIGTERM, 143}, {SIGINT, 130}}) {
    for (const char* first :
         {": > ready; while :; do :; done", "trap 'kill -9 $$' TERM INT; : > ready; while :; do :; done"}) {
      std::filesystem::remove(path("ready"));
      KeeperTimes times;
      times.coming_up = milliseconds(200);
      Keeper keeper(times);
      Ward leader = ward("leader", WardRole::kLeader, std::string("trap '' TERM INT; ") + first);
      leader.again = ward("leader", WardRole::kLeader, "trap '' TERM INT; while :; do :; done").program;
      leader.stop_option = "--stopping";
      ASSERT_TRUE(keeper.add(leader).ok());
      ASSERT_TRUE(keeper.add(ward("follower", WardRole::kFollower, "while :; do :; done")).ok());
      EXPECT_EQ(*run_with_signals(keeper, {{path("ready"), signal}}), code);
      EXPECT_FALSE(keeper.was_pressed());
    }
  }
}

TEST_F(KeeperTest, ALeaderThatHasComeUpHasAllTheTimeForItsStep) {
  KeeperTimes times;
  times.coming_up = milliseconds(100);
  Keeper keeper(times);
  const std::string script = "trap \"sleep 0.5; exit 75\" TERM; : > ready; while :; do :; done";
  ASSERT_TRUE(keeper.add(ward("leader", WardRole::kLeader, telling("u0", script))).ok());
  EXPECT_EQ(*run_with_signals(keeper, {{path("ready"), SIGTERM}}), 75);
}

// A spawner that fails in each start, however long that takes, and never listens.
TEST_F(KeeperTest, WhatNeverComesUpIsNotStartedForEver) {
  Keeper keeper({});
  Ward worker = ward("worker", WardRole::kEqual, "echo start; sleep 0.05; exit 1");
  worker.limits.budget = 3;
  worker.limits.settled_after = milliseconds(10);
  ASSERT_TRUE(keeper.add(worker).ok());
  EXPECT_EQ(*keeper.run(), 1);
  EXPECT_EQ(log("worker"), "start\nstart\nstart\nstart\n");
}

TEST_F(KeeperTest, WhatHasNoThreadsIsFinalAtFirstAndTold) {
  const std::string code = std::to_string(kNoThreadsStatus);
  for (const bool was_up : {false, true}) {
    std::filesystem::remove(path("worker.log"));
    std::filesystem::remove(path("up"));
    Keeper keeper({});
    Ward worker =
        ward("worker", WardRole::kEqual,
             std::string("echo start; ") + (was_up ? "[ -e up ] || { touch up; kill -9 $$; }; " : "") + "exit " + code);
    worker.limits.final_codes = {0, kNoThreadsStatus};
    worker.limits.passing_codes = {kNoThreadsStatus};
    worker.limits.budget = 2;
    ASSERT_TRUE(keeper.add(worker).ok());
    EXPECT_EQ(*keeper.run(), 2);
    EXPECT_EQ(std::ranges::count(log("worker"), '\n'), was_up ? 3 : 1);
  }
}

TEST_F(KeeperTest, ASecondSignalKillsEverythingAtOnce) {
  for (const auto& [signal, code] : {std::pair{SIGINT, 130}, {SIGTERM, 143}}) {
    std::filesystem::remove(path("ready"));
    std::filesystem::remove(path("again"));
    Keeper keeper({Duration::zero(), seconds(100)});
    ASSERT_TRUE(keeper
                    .add(ward("leader", WardRole::kLeader,
                              "trap 'touch again; sleep 0.1; kill -" + std::to_string(signal) +
                                  " $PPID' TERM INT; : > ready; "
                                  "while :; do :; done"))
                    .ok());
    EXPECT_EQ(*run_with_signals(keeper, {{path("ready"), signal}}), code);
    EXPECT_TRUE(exists("again"));
    EXPECT_TRUE(keeper.was_pressed());
  }
}

// Beyond the grace, and no longer than that takes.
TEST_F(KeeperTest, WhatWritesItsCoreWhileItIsToEndIsLeftToIt) {
  for (const Duration limit : {Duration(seconds(100)), Duration(milliseconds(1))}) {
    for (const char* name : {"ready", "written"}) std::filesystem::remove(path(name));
    KeeperTimes times{Duration::zero(), milliseconds(50), limit, [](pid_t) { return true; }};
    Keeper keeper(times);
    ASSERT_TRUE(keeper.add(ward("leader", WardRole::kLeader, "while ! [ -e ready ]; do :; done; exit 0")).ok());
    ASSERT_TRUE(
        keeper.add(ward("crashed", WardRole::kFollower, "trap '' TERM; : > ready; sleep 0.5; : > written; exit 0"))
            .ok());
    EXPECT_EQ(*keeper.run(), 0);
    EXPECT_EQ(exists("written"), limit > seconds(1));
  }
}

bool is_heard(int signal) {
  sigset_t blocked;
  ::sigprocmask(SIG_SETMASK, nullptr, &blocked);
  return ::sigismember(&blocked, signal) == 0;
}

// A third signal that meets the process between its keeper's end and its own would end it with another status.
TEST_F(KeeperTest, WhoWasAskedToEndHearsNoFurtherSignal) {
  for (const bool is_asked : {false, true}) {
    {
      Keeper keeper({});
      const std::string script = is_asked ? "trap 'exit 75' TERM; : > ready; while :; do :; done" : "exit 0";
      ASSERT_TRUE(keeper.add(ward("leader", WardRole::kLeader, script)).ok());
      const auto code = is_asked ? run_with_signals(keeper, {{path("ready"), SIGTERM}}) : keeper.run();
      EXPECT_EQ(*code, is_asked ? 75 : 0);
    }
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) EXPECT_EQ(is_heard(signal), !is_asked) << signal;
  }
}

// timeout(1) signals its child, and then every process in the child's group.
TEST_F(KeeperTest, ASignalThatIsSentTwiceAtOnceIsTheFirst) {
  Keeper keeper({});
  ASSERT_TRUE(
      keeper.add(ward("leader", WardRole::kLeader, "trap 'exit 75' TERM INT; : > ready; while :; do :; done")).ok());
  keeper.poll([this](Keeper&) -> Result<bool> {
    if (!exists("ready")) return false;
    ::kill(::getpid(), SIGTERM);
    ::kill(::getpid(), SIGINT);
    return true;
  });
  EXPECT_EQ(*keeper.run(), 75);
}

// The shell and the kernel each tell of a terminal that closes.
TEST_F(KeeperTest, AClosedTerminalIsTheFirstSignalAndNeverTheSecond) {
  for (const auto& [first, code] : {std::pair{SIGHUP, 75}, {SIGTERM, 76}}) {
    std::filesystem::remove(path("ready"));
    Keeper keeper({Duration::zero(), seconds(100)});
    ASSERT_TRUE(keeper
                    .add(ward("leader", WardRole::kLeader,
                              "trap 'kill -HUP $PPID; end=75' HUP; trap 'kill -HUP $PPID; end=76' TERM; : > ready; "
                              "while [ -z \"$end\" ]; do :; done; exit $end"))
                    .ok());
    EXPECT_EQ(*run_with_signals(keeper, {{path("ready"), first}}), code);
    EXPECT_EQ(keeper.first_signal(), first);
  }
}

// A process under nohup ignores SIGHUP; a signal that is ignored, and waited for all the same, would be taken.
TEST_F(KeeperTest, WhoWasToldToOutliveItsTerminalDoes) {
  for (const bool is_told : {true, false}) {
    ::signal(SIGHUP, is_told ? SIG_IGN : SIG_DFL);
    {
      Keeper keeper({});
      ASSERT_TRUE(keeper.add(ward("leader", WardRole::kLeader, "trap '' HUP; kill -HUP $PPID; exit 0")).ok());
      EXPECT_EQ(*keeper.run(), 0);
      EXPECT_EQ(keeper.first_signal(), is_told ? 0 : SIGHUP);
    }
  }
  ::signal(SIGHUP, SIG_DFL);
}

TEST_F(KeeperTest, ALeaderThatFinishesThoughNoFollowerIsLeftHasFinished) {
  Keeper keeper({});
  ASSERT_TRUE(
      keeper.add(ward("leader", WardRole::kLeader, "trap 'echo finished; exit 0' TERM; : > ready; while :; do :; done"))
          .ok());
  Ward late = ward("late", WardRole::kFollower, "while ! [ -e ready ]; do :; done; exit 4");
  late.limits.final_codes = {0, 4};
  ASSERT_TRUE(keeper.add(late).ok());
  EXPECT_EQ(*keeper.run(), 0);
}

TEST_F(KeeperTest, StopsTheLeaderWhenNoFollowerIsLeft) {
  Keeper keeper({});
  ASSERT_TRUE(
      keeper.add(ward("leader", WardRole::kLeader, "trap 'echo stopped; exit 75' TERM; : > ready; while :; do :; done"))
          .ok());
  Ward refused = ward("follower", WardRole::kFollower, "while ! [ -e ready ]; do :; done; exit 4");
  refused.limits.final_codes = {0, 4};
  ASSERT_TRUE(keeper.add(refused).ok());
  EXPECT_EQ(*keeper.run(), 4);
  EXPECT_EQ(log("leader"), "stopped\n");
}

TEST_F(KeeperTest, ChildrenHaveProcessGroupsOfTheirOwn) {
  Keeper keeper({});
  ASSERT_TRUE(
      keeper.add(ward("worker", WardRole::kEqual, "echo $$; ps -o pgid= -p $$ || cut -d' ' -f5 /proc/$$/stat")).ok());
  EXPECT_EQ(*keeper.run(), 0);
  std::istringstream words(log("worker"));
  pid_t pid = 0, group = 0;
  words >> pid >> group;
  EXPECT_EQ(pid, group);
}

// As `launch/set-up` asks before it builds.
TEST_F(KeeperTest, ItsProgramIsHeldWhileItsProcessLives) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  Ward asker = ward("asker", WardRole::kLeader, "flock --nonblock --exclusive '" + program + "' true");
  asker.limits.finality = Finality::kEveryCode;
  Keeper keeper({});
  ASSERT_TRUE(keeper.add(asker).ok());
  EXPECT_EQ(*keeper.run(), 1) << "0: nobody holds it";
}

TEST_F(KeeperTest, NothingOutlivesAKeeperThatIsKilled) {
  const pid_t keeper_pid = ::fork();
  if (keeper_pid == 0) {
    Keeper keeper({});
    const Status added = keeper.add(ward("worker", WardRole::kEqual, "echo $$ > pid; while :; do :; done"));
    ::_exit(added.ok() ? *keeper.run() : 1);
  }
  const pid_t worker = std::stoi(text_of(path("pid")));
  EXPECT_EQ(::kill(worker, 0), 0);
  ::kill(keeper_pid, SIGKILL);
  ::waitpid(keeper_pid, nullptr, 0);
  // Gone, or a zombie that waits for init to take note of it.
  for (;;) {
    const auto stat = read_file(compose("/proc/", worker, "/stat"));
    if (!stat.ok() || stat->find(") Z ") != std::string::npos) break;
    ::sched_yield();
  }
}

TEST_F(KeeperTest, AProgramThatCannotBeStartedIsNamed) {
  Keeper keeper({});
  Ward missing = ward("missing", WardRole::kEqual, "");
  missing.program.arguments = {"/nowhere/shoal-worker"};
  const Status added = keeper.add(missing);
  ASSERT_FALSE(added.ok());
  EXPECT_THAT(added.failure().message, HasSubstr("/nowhere/shoal-worker: No such file"));
}

// A start that finds a note so knows of a crash of the program itself.
TEST_F(KeeperTest, ANoteOutlivesOnlyACrash) {
  for (const bool crashes : {true, false}) {
    const std::string folder = crashes ? "crashed" : "killed";
    std::filesystem::create_directory(path(folder));
    Keeper keeper({});
    Ward one =
        ward(folder, WardRole::kLeader,
             "cd " + folder + "; test -e second && { test -e note && echo found; exit 0; }; touch second note; " +
                 std::string(crashes ? "kill -ABRT $$" : "kill -KILL $$"));
    one.crash_note = path(folder) + "/note";
    ASSERT_TRUE(keeper.add(one).ok());
    EXPECT_EQ(*keeper.run(), 0);
    EXPECT_EQ(log(folder), crashes ? "found\n" : "");
  }
}

// Somebody else's doing costs the ward nothing: it comes back more often than its budget allows.
TEST_F(KeeperTest, AnExcusedEndCostsNothingOfTheBudget) {
  for (const bool is_excused : {true, false}) {
    const std::string folder = is_excused ? "excused" : "own";
    std::filesystem::create_directory(path(folder));
    Keeper keeper({});
    Ward one = ward(folder, WardRole::kLeader,
                    "cd " + folder + "; echo x >> lives; test $(wc -l < lives) -ge 5 && exit 0; kill -ABRT $$");
    one.limits.budget = 1;
    one.limits.first_delay = one.limits.longest_delay = milliseconds(1);
    one.excuse = [is_excused](const ExitStatus& status, bool is_crash) -> std::optional<std::string> {
      EXPECT_EQ(is_crash, status.kind == ExitStatus::Kind::kSignal);
      if (!is_excused || !is_crash) return std::nullopt;
      return "by a peer";
    };
    ASSERT_TRUE(keeper.add(one).ok());
    EXPECT_EQ(*keeper.run(), is_excused ? 0 : 1);
  }
}

// The microbatch that it computed when a peer made it crash is not to blame.
TEST_F(KeeperTest, ANoteDoesNotOutliveAnExcusedCrash) {
  std::filesystem::create_directory(path("excused"));
  Keeper keeper({});
  Ward one = ward("excused", WardRole::kLeader,
                  "cd excused; test -e second && { test -e note && echo found; exit 0; }; touch second note; "
                  "kill -ABRT $$");
  one.crash_note = path("excused") + "/note";
  one.excuse = [](const ExitStatus&, bool is_crash) {
    return is_crash ? std::optional<std::string>("so") : std::nullopt;
  };
  ASSERT_TRUE(keeper.add(one).ok());
  EXPECT_EQ(*keeper.run(), 0);
  EXPECT_EQ(log("excused"), "");
}

int times_asked = 0;

// Stands for what /proc says of a process with such a name: its core is whole a while before its end.
bool writes_core(pid_t pid) {
  const auto words = read_file(compose("/proc/", pid, "/cmdline"));
  return words && words->find("crashed") != std::string::npos && times_asked++ == 0;
}

// Keeps four that show a sign and then none: one is frozen, one may be silent for longer, one owes no further sign, and
// one writes its core.
TEST_F(KeeperTest, KillsAndStartsAgainOnlyWhomItsSilenceShowsToBeFrozen) {
  const std::pair<const char*, const char*> scripts[] = {
      {"frozen", "test -e again && exit 0; : > again; show u1; kill -STOP $$"},
      {"patient", "show u60000; pause; exit 0"},
      {"ending", "show u1; show u0; pause; exit 0"},
      {"crashed", "test -e written && exit 0; show u1; pause; : > written; kill -SEGV $$"}};
  KeeperTimes times;
  times.writes_core = writes_core;
  times_asked = 0;
  Keeper keeper(times);
  for (const auto& [name, script] : scripts) {
    Ward one = ward(name, WardRole::kEqual, "");
    one.program.arguments = {"/bin/bash", "-c",
                             compose("cd ", folder_, "; echo start; show() { printf %s $1 >&$SHOAL_KEEPER; }; ",
                                     "pause() { mkfifo ", name, "; read -t 4.5 <> ", name, "; }; ", script)};
    ASSERT_TRUE(keeper.add(one).ok());
  }
  testing::internal::CaptureStderr();
  EXPECT_EQ(*keeper.run(), 0);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(log("frozen"), "start\nstart\n");
  EXPECT_EQ(log("patient"), "start\n");
  EXPECT_EQ(log("ending"), "start\n");
  EXPECT_EQ(log("crashed"), "start\nstart\n");
  EXPECT_TRUE(exists("written")) << said;
  EXPECT_THAT(said, HasSubstr("crashed has crashed and writes its core; it may take 120 s for that"));
  EXPECT_THAT(said, HasSubstr("frozen shows no sign of life for 3"));
  EXPECT_THAT(said, HasSubstr("and therefore killed; it is started again"));
}

}  // namespace
}  // namespace shoal::keeper_test
