// Which signals ask a process to stop, and which of them press one that is stopping already.
// A closed terminal (SIGHUP) is one of them, except for who was told to outlive it: nohup leaves it ignored.
#pragma once

#include <chrono>
#include <csignal>
#include <vector>

namespace shoal {

// SIGINT, SIGTERM, SIGUSR1, and SIGHUP where this process does not ignore it.
[[nodiscard]] std::vector<int> stop_signals();

// Signals so close together are one wish: timeout(1) and others signal a process, and then its group.
inline constexpr std::chrono::milliseconds kOneWish{50};

// Whether another signal, so long after the first, ends the process at once. The shell and the kernel each tell of a
// terminal that closes: that is not a person who says it twice.
[[nodiscard]] constexpr bool is_pressing(int signal, std::chrono::nanoseconds since_first) {
  return signal != SIGHUP && since_first >= kOneWish;
}

// The exit status of who finished its step and saved after this first signal.
[[nodiscard]] constexpr int saved_status(int signal) { return signal == SIGINT ? 130 : 75; }
[[nodiscard]] constexpr bool is_saved_status(int status) { return status == 130 || status == 75; }

// As the set that sigprocmask() and sigtimedwait() take.
[[nodiscard]] sigset_t stop_signal_set();

// From here on they wait for whoever takes them.
void block_stop_signals();
// Takes one that waits, and whatever waits with it: the same wish. 0: none does.
int take_stop_signal();

}  // namespace shoal
