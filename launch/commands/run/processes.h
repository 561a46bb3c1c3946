// The processes of a run, as functions: what keepers start through the programs' internal subcommands.
//
// Each runs until its work is over or a signal says so, and returns the process's exit status; a Failure is printed and
// becomes one (error.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/commands/run/node_limits.h"
#include "runtime/base/error.h"
#include "runtime/transport/sockets.h"

namespace shoal {

// `shoal internal-spawner`: supervisor, data loader, sync groups, metrics, control. Its configuration is the run
// directory's config.toml. Writes spawner.json and certs/join_token when it listens.
struct SpawnerProcessOptions {
  std::string run_directory;
  HostPort listen;                            // port 0: any; after a restart the address that nodes know
  bool is_restarted = false;                  // in the same run, whose nodes may still be there: the journal goes on
  bool is_resumed = false;                    // by a person with --resume, also where nodes may still be there
  std::optional<std::uint64_t> stop_at_step;  // --steps
  std::optional<double> wait_timeout_s;       // exit 4 when nodes were missing for as long before training begins
  std::optional<std::uint64_t> stopping;      // the signal that its predecessor was stopping by when it was killed
  bool is_announced = false;                  // a person chose the port: storage takes the next one
  bool has_own_nodes = false;                 // started with it: beyond those needed they are spares
};
[[nodiscard]] Result<int> run_spawner_process(const SpawnerProcessOptions& options);

// `shoal internal-storage`: checkpoints, traces and remote logs of the run directory. Finds the spawner in
// spawner.json, which may not be there yet.
struct StorageProcessOptions {
  std::string run_directory;
};
[[nodiscard]] Result<int> run_storage_process(const StorageProcessOptions& options);

// `shoal-worker node`: one device of a node. 0 left politely or the run is over, 2 usage, 4 refused.
struct WorkerNodeOptions {
  std::vector<HostPort> join;        // tried in turn
  std::optional<std::string> token;  // its text, or @FILE, read when it is needed; else certs
  std::optional<std::string> certs;  // folder with its files (node_certificate.h)
  std::optional<std::string> keep;   // with a token: folder of the keeper's for the certificate that it brings
  std::optional<HostPort> listen;    // none: any port, at the address that the spawner is reached from
  std::string device = "cpu";        // cpu | cuda:N | paced:MS
  std::uint32_t device_index = 0;    // among the node's workers
  std::uint32_t keeper = 0;          // its keeper's number in the run; 0: nobody starts it again
  std::uint64_t machine = 0;         // that its node is on (base/machine/machine_identity.h)
  std::string name;
  std::optional<int> threads;  // compute threads per stage; else the run's
  NodeLimits limits;
  std::optional<std::string> trace;  // folder; this worker's file goes to FOLDER/trace
  // Log and trace are sent to the run directory; the trace lies in FOLDER/trace until it is there.
  std::optional<std::string> stream;
  std::optional<std::string> note;  // file for what it computes; after a crash its next start is given the same
};
[[nodiscard]] Result<int> run_worker_node(const WorkerNodeOptions& options);

// `shoal-worker single`: the whole run in this process, without actors.
struct SingleOptions {
  std::string run_directory;
  bool is_resumed = false;
  std::optional<std::uint64_t> stop_at_step;
  std::string device = "cpu";  // cpu | cuda:N | paced:MS
};
[[nodiscard]] Result<int> run_single(const SingleOptions& options);

}  // namespace shoal
