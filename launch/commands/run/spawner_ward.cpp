// The options that every start has, and those of the first alone.
#include "launch/commands/run/spawner_ward.h"

#include "launch/commands/run/blamed_peers.h"
#include "launch/processes/run_directory.h"
#include "runtime/base/compose.h"

namespace shoal {

namespace {

std::vector<std::string> arguments_of_every_start(const KeepSpawnerOptions& options) {
  std::vector<std::string> arguments = {
      program_folder() + "/shoal", "internal-spawner", "--run",
      options.run_directory,       "--listen",         host_port_text(options.listen)};
  if (options.stop_at_step) arguments.insert(arguments.end(), {"--steps", compose(*options.stop_at_step)});
  if (options.stopping) arguments.insert(arguments.end(), {"--stopping", compose(*options.stopping)});
  if (options.is_announced) arguments.push_back("--announced");
  if (options.join_line == JoinLine::kOmit) arguments.push_back("--own-nodes");
  return arguments;
}

}  // namespace

Ward spawner_ward(const KeepSpawnerOptions& options) {
  Ward ward;
  ward.name = "spawner process";
  ward.role = WardRole::kLeader;
  ward.program.arguments = arguments_of_every_start(options);
  ward.again = ward.program;
  ward.again->arguments.push_back("--restarted");
  if (options.is_restarted) ward.program = *ward.again;
  auto& first = ward.program.arguments;
  if (options.is_resumed) first.push_back("--resumed");
  if (options.wait_timeout_s) first.insert(first.end(), {"--wait-timeout", compose(*options.wait_timeout_s)});
  ward.stop_option = "--stopping";
  ward.excuse = blame_peers(ward.name, RunDirectory{options.run_directory}.peer_note_of("spawner"));
  ward.limits.final_codes = {0, 2, 3, 4, 5, kNoThreadsStatus, 75, 130, 143};
  ward.limits.passing_codes = {kNoThreadsStatus};
  return ward;
}

}  // namespace shoal
