// Attempts until the time is over; signals are heard in the pauses between them.
#include "launch/processes/ports/own_port.h"

#include <utility>

#include "launch/processes/actor_process.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr auto kListenPause = 200ms;

}  // namespace

Result<OwnPort> listen_patiently(const HostPort& address, std::chrono::milliseconds patience) {
  const auto deadline = deadline_in(patience);
  auto listener = listen_on(address);
  while (!listener && is_taken(address) && steady_now() < deadline) {
    if (const auto signal = wait_for_signal(kListenPause)) return OwnPort{Socket(), signal};
    listener = listen_on(address);
  }
  if (!listener) return listener.failure();
  return OwnPort{std::move(*listener), std::nullopt};
}

}  // namespace shoal
