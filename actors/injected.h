// Makes an actor fail on purpose in the middle of its work (`shoal kill --how throw | freeze`).
//
// The two other kinds need no handler: whoever injects sends an exit message.
#pragma once

#include <chrono>
#include <stdexcept>
#include <thread>

#include "messages/operate.h"

namespace shoal {

// Throws, or blocks the calling actor's thread.
inline void suffer(const Inject& order) {
  if (order.how == InjectKind::kThrow) throw std::runtime_error("an injected failure");
  if (order.how == InjectKind::kFreeze) std::this_thread::sleep_for(std::chrono::milliseconds(order.freeze_ms));
}

}  // namespace shoal
