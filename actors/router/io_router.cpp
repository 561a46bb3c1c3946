// The library runs on its I/O thread whatever says of itself that it is of I/O, and is given to that thread.
#include "actors/router/io_router.h"

#include <utility>

#include <caf/actor_system.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/multiplexer.hpp>
#include <caf/stateful_actor.hpp>

namespace shoal {
namespace {

using Base = caf::stateful_actor<RouterState, RouterActor::base>;

class IoRouter final : public Base {
 public:
  IoRouter(caf::actor_config& how, RouterConfig config) : Base(how), config_(std::move(config)) {}

  subtype_t subtype() const override { return io_actor; }

  // Whoever sends: another thread only wakes the one of the links.
  void enqueue(caf::mailbox_element_ptr message, caf::execution_unit*) override {
    Base::enqueue(std::move(message), io_thread());
  }

  void launch(caf::execution_unit*, bool is_lazy, bool is_hidden) override {
    Base::launch(io_thread(), is_lazy, is_hidden);
  }

 protected:
  RouterActor::behavior_type make_behavior() override { return router(this, std::move(config_)); }

 private:
  [[nodiscard]] caf::execution_unit* io_thread() { return &home_system().middleman().backend(); }

  RouterConfig config_;
};

}  // namespace

RouterActor spawn_io_router(caf::actor_system& system, RouterConfig config) {
  return caf::actor_cast<RouterActor>(system.spawn<IoRouter>(std::move(config)));
}

}  // namespace shoal
