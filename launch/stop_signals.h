// Which signals ask a process to stop, and which of them press one that is stopping already.
// A closed terminal (SIGHUP) is one of them, except for who was told to outlive it: nohup leaves it ignored.
#pragma once

#include <csignal>
#include <vector>

namespace shoal {

// SIGINT, SIGTERM, SIGUSR1, and SIGHUP where this process does not ignore it.
[[nodiscard]] std::vector<int> stop_signals();

// Whether a second signal ends the process at once. The shell and the kernel each tell of a terminal that closes: that
// is not a person who says it twice.
[[nodiscard]] constexpr bool is_pressing(int signal) { return signal != SIGHUP; }

// As the set that sigprocmask() and sigtimedwait() take.
[[nodiscard]] sigset_t stop_signal_set();

}  // namespace shoal
