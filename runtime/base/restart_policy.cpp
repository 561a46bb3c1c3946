// The window of restarts is a short queue of their times.
#include "runtime/base/restart_policy.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr Duration kLongestAfterKill = std::chrono::seconds(2);

}  // namespace

std::string describe(const ExitStatus& status) {
  if (status.kind == ExitStatus::Kind::kCode) return compose("exit status ", status.number);
  return compose("signal ", status.number, " (", ::strsignal(status.number), ")");
}

ExitStatus exit_status_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {ExitStatus::Kind::kSignal, WTERMSIG(wait_status)};
  return {ExitStatus::Kind::kCode, WEXITSTATUS(wait_status)};
}

RestartPolicy::RestartPolicy(RestartLimits limits, std::uint64_t seed) : limits_(std::move(limits)), jitter_(seed) {}

RestartDecision RestartPolicy::decide(const ExitStatus& status, Instant now, LifeReached reached) {
  if (status.is_code(kGivenUpStatus)) return GiveUp{told_status(status.number), "it was given up"};
  const bool is_passing = may_pass(status);
  if (is_final(status) && !is_passing) return GiveUp{told_status(status.number), describe(status)};
  const int told = is_passing ? told_status(status.number) : 1;
  if (starts_in_vain(status, reached)) {
    return GiveUp{told, compose(describe(status), ", and it was restarted ", limits_.budget,
                                " times without having come up once: it is not started again")};
  }
  pay_back(now, reached);
  if (is_passing) return decide(describe(status), told, now);
  if (status.is_code(kRejoinStatus)) {
    return RestartAfter{next_delay(now), "it has lost its place in the run and comes back"};
  }
  const bool is_killed = status.kind == ExitStatus::Kind::kSignal && status.number == SIGKILL;
  if (is_killed && reached != LifeReached::kNothing && limits_.budget > 0) {
    return RestartAfter{next_delay(now, kLongestAfterKill), describe(status) + "; it is started again"};
  }
  return decide(describe(status), now);
}

RestartAfter RestartPolicy::come_back(const std::string& how, Instant now) {
  return {next_delay(now), how + "; it is started again"};
}

RestartDecision RestartPolicy::decide(const std::string& how, Instant now) {
  pay_back(now, LifeReached::kNothing);
  return decide(how, 1, now);
}

RestartDecision RestartPolicy::decide(const std::string& how, int exit_code, Instant now) {
  if (limits_.budget == kNoBudget) return RestartAfter{next_delay(now), how + "; it is started again"};
  forget_old(now);
  if (limits_.budget == 0) return GiveUp{exit_code, how};
  const auto recent = static_cast<int>(restarts_.size());
  const double window_s = std::chrono::duration<double>(limits_.window).count();
  if (recent >= limits_.budget)
    return GiveUp{exit_code, compose(how, ", and it was restarted ", recent, " times within ", window_s,
                                     " s, each time in vain: it is not started again")};
  restarts_.push_back(now);
  return RestartAfter{next_delay(now), compose(how, "; restart ", recent + 1, " of at most ", limits_.budget,
                                               " within ", window_s, " s")};
}

// SIGKILL comes from outside, and one that lost its place had come up.
bool RestartPolicy::starts_in_vain(const ExitStatus& status, LifeReached reached) {
  if (reached != LifeReached::kNothing || status.is_code(kRejoinStatus)) vain_starts_ = 0;
  const bool is_killed = status.kind == ExitStatus::Kind::kSignal && status.number == SIGKILL;
  if (reached != LifeReached::kNothing || status.is_code(kRejoinStatus) || is_killed) return false;
  return limits_.budget > 0 && limits_.budget != kNoBudget && ++vain_starts_ > limits_.budget;
}

// A life that was of use begins a new count, and a new row of delays; its own end is the first of them.
void RestartPolicy::pay_back(Instant now, LifeReached reached) {
  if (reached != LifeReached::kWork && now - started_ < limits_.settled_after) return;
  restarts_.clear();
  short_lives_ = 0;
}

void RestartPolicy::forget_old(Instant now) {
  while (!restarts_.empty() && now - restarts_.front() >= limits_.window) restarts_.pop_front();
}

Duration RestartPolicy::next_delay(Instant now, Duration longest) {
  longest = std::min(longest, limits_.longest_delay);
  Duration delay = limits_.first_delay;
  for (int life = 0; life < short_lives_ && delay < longest; ++life) delay *= 2;
  delay = std::min(delay, longest);
  delay = jitter_.spread(delay, 0.75, 1.25);
  ++short_lives_;
  was_restarted_ = true;
  started_ = now + delay;
  return delay;
}

bool RestartPolicy::may_pass(const ExitStatus& status) const {
  const auto& codes = limits_.passing_codes;
  return was_restarted_ && status.kind == ExitStatus::Kind::kCode &&
         std::find(codes.begin(), codes.end(), status.number) != codes.end();
}

bool RestartPolicy::is_final(const ExitStatus& status) const {
  if (status.kind == ExitStatus::Kind::kSignal) return false;
  if (limits_.finality == Finality::kEveryCode) return true;
  if (limits_.finality == Finality::kAtFirst && was_restarted_) return status.number == 0;
  return std::find(limits_.final_codes.begin(), limits_.final_codes.end(), status.number) != limits_.final_codes.end();
}

}  // namespace shoal
