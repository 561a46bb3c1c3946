// The actors of a process that end with it. Who comes when they have been taken to be ended is ended at once: nobody
// would end it, and the process would wait for it.
#pragma once

#include <mutex>
#include <vector>

#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>

namespace shoal {

// In the order they were added. Thread-safe.
class OwnedActors {
 public:
  void add(caf::actor actor);
  void add_first(caf::actor actor);
  void remove(const caf::actor_addr& address);
  // To be ended by the caller. None are kept from here on.
  [[nodiscard]] std::vector<caf::actor> take();

 private:
  void place(caf::actor actor, bool is_first);

  std::mutex mutex_;
  std::vector<caf::actor> actors_;
  bool is_over_ = false;
};

}  // namespace shoal
