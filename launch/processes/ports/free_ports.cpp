// Listening is the only proof that a port is free; each is let go at once for the process that is to have it.
#include "launch/processes/ports/free_ports.h"

#include <algorithm>
#include <thread>

#include "launch/say.h"

namespace shoal {
namespace {

constexpr std::chrono::milliseconds kPause{100};

}  // namespace

Status wait_until_free(const std::vector<HostPort>& ports, std::chrono::milliseconds limit) {
  const auto deadline = deadline_in(limit);
  bool was_said = false;
  for (const HostPort& port : ports) {
    for (auto tried = listen_on(port); !tried; tried = listen_on(port)) {
      if (!is_taken(port) || steady_now() >= deadline) return tried.failure();
      if (!was_said) say(host_port_text(port), " is in use; trying for ", limit.count() / 1000, " s");
      was_said = true;
      std::this_thread::sleep_for(kPause);
    }
  }
  return Done{};
}

Status wait_for_ports_of_spawner(const HostPort& address, std::chrono::milliseconds limit) {
  const auto storage = with_port_after(address, 1);
  if (!storage) return storage.failure();
  const Status waited = wait_until_free({address, *storage}, limit);
  if (waited || storage->port == address.port || is_taken(address) || !is_taken(*storage)) return waited;
  return fail(waited.failure().error,
              compose(waited.failure().message, " It is the port of storage, the one after the ",
                      "spawner's: choose a --listen HOST:PORT whose PORT + 1 is free, too."));
}

Result<HostPort> storage_listens_at(const SpawnerAddress& spawner) {
  if (spawner.storage) return *spawner.storage;
  if (is_every_interface(spawner.control)) return HostPort{spawner.control.host, 0};
  const auto host = local_address_towards(spawner.control);
  return host ? Result<HostPort>(HostPort{*host, 0}) : host.failure();
}

bool takes_next_port(const SpawnerAddress& known) {
  const auto next = with_port_after(known.control, 1);
  return next && (known.storage || !is_taken(*next));
}

}  // namespace shoal
