// One thread that waits for signals; everything else follows from who has ended and what time it is.
#include "launch/keeper.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "launch/say.h"
#include "launch/stop_signals.h"
#include "runtime/base/compose.h"
#include "runtime/base/machine/unhindered_stream.h"

namespace shoal {
namespace {

using std::chrono::milliseconds;

constexpr Duration kPollInterval = milliseconds(20);
constexpr Duration kIdleInterval = std::chrono::seconds(1);
constexpr ExitStatus kAskedToEnd{ExitStatus::Kind::kSignal, SIGTERM};
constexpr ExitStatus kKilled{ExitStatus::Kind::kSignal, SIGKILL};

Instant now_is() { return SteadyClock().now(); }

timespec as_timespec(Duration duration) {
  const auto nanoseconds = std::max<std::int64_t>(0, std::chrono::nanoseconds(duration).count());
  return {.tv_sec = nanoseconds / 1'000'000'000, .tv_nsec = nanoseconds % 1'000'000'000};
}

bool is_crash(const ExitStatus& status) {
  if (status.kind != ExitStatus::Kind::kSignal) return false;
  for (const int own : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    if (status.number == own) return true;
  }
  return false;
}

// Returns the status of an ended ward. For one that died by the very signal that asked it to end, it is a shell's.
int code_of(const ExitStatus& status, int asked_by) {
  if (status.kind == ExitStatus::Kind::kCode) return told_status(status.number);
  return status.number == asked_by ? 128 + asked_by : 1;
}

// Returns the status of a process that ended at once, whatever was not done, where this signal had asked it to.
int code_of_haste(int signal) { return 128 + (signal == SIGINT ? SIGINT : SIGTERM); }

std::string seconds_text(Duration duration) {
  return compose(static_cast<double>(std::chrono::duration_cast<milliseconds>(duration).count()) / 1000, " s");
}

}  // namespace

Keeper::Keeper(KeeperTimes times) : times_(times), signals_(stop_signal_set()) {
  ::sigaddset(&signals_, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &signals_, &signals_before_);
  outlive_readers();
  hold_program();
}

Keeper::~Keeper() {
  kill_everything();
  // After a signal to stop, this process exits with the status of that one: a further signal must not change it.
  if (first_signal_ == 0) ::sigprocmask(SIG_SETMASK, &signals_before_, nullptr);
}

Status Keeper::add(Ward ward) {
  LifeLine life;
  auto started = start(ward.program, life);
  if (!started) return started.failure();
  const auto seed = static_cast<std::uint64_t>(*started) * 1000003u + kept_.size();
  RestartPolicy policy(ward.limits, seed);
  kept_.push_back(Kept{std::move(ward), std::move(policy), *started, std::nullopt, std::nullopt, std::move(life)});
  return Done{};
}

// A process that cannot have a line runs without one: it only counts as one that told nothing.
Result<pid_t> Keeper::start(const ChildProgram& program, LifeLine& life) {
  auto made = LifeLine::make();
  life = made ? std::move(made.value()) : LifeLine();
  auto started = start_child(program, life.far_end());
  life.close_far_end();
  return started;
}

// Tells this keeper's own keeper what the wards did: its life is judged by that.
void Keeper::listen(Instant now) {
  for (auto& kept : kept_) {
    kept.watch.look(kept.life.hear(), now);
    tell_keeper(kept.life.reached());
  }
}

// A keeper is never silent for too long: its signs serve only to see whether they are read.
void Keeper::look_at_own_keeper() {
  show_life(LifeWatch::kAnySilence);
  const auto news = own_keeper_.look(keeper_silence(), ::getppid());
  if (news && !kept_.empty()) say("the keeper of ", kept_.front().ward.name, ": ", *news);
}

// A core that is cut does not say why the process crashed. A disk that is too slow for it must not hold the ward.
// Behind its core a process still gives back its memory, which takes a while, too.
bool Keeper::is_left_to_its_core(Kept& kept, Instant now) const {
  if (!kept.core_since) {
    if (kept.pid == 0 || !times_.writes_core(kept.pid)) return false;
    kept.core_since = now;
    say(kept.ward.name, " has crashed and writes its core; it may take ", seconds_text(times_.core), " for that");
  }
  return now - *kept.core_since < times_.core;
}

// One that is to end has the grace for it, however silent it is.
void Keeper::kill_the_silent(Instant now) {
  for (auto& kept : kept_) {
    const auto silent = kept.watch.silent_too_long();
    if (!silent || kept.pid == 0 || kept.silence || !goes_on(kept) || is_left_to_its_core(kept, now)) continue;
    kept.silence = compose("no sign of life for ", seconds_text(*silent), ", and therefore killed");
    say(kept.ward.name, " shows no sign of life for ", seconds_text(*silent), ", as if it were frozen; killing it");
    signal_child(kept.pid, SIGKILL);
  }
}

Result<int> Keeper::run() {
  while (!all_ended()) {
    const int signal = wait_for_signal();
    if (signal > 0 && signal != SIGCHLD) take_signal(signal);
    if (killed_with_) return *killed_with_;
    words_out().go_on();
    look_at_own_keeper();  // before anything new is told to it
    listen(now_is());
    reap();
    kill_the_silent(now_is());
    if (auto status = ask(); !status) {
      kill_everything();
      return status.failure();
    }
    const Instant now = now_is();
    restart_due(now);
    press(now);
  }
  return result();
}

void Keeper::take_signal(int signal) {
  if (first_signal_ != 0) {
    if (!is_pressing(signal, now_is() - first_signal_at_)) return;
    kill_everything();
    say("second signal: everything is killed");
    killed_with_ = code_of_haste(signal);
    return;
  }
  first_signal_ = signal;
  first_signal_at_ = now_is();
  (void)take_stop_signal();  // drops signals that came meanwhile: they ask for the same
  question_ = nullptr;
  stop_politely(signal);
}

// The leader learns which signal it was, for its exit status says so.
void Keeper::stop_politely(int signal) {
  if (phase_ != Phase::kRunning) return;
  phase_ = Phase::kStopping;
  stop_signal_ = signal;
  Kept* lead = leader();
  if (lead != nullptr && lead->pid > 0) {
    signal_child(lead->pid, signal);
    return;
  }
  if (lead != nullptr && !lead->final_code && !lead->ward.stop_option.empty()) {
    lead->restart_at = now_is();
    return;
  }
  if (lead != nullptr && !lead->final_code) {
    say(lead->ward.name, " was down when the signal came; the run goes on from its journal with --resume");
    lead->restart_at.reset();
    lead->final_code = 1;
    start_ending(now_is());
    return;
  }
  terminate_at_ = now_is();
}

void Keeper::reap() {
  for (;;) {
    int wait_status = 0;
    const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG);
    if (pid <= 0) return;
    const auto found = std::find_if(kept_.begin(), kept_.end(), [pid](const Kept& kept) { return kept.pid == pid; });
    if (found != kept_.end()) ended(*found, exit_status_of(wait_status));
  }
}

