// The ports of a command that keeps processes, looked at before any of them is started: a port that somebody else holds
// is named at once, and waited for a while, because the processes of a keeper that was killed end a moment after it.
#pragma once

#include <chrono>
#include <vector>

#include "launch/processes/run_directory.h"
#include "runtime/base/error.h"
#include "runtime/transport/sockets.h"

namespace shoal {

inline constexpr std::chrono::milliseconds kPortsFreeWithin{10'000};  // of all of them together

// Waits until this process could listen at each. Says once on stderr that it waits, for which port, and how long.
// Errors: kUsage, naming the port: somebody else has it all the time; it is no address of this machine, or not this
// user's, which is not waited for.
[[nodiscard]] Status wait_until_free(const std::vector<HostPort>& ports,
                                     std::chrono::milliseconds limit = kPortsFreeWithin);

// Waits so for the port of a spawner that is to begin, and for the one after it. Errors: kUsage, which names storage
// where the second one is taken; also where there is no port after it.
[[nodiscard]] Status wait_for_ports_of_spawner(const HostPort& address,
                                               std::chrono::milliseconds limit = kPortsFreeWithin);

// Returns where storage listens: where the spawner says, else any port of the addresses at which the spawner listens.
// Errors: kUnreachable.
[[nodiscard]] Result<HostPort> storage_listens_at(const SpawnerAddress& spawner);

// Tells whether storage of a run that goes on takes the port after its spawner's, which a person may have opened for
// it: a run of an earlier version does not say so. False where somebody else has that port, and the run is not known to
// have had it.
[[nodiscard]] bool takes_next_port(const SpawnerAddress& known);

}  // namespace shoal
