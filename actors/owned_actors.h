// The actors of a process that end with it. One that comes when they have been taken to be ended is ended at once:
// nothing else would end it, and the process would wait for it.
#pragma once

#include <mutex>
#include <vector>

#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>

namespace shoal {

// Actors in the order they were added. Thread-safe.
class OwnedActors {
 public:
  void add(caf::actor actor);
  void add_first(caf::actor actor);
  void remove(const caf::actor_addr& address);
  // Hands them over to be ended by the caller. None are kept from here on.
  [[nodiscard]] std::vector<caf::actor> take();

 private:
  void place(caf::actor actor, bool is_first);

  std::mutex mutex_;
  std::vector<caf::actor> actors_;
  bool is_over_ = false;
};

}  // namespace shoal
