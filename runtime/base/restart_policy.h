// Decides whether and when a keeper starts a process again, or a process one of its side actors. Pure: the time and the
// way it ended come in, a decision with its reason comes out.
//
// Invariant: at most `budget` restarts begin within any `window` after lives of no use; past it the failure escalates
// to whoever watches the keeper. A life that lasted `settled_after`, or in which work was done, pays back what was
// spent: a process that fails often, but works in between, is never given up; one that dies at each start is. A process
// that ends to come back, because it has lost its place in the run, has not failed, and SIGKILL of one that had come up
// tells nothing of it: both cost nothing of the budget, however often they happen. A process that ends by itself, life
// after life, before it has come up even once is given up after `budget` restarts, however long each life lasted.
// Delays double from `first_delay` with each life that was shorter than `settled_after` and without work, up to
// `longest_delay`: a process that has worked comes back at once, one that crashes at its start does not. They vary by a
// quarter either way, so that processes that ended together do not return together. One that others can do without has
// no budget: it is started again as long as they go on.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/arithmetic/jitter.h"
#include "runtime/base/clock.h"

namespace shoal {

// End of a process: by returning a code, or by a signal.
struct ExitStatus {
  enum class Kind { kCode, kSignal };
  Kind kind = Kind::kCode;
  int number = 0;  // the code or the signal

  [[nodiscard]] bool is_code(int code) const { return kind == Kind::kCode && number == code; }
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

// "exit status 3", "signal 9 (Killed)".
[[nodiscard]] std::string describe(const ExitStatus& status);

// Reads waitpid's status word.
[[nodiscard]] ExitStatus exit_status_of(int wait_status);

// A worker or storage ends with it to be started again: it lost the spawner, or was given up as lost.
inline constexpr int kRejoinStatus = 69;

// A process ends with this when another start would do no better: it is final for every keeper. It is between a process
// and its keeper; the process that started the keeper is told 1, which by itself is a crash.
inline constexpr int kGivenUpStatus = 70;

// A process with actors ends with this before they start, where the system gives it no threads. It is final at its
// first start and may pass later (`passing_codes`). A person is told 2: a limit of the system is to be raised.
inline constexpr int kNoThreadsStatus = 71;

[[nodiscard]] constexpr int told_status(int status) {
  if (status == kNoThreadsStatus) return 2;
  return status == kGivenUpStatus ? 1 : status;
}

enum class Finality {
  kListedCodes,  // codes of `final_codes` end it; other codes and all signals restart
  kEveryCode,    // only signals restart
  kAtFirst,      // kListedCodes until it has been restarted; from then on 0 alone ends it
};

inline constexpr int kNoBudget = std::numeric_limits<int>::max();

struct RestartLimits {
  Finality finality = Finality::kListedCodes;
  std::vector<int> final_codes = {0};
  int budget = 10;
  Duration window = std::chrono::seconds(60);
  Duration first_delay = std::chrono::milliseconds(100);
  Duration longest_delay = std::chrono::seconds(10);
  Duration settled_after = std::chrono::seconds(6);  // window / budget: what lives longer never gets past the budget
  // Final codes that may pass where the process has come up before, such as a port that another process has just taken:
  // from its first restart on they cost the budget, and are its result once that is spent.
  std::vector<int> passing_codes = {};
};

// Says how far a life got, as far as anybody told (launch/life_line.h).
enum class LifeReached {
  kNothing,  // or nobody told
  kUp,       // its start is over
  kWork,     // the run is further by it
};

struct RestartAfter {
  Duration delay;
  std::string reason;
};

struct GiveUp {
  int exit_code = 0;  // the child's own code where it is final and for others, else 1
  std::string reason;
};

using RestartDecision = std::variant<RestartAfter, GiveUp>;

class RestartPolicy {
 public:
  RestartPolicy(RestartLimits limits, std::uint64_t seed);

  // Called once per end of the process, with times that do not decrease.
  [[nodiscard]] RestartDecision decide(const ExitStatus& status, Instant now,
                                       LifeReached reached = LifeReached::kNothing);
  // The same for what has no exit status, such as an actor: `how` it ended, for the reason.
  [[nodiscard]] RestartDecision decide(const std::string& how, Instant now);
  // Restarts after an end that another process is to blame for: it costs nothing of the budget.
  [[nodiscard]] RestartAfter come_back(const std::string& how, Instant now);

 private:
  [[nodiscard]] bool is_final(const ExitStatus& status) const;
  [[nodiscard]] bool may_pass(const ExitStatus& status) const;
  [[nodiscard]] bool starts_in_vain(const ExitStatus& status, LifeReached reached);
  [[nodiscard]] RestartDecision decide(const std::string& how, int exit_code, Instant now);
  void pay_back(Instant now, LifeReached reached);
  void forget_old(Instant now);
  [[nodiscard]] Duration next_delay(Instant now, Duration longest = Duration::max());

  RestartLimits limits_;
  Jitter jitter_;
  std::deque<Instant> restarts_;  // those of the window, oldest first; none from before the newest life of use
  bool was_restarted_ = false;
  int short_lives_ = 0;  // one after the other, up to now
  int vain_starts_ = 0;  // lives in a row that ended by themselves before they had come up
  Instant started_{};    // when the present life began
};

}  // namespace shoal
