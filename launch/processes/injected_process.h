// A whole process that fails on purpose (`shoal kill node2`): it says no goodbye, and its keeper starts it again.
// Actors fail by themselves (actors/injected.h); this is for what only the operating system can do to a process.
#pragma once

#include <memory>

#include "launch/processes/actor_process.h"
#include "messages/operate.h"

namespace shoal {

// kExit: ends with status 1, without a goodbye; kKill: SIGKILL; kThrow: SIGABRT; kFreeze: SIGSTOP, and SIGCONT after
// the time, by a child process that ends when this one does.
void fail_process(const Inject& order, const std::shared_ptr<ExitLatch>& exit);

}  // namespace shoal
