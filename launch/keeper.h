// Keeps processes alive: starts them, restarts them as RestartPolicy says, stops them in order. No torch, no CAF, one
// thread: a keeper has nothing in it that can fail with what it watches.
//
//   running ──first signal──▶ stopping: the leader gets the same signal (finishes the step, saves), followers live on
//      │                          │       without a leader every ward gets SIGTERM and the grace, and one that is
//      │                          │       killed behind it has the code of a second signal; a leader that is killed
//      │                          │       meanwhile starts again to stop (stop_option)
//      │ the leader ends          │ the leader ends
//      ▼                          ▼
//   ending: followers may end by themselves, then SIGTERM, after the grace SIGKILL; the leader's code is the result
//   a leader that is to stop, and hangs in its start for longer than `coming_up`: SIGKILL, and no other start
//   a second signal in any state: SIGKILL to everything; the code is 130 after SIGINT and 143 otherwise
//
// Signals are those of stop_signals.h; SIGHUP is never the second, nor is what comes together with the first. Wards die
// with the keeper (child_process.h). A ward that shows signs of life (life_line.h) and then none for longer than it
// allowed is killed, and comes back as after any end: a frozen process does not end by itself. One that has crashed and
// still writes its core is left two minutes for it. A keeper that is kept itself says when its own keeper is frozen.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/child_process.h"
#include "launch/life_line.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/machine/core_dump.h"
#include "runtime/base/restart_policy.h"
#include "runtime/base/time/keeper_notice.h"
#include "runtime/base/time/life_watch.h"

namespace shoal {

enum class WardRole {
  kLeader,    // its final code is the keeper's; at most one
  kFollower,  // lives as long as the leader
  kEqual,     // without a leader: the keeper ends when all have ended, with the first code that is not 0
};

struct Ward {
  std::string name;  // for messages: "node2"
  WardRole role = WardRole::kEqual;
  ChildProgram program;
  std::optional<ChildProgram> again;  // how it is started after the first time, where that differs
  // Option for a leader that is killed while it stops: with the signal's number, it goes to the start that stops in its
  // place. Empty: the leader is not started again then.
  std::string stop_option;
  RestartLimits limits;
  // A file of the ward's that only a crash leaves to its next start: after any other end it is removed, and after
  // one that is excused. A crash is a signal that the program itself brought about; SIGKILL comes from outside, also
  // when memory ran out.
  std::string crash_note;
  // Says how another process, already dealt with, brought about an end or a crash; nothing: none did. Its words are in
  // the message of the next start, and such an end costs nothing of the budget. Called once per end. Empty: never.
  using Excuse = std::function<std::optional<std::string>(const ExitStatus& status, bool is_crash)>;
  Excuse excuse;
};

struct KeeperTimes {
  Duration leave_alone = Duration::zero();    // for followers to end by themselves after the leader
  Duration grace = std::chrono::seconds(30);  // between SIGTERM and SIGKILL
  Duration core = std::chrono::minutes(2);    // before SIGKILL to one that writes its core
  bool (*writes_core)(pid_t) = is_dumping_core;
  Duration coming_up = std::chrono::seconds(30);  // before SIGKILL to a leader that is to stop and has not come up
};

class Keeper {
 public:
  // Signals wait from here on until run() takes them; the destructor kills what is left and restores them, unless one
  // asked this process to end: further ones change nothing. Words that nobody reads end nothing from here on, for good.
  explicit Keeper(KeeperTimes times);
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Starts it. Errors: kIo when it cannot be started.
  [[nodiscard]] Status add(Ward ward);

  // Asked every few milliseconds until it returns true: what waits for the wards to get ready (and may add() more).
  void poll(std::function<Result<bool>(Keeper&)> question) { question_ = std::move(question); }

  // Runs until all wards have ended. Returns the exit status of this process.
  [[nodiscard]] Result<int> run();
  // The first signal that run() took, 0 for none: its leader may have come to its own end all the same.
  [[nodiscard]] int first_signal() const { return first_signal_; }
  // True when a second signal killed everything.
  [[nodiscard]] bool was_pressed() const { return killed_with_.has_value(); }

 private:
  struct Kept {
    Ward ward;
    RestartPolicy policy;
    pid_t pid = 0;                      // 0: not running
    std::optional<Instant> restart_at;  // set: will run again
    std::optional<int> final_code;      // set: will not
    LifeLine life;                      // the newest start's, as the next two
    LifeWatch watch = {};
    std::optional<std::string> silence = {};  // killed for it
    std::optional<Instant> core_since = {};   // when it was first seen to write its core
    bool is_out_of_time = false;              // killed at the end of its grace
  };
  enum class Phase { kRunning, kStopping, kEnding };

  void take_signal(int signal);
  void stop_politely(int signal);
  [[nodiscard]] static Result<pid_t> start(const ChildProgram& program, LifeLine& life);
  void listen(Instant now);
  void look_at_own_keeper();
  void kill_the_silent(Instant now);
  [[nodiscard]] bool is_left_to_its_core(Kept& kept, Instant now) const;
  void kill_the_stubborn(Instant now);
  void kill_the_unborn(Instant now);
  void reap();
  [[nodiscard]] bool goes_on(const Kept& kept) const;
  void ended(Kept& kept, const ExitStatus& status);
  [[nodiscard]] static RestartDecision decide(Kept& kept, const ExitStatus& status,
                                              const std::optional<std::string>& excuse);
  void follow(Kept& kept, const RestartDecision& decision, bool says_so_itself);
  void ended_for_good(Kept& kept, const GiveUp& verdict);
  void follower_lost();
  void restart_due(Instant now);
  [[nodiscard]] ChildProgram next_start(const Kept& kept) const;
  void start_ending(Instant now);
  void press(Instant now);
  void signal_all(int signal);
  void kill_everything();
  [[nodiscard]] int wait_for_signal();
  [[nodiscard]] Status ask();
  [[nodiscard]] bool all_ended() const;
  [[nodiscard]] Kept* leader();
  [[nodiscard]] int result() const;

  KeeperTimes times_;
  std::vector<Kept> kept_;
  KeeperNotice own_keeper_;
  std::function<Result<bool>(Keeper&)> question_;
  Phase phase_ = Phase::kRunning;
  int first_signal_ = 0;  // 0: none yet
  Instant first_signal_at_;
  int stop_signal_ = 0;                  // the signal that asked the leader to stop
  std::optional<int> killed_with_;       // exit status after a second signal
  std::optional<int> follower_code_;     // why the leader was asked to stop
  std::optional<Instant> terminate_at_;  // SIGTERM to what still runs
  std::optional<Instant> kill_at_;       // SIGKILL to what still runs
  std::optional<Instant> up_by_;         // set: the leader is to stop, and had not come up when it was looked at last
  sigset_t signals_{};
  sigset_t signals_before_{};
};

}  // namespace shoal
