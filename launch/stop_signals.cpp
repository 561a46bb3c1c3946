// A signal that is ignored and blocked would still be taken by a thread that waits for it: it must not be in the set.
#include "launch/stop_signals.h"

#include <unistd.h>

#include <ctime>
#include <optional>

namespace shoal {
namespace {

constexpr timespec kLook{.tv_sec = 0, .tv_nsec = 20'000'000};

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

std::vector<int> stop_signals() {
  std::vector<int> signals = {SIGINT, SIGTERM, SIGUSR1};
  if (!is_ignored(SIGHUP)) signals.push_back(SIGHUP);
  return signals;
}

sigset_t stop_signal_set() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : stop_signals()) ::sigaddset(&set, signal);
  return set;
}

void end_at_stop_signals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { ::_exit(saved_status(signal)); };
  ::sigemptyset(&action.sa_mask);
  for (const int signal : stop_signals()) ::sigaction(signal, &action, nullptr);
}

void outlive_readers() { std::signal(SIGPIPE, SIG_IGN); }

void block_stop_signals() {
  const sigset_t set = stop_signal_set();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

int take_stop_signal() {
  const sigset_t set = stop_signal_set();
  const timespec no_wait{};
  const int first = ::sigtimedwait(&set, nullptr, &no_wait);
  for (int more = first; more > 0;) more = ::sigtimedwait(&set, nullptr, &no_wait);
  return first > 0 ? first : 0;
}

// A thread of its own: what hangs in a system call runs no handler.
SecondSignalWatch::SecondSignalWatch(int status, bool was_asked)
    : thread_([status, was_asked](const std::stop_token& is_over) {
        using Clock = std::chrono::steady_clock;
        const sigset_t set = stop_signal_set();
        std::optional<Clock::time_point> first;
        if (was_asked) first = Clock::now() - kOneWish;
        while (!is_over.stop_requested()) {
          const int signal = ::sigtimedwait(&set, nullptr, &kLook);
          if (signal <= 0) continue;
          const auto now = Clock::now();
          if (first && is_pressing(signal, now - *first)) ::_exit(status);
          if (!first) first = now;
        }
      }) {}

}  // namespace shoal