// True when it is to run, and starts again if it ends.
bool Keeper::goes_on(const Kept& kept) const {
  const bool is_cut_short = kept.ward.role == WardRole::kLeader && !kept.ward.stop_option.empty();
  return phase_ == Phase::kRunning || (phase_ == Phase::kStopping &&
                                       (kept.ward.role == WardRole::kFollower || is_cut_short) && !kept.is_out_of_time);
}

void Keeper::ended(Kept& kept, const ExitStatus& status) {
  kept.pid = 0;
  std::error_code ignored;
  auto excuse = kept.ward.excuse ? kept.ward.excuse(status, is_crash(status)) : std::nullopt;
  if (!excuse && status == kKilled) excuse = kept.silence;
  const bool is_own_crash = is_crash(status) && !excuse;
  if (!kept.ward.crash_note.empty() && !is_own_crash) std::filesystem::remove(kept.ward.crash_note, ignored);
  if (!goes_on(kept)) {
    const bool expected = status.kind == ExitStatus::Kind::kCode || kept.ward.role == WardRole::kFollower || kill_at_ ||
                          kept.is_out_of_time;
    if (!expected) say(kept.ward.name, ": ", describe(status), " while stopping");
    // One that had not begun to listen for signals ends by the very one that asks it to end.
    const bool is_as_asked = kept.ward.role != WardRole::kLeader && status == kAskedToEnd;
    const bool is_late = kept.is_out_of_time && status == kKilled;
    const int code = is_late ? code_of_haste(stop_signal_) : code_of(status, stop_signal_);
    ended_for_good(kept, {is_as_asked ? 0 : code, describe(status)});
    return;
  }
  const bool says_so_itself = kept.ward.role == WardRole::kLeader && status.kind == ExitStatus::Kind::kCode;
  follow(kept, decide(kept, status, excuse), says_so_itself);
}

