// Says whether the system gives this process the threads that it is going to start. A library that starts several ends
// in ways of its own where the last one is refused: it hangs, or the process aborts. Asked beforehand, the answer is a
// sentence.
//
// Threads are started and ended again at once, so others may take the room meanwhile: what starts them afterwards still
// needs its own limit (launch/end_limit.h).
#pragma once

#include <cstddef>
#include <string>

#include "runtime/base/error.h"

namespace shoal {

// Threads of each process of a run from its start on, the first included; a stage or a GPU adds to those of a worker.
inline constexpr std::size_t kThreadsOfSpawner = 26;
inline constexpr std::size_t kThreadsOfStorage = 21;
inline constexpr std::size_t kThreadsOfWorker = 21;
inline constexpr std::size_t kThreadsOfKeeper = 1;

// Threads that a process without actors starts to compute with so many (run.threads), its first one not included:
// libraries keep two pools of them.
[[nodiscard]] constexpr std::size_t threads_to_compute(std::size_t threads) { return 2 * (threads - 1); }

// Starts so many threads at once, beside those that are there, and ends them. kUsage: the system refuses one of them;
// the sentence says what raises each limit.
[[nodiscard]] Status check_thread_room(std::size_t wanted);

// "the system gives no more threads or processes: WHAT; raise ..."
[[nodiscard]] std::string thread_lack_text(const std::string& what);

}  // namespace shoal
