// The commands that keep processes: `shoal train`, `shoal spawner`, `shoal node`. They hold no actors and no tensors.
// The keeping itself is keeper.h; these say which processes, how, and what a person is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/commands/run/node_limits.h"
#include "launch/start_run.h"
#include "runtime/base/error.h"
#include "runtime/transport/sockets.h"

namespace shoal {

struct TrainOptions {
  RunChoice run;
  std::optional<std::uint64_t> stop_at_step;
  std::optional<std::uint64_t> nodes;  // absent: stages x replicas
  bool is_single = false;
  std::vector<std::string> devices;  // node k gets number (k - 1) mod their count; none: cpu
};
// Keeper of a spawner keeper and node keepers; a finished run ends with a sample on stdout.
[[nodiscard]] Result<int> run_train(const TrainOptions& options);

struct SpawnerOptions {
  RunChoice run;
  HostPort listen{"127.0.0.1", 0};
  std::optional<std::uint64_t> stop_at_step;
  std::optional<double> wait_timeout_s;
};
// Keeper of the spawner process and storage; prints the line that starts a node.
[[nodiscard]] Result<int> run_spawner(const SpawnerOptions& options);

// Says whether `shoal spawner` prints the line that nodes join by; `shoal train` starts its nodes itself and omits it.
enum class JoinLine { kPrint, kOmit };

// Input of keep_spawner(), for a run directory that is prepared.
struct KeepSpawnerOptions {
  std::string run_directory;
  HostPort listen;
  bool is_announced = false;  // as in SpawnerProcessOptions
  bool is_restarted = false;  // nodes may still be there: by its keeper, or by a person with `shoal spawner --resume`
  bool is_resumed = false;    // by a person; not restarted: with nodes of its own, which are not there yet
  JoinLine join_line = JoinLine::kPrint;
  std::optional<std::uint64_t> stop_at_step;
  std::optional<double> wait_timeout_s;
  std::optional<std::uint64_t> stopping;  // as in SpawnerProcessOptions
};
[[nodiscard]] Result<int> keep_spawner(const KeepSpawnerOptions& options);

struct NodeOptions {
  std::vector<std::string> join;  // HOST:PORT each
  std::optional<std::string> token;
  std::optional<std::string> certs;
  std::optional<HostPort> listen;    // device k takes its port + k; none: any ports
  std::vector<std::string> devices;  // one worker each
  std::string name;
  std::optional<std::uint64_t> threads;
  NodeLimits limits;  // of all its devices together
  double grace_s = 30;
  std::optional<std::string> keep_in;  // parent folder of this keeper's own; none: the one for temporary files
  std::optional<std::string> trace;    // folder; the workers' files go to FOLDER/trace
  bool streams = true;                 // the workers' logs and traces go to the run directory
};
// Keeper of one worker per device.
[[nodiscard]] Result<int> run_node(const NodeOptions& options);

}  // namespace shoal
