// A device that fails gives no copy; what it fails with is said here, and by the executor, which meets it too.
#include "actors/router/tensor_copier.h"

#include <exception>

#include "actors/injected.h"
#include "runtime/base/log.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

[[nodiscard]] TensorBlob copy_of(const ResidentTensor& tensor) {
  try {
    return tensor.to_host();
  } catch (const std::exception& problem) {
    log_warn("router", "a tensor could not be copied from its device: ", problem.what());
    return {};
  }
}

}  // namespace

TensorCopierActor::behavior_type tensor_copier(TensorCopierActor::pointer self, const RouterActor& router) {
  self->set_exception_handler(error_of);
  self->link_to(router);
  return {
      [](const Inject& order) { suffer(order); },
      [](const CopyToHost& order) {
        caf::anon_send(order.router, TensorCopied{order.tensor, copy_of(*order.tensor)});
      },
  };
}

caf::actor spawn_tensor_copier(caf::actor_system& system, const RouterActor& router) {
  return caf::actor_cast<caf::actor>(system.spawn<caf::detached>(tensor_copier, router));
}

}  // namespace shoal
