// A list under a lock.
#include "actors/owned_actors.h"

#include <utility>

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

namespace shoal {

void OwnedActors::add(caf::actor actor) { place(std::move(actor), false); }
void OwnedActors::add_first(caf::actor actor) { place(std::move(actor), true); }

void OwnedActors::place(caf::actor actor, bool is_first) {
  const std::lock_guard guard(mutex_);
  if (is_over_) return caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  actors_.insert(is_first ? actors_.begin() : actors_.end(), std::move(actor));
}

void OwnedActors::remove(const caf::actor_addr& address) {
  const std::lock_guard guard(mutex_);
  std::erase_if(actors_, [&](const caf::actor& actor) { return actor.address() == address; });
}

std::vector<caf::actor> OwnedActors::take() {
  const std::lock_guard guard(mutex_);
  is_over_ = true;
  return std::exchange(actors_, {});
}

}  // namespace shoal