RestartDecision Keeper::decide(Kept& kept, const ExitStatus& status, const std::optional<std::string>& excuse) {
  if (excuse) return kept.policy.come_back(*excuse, now_is());
  return kept.policy.decide(status, now_is(), kept.life.reached());
}

void Keeper::follow(Kept& kept, const RestartDecision& decision, bool says_so_itself) {
  if (const auto* verdict = std::get_if<GiveUp>(&decision)) {
    if (verdict->exit_code != 0 && !says_so_itself) say(kept.ward.name, ": ", verdict->reason);
    ended_for_good(kept, *verdict);
    return;
  }
  const auto& restart = std::get<RestartAfter>(decision);
  say(kept.ward.name, ": ", restart.reason, ", in ", seconds_text(restart.delay));
  kept.restart_at = now_is() + restart.delay;
}

void Keeper::ended_for_good(Kept& kept, const GiveUp& verdict) {
  kept.final_code = verdict.exit_code;
  if (kept.ward.role == WardRole::kLeader) start_ending(now_is());
  if (kept.ward.role == WardRole::kFollower) follower_lost();
}

// Without any follower left, and not because they were done, the leader waits for nothing.
void Keeper::follower_lost() {
  Kept* lead = leader();
  if (phase_ != Phase::kRunning || lead == nullptr) return;
  std::optional<int> code;
  std::string names;
  for (const auto& kept : kept_) {
    if (kept.ward.role != WardRole::kFollower) continue;
    if (!kept.final_code) return;
    if (*kept.final_code != 0 && !code) code = kept.final_code;
    const std::string& log = kept.ward.program.log_file;
    names += (names.empty() ? "" : ", ") + kept.ward.name + (log.empty() ? "" : " (see " + log + ")");
  }
  if (!code) return;
  follower_code_ = code;
  say("ended for good: ", names, "; ", lead->ward.name, " is told to end, too");
  stop_politely(SIGTERM);
}

ChildProgram Keeper::next_start(const Kept& kept) const {
  ChildProgram program = kept.ward.again.value_or(kept.ward.program);
  const bool is_to_stop = phase_ == Phase::kStopping && kept.ward.role == WardRole::kLeader;
  if (is_to_stop) program.arguments.insert(program.arguments.end(), {kept.ward.stop_option, compose(stop_signal_)});
  return program;
}

void Keeper::restart_due(Instant now) {
  for (auto& kept : kept_) {
    if (!kept.restart_at || *kept.restart_at > now) continue;
    kept.restart_at.reset();
    kept.watch = LifeWatch();
    kept.silence.reset();
    kept.core_since.reset();
    const auto started = start(next_start(kept), kept.life);
    if (started) {
      kept.pid = *started;
      continue;
    }
    // No end of the program: a machine without a free process or file has one later.
    follow(kept, kept.policy.decide(started.failure().message, now), false);
  }
}

void Keeper::start_ending(Instant now) {
  phase_ = Phase::kEnding;
  for (auto& kept : kept_) {
    if (!kept.restart_at) continue;
    kept.restart_at.reset();
    kept.final_code = 1;
  }
  terminate_at_ = now + times_.leave_alone;
}

