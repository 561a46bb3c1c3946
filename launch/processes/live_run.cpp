// Reads spawner.json, or takes the address as given.
#include "launch/processes/live_run.h"

#include <signal.h>

#include "launch/processes/run_directory.h"

namespace shoal {

Result<ControlClient> client_of(const RunLocator& where) {
  if (where.spawner) return ControlClient::create(credential_files(where.certs, "operator"), *where.spawner);
  const RunDirectory run{where.run_directory};
  const auto address = read_spawner_json(run);
  if (!address) return address.failure();
  return ControlClient::create(credential_files(run.certs(), "operator"), address->control);
}

bool is_spawner_alive(const RunLocator& where) {
  if (where.spawner) return false;
  const auto address = read_spawner_json(RunDirectory{where.run_directory});
  return address && ::kill(static_cast<pid_t>(address->pid), 0) == 0;
}

}  // namespace shoal
