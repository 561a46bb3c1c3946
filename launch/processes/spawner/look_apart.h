// A look for a checkpoint on a thread of its own, because the disk may hang, as a network file system does: nobody
// waits for that thread, not even the end of the process.
//
// A detached actor would be waited for: the actor system ends when all its threads have.
#pragma once

#include <functional>

#include "runtime/base/error.h"
#include "runtime/cluster/truth/supervisor_effects.h"

namespace shoal {

// Returns at once. `tell` is called once, by that thread, or never where the disk hangs for ever; by this one where the
// machine gives no thread (kIo). An exception of `look` is a failure of the disk (kIo): it may pass.
void look_apart(std::function<Result<StartPoint>()> look, std::function<void(Result<StartPoint>)> tell);

// Ends the process with this status if a look goes on, which would meet what the end of a program takes down. Otherwise
// returns. For when all else has ended.
void end_beside_look(int status);

}  // namespace shoal
