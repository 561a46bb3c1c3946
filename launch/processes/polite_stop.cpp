// The handler only notes a number or ends the process: both are safe in a signal handler.
#include "launch/processes/polite_stop.h"

#include <unistd.h>

#include <atomic>
#include <chrono>

#include "launch/stop_signals.h"

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<int> first_signal{0};
std::atomic<Clock::rep> first_signal_at{0};  // 0: none yet
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<Clock::rep>::is_always_lock_free);

void note(int signal) {
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep first = 0;
  if (first_signal_at.compare_exchange_strong(first, now)) return first_signal.store(signal);
  if (!is_pressing(signal, Clock::duration(now - first))) return;
  ::_exit(signal == SIGINT ? 130 : 143);
}

}  // namespace

void watch_for_stop() {
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (const int signal : stop_signals()) ::sigaction(signal, &action, nullptr);
  // A keeper that starts this process may have blocked them.
  const sigset_t signals = stop_signal_set();
  ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error of the write, like a full disk
  outlive_readers();              // what reads the progress lines may end with the terminal
}

std::optional<int> stop_status() {
  const int signal = first_signal.load();
  if (signal == 0) return std::nullopt;
  return saved_status(signal);
}

}  // namespace shoal