// SIGTERM, then SIGKILL, when their times have come.
void Keeper::press(Instant now) {
  if (terminate_at_ && now >= *terminate_at_) {
    terminate_at_.reset();
    kill_at_ = now + times_.grace;
    for (auto& kept : kept_) {
      if (!kept.restart_at) continue;
      kept.restart_at.reset();
      kept.final_code = 0;
    }
    signal_all(SIGTERM);
  }
  if (kill_at_ && now >= *kill_at_) kill_the_stubborn(now);
  if (phase_ == Phase::kStopping) kill_the_unborn(now);
}

// A leader that has not come up takes no signal, and shows no sign of life that could end. It has no step to finish:
// what was committed before is safe. One that has come up takes as long as its step does.
void Keeper::kill_the_unborn(Instant now) {
  Kept* lead = leader();
  if (lead == nullptr || lead->final_code || lead->is_out_of_time) return;
  if (lead->pid != 0 && lead->life.reached() != LifeReached::kNothing) return up_by_.reset();
  if (!up_by_) up_by_ = now + times_.coming_up;
  if (now < *up_by_ || is_left_to_its_core(*lead, now)) return;
  up_by_ = now + std::chrono::hours(1);
  const char* const verdict = lead->pid != 0 ? "; killing it" : "; it is not started again";
  say(lead->ward.name, " did not come up within ", seconds_text(times_.coming_up), " of the signal", verdict);
  if (lead->pid != 0) {
    lead->is_out_of_time = true;
    signal_child(lead->pid, SIGKILL);
    return;
  }
  lead->restart_at.reset();
  ended_for_good(*lead, {code_of_haste(stop_signal_), "it never came up"});
}

void Keeper::kill_the_stubborn(Instant now) {
  kill_at_ = now + std::chrono::hours(1);
  for (auto& kept : kept_) {
    if (kept.pid == 0) continue;
    if (is_left_to_its_core(kept, now)) {
      kill_at_ = now + std::min(times_.core, kIdleInterval);
      continue;
    }
    say(kept.ward.name, " did not end within ", seconds_text(times_.grace), "; killing it");
    kept.is_out_of_time = true;
    signal_child(kept.pid, SIGKILL);
  }
}

void Keeper::signal_all(int signal) {
  for (const auto& kept : kept_)
    if (kept.pid > 0) signal_child(kept.pid, signal);
}

void Keeper::kill_everything() {
  signal_all(SIGKILL);
  for (auto& kept : kept_) {
    if (kept.pid > 0) ::waitpid(kept.pid, nullptr, 0);
    kept.pid = 0;
  }
}

// The next signal, or 0 when something else is due.
int Keeper::wait_for_signal() {
  const Instant now = now_is();
  Duration patience = question_ ? kPollInterval : kIdleInterval;
  const auto consider = [&patience, now](const std::optional<Instant>& due) {
    if (due) patience = std::min(patience, *due - now);
  };
  for (const auto& kept : kept_) consider(kept.restart_at);
  consider(terminate_at_);
  consider(kill_at_);
  consider(up_by_);
  const timespec timeout = as_timespec(patience);
  const int signal = ::sigtimedwait(&signals_, nullptr, &timeout);
  return signal > 0 ? signal : 0;
}

Status Keeper::ask() {
  if (!question_ || phase_ != Phase::kRunning) return Done{};
  const auto question = question_;
  const auto answer = question(*this);
  if (!answer) return answer.failure();
  if (*answer) question_ = nullptr;
  return Done{};
}

bool Keeper::all_ended() const {
  return std::all_of(kept_.begin(), kept_.end(), [](const Kept& kept) { return kept.final_code.has_value(); });
}

Keeper::Kept* Keeper::leader() {
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [](const Kept& kept) { return kept.ward.role == WardRole::kLeader; });
  return found == kept_.end() ? nullptr : &*found;
}

int Keeper::result() const {
  int code = 0;
  for (const auto& kept : kept_) {
    if (kept.ward.role == WardRole::kLeader) {
      const int own = kept.final_code.value_or(1);
      return own == 0 ? 0 : follower_code_.value_or(own);  // a leader that finishes meanwhile has finished
    }
    if (code == 0) code = kept.final_code.value_or(1);
  }
  return code;
}

}  // namespace shoal
