// Checks that the replica in whose name a letter speaks runs in the process it came from (S-7: none speaks for others).
//
// A replica that the view does not know is let pass: it may be about to join, or removed, and then its own cores fence
// what is said in its name. Only the spawner speaks for nobody, which is what the data loader is. Pure.
#pragma once

#include "messages/letter.h"
#include "runtime/journal/view.h"

namespace shoal {

[[nodiscard]] bool is_replica_its_own(const View& view, ProcessIncarnation from, const MessageBody& body);

}  // namespace shoal
