// Signals that ask a process to stop, and those that press a process that is stopping already.
// A closed terminal (SIGHUP) asks too, except where this process ignores it: nohup starts programs so. A closed pipe
// (SIGPIPE) asks for nothing.
#pragma once

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

namespace shoal {

// SIGINT, SIGTERM, SIGUSR1, and SIGHUP where this process does not ignore it.
[[nodiscard]] std::vector<int> stop_signals();

// Signals so close together are one wish: timeout(1) and others signal a process, and then its group.
inline constexpr std::chrono::milliseconds kOneWish{50};

// Returns true when another signal, so long after the first, ends the process at once. For a closed terminal both the
// shell and the kernel send SIGHUP: that is not a person who insists.
[[nodiscard]] constexpr bool is_pressing(int signal, std::chrono::nanoseconds since_first) {
  return signal != SIGHUP && since_first >= kOneWish;
}

// The exit status of a process that finished its step and saved after this first signal.
[[nodiscard]] constexpr int saved_status(int signal) { return signal == SIGINT ? 130 : 75; }
[[nodiscard]] constexpr bool is_saved_status(int status) { return status == 130 || status == 75; }

// The same as the set that sigprocmask() and sigtimedwait() take.
[[nodiscard]] sigset_t stop_signal_set();

// From here until they are blocked one of them ends the process with the status above: there is nothing to save yet.
void end_at_stop_signals();

// Lets a stream that nobody reads any more (SIGPIPE) end nothing from here on: what is said there is lost, and the
// status of this process stays that of its run. Children begin with the default.
void outlive_readers();

// Blocks them: from here on they wait until they are taken.
void block_stop_signals();
// Takes one that waits, and whatever waits with it: the same wish. 0: none does.
int take_stop_signal();

// Takes the signals, which are blocked, of a process that has its status and finishes something that may hang, as a
// disk does: the first changes nothing, a second ends the process at once with that status.
class SecondSignalWatch {
 public:
  // was_asked: a first signal has been taken before.
  SecondSignalWatch(int status, bool was_asked);

 private:
  std::jthread thread_;
};

}  // namespace shoal
