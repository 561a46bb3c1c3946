// Turns parsed options into what each command takes. One place decides defaults and what goes together.
// The results are checked: addresses parse, devices exist, numbers are in range.
#pragma once

#include <optional>
#include <string>

#include "launch/commands/inspect/inspect.h"
#include "launch/commands/operate/operate.h"
#include "launch/commands/plan/init.h"
#include "launch/commands/run/import/import.h"
#include "launch/commands/run/keepers.h"
#include "launch/commands/run/processes.h"
#include "launch/options.h"
#include "runtime/base/error.h"

namespace shoal {

[[nodiscard]] Result<TrainOptions> train_options(const Options& options);
[[nodiscard]] Result<SpawnerOptions> spawner_options(const Options& options);
[[nodiscard]] Result<NodeOptions> node_options(const Options& options);
[[nodiscard]] Result<StatusOptions> status_options(const Options& options);
[[nodiscard]] Result<PsOptions> ps_options(const Options& options);
[[nodiscard]] Result<DoctorOptions> doctor_options(const Options& options);
[[nodiscard]] Result<LogsOptions> logs_options(const Options& options);
[[nodiscard]] Result<KillOptions> kill_options(const Options& options);
[[nodiscard]] Result<DrainOptions> drain_options(const Options& options);
[[nodiscard]] Result<CheckpointOptions> checkpoint_options(const Options& options);
[[nodiscard]] Result<EvictOptions> evict_options(const Options& options);
[[nodiscard]] Result<NewTokenOptions> new_token_options(const Options& options);
[[nodiscard]] Result<ListTokensOptions> list_tokens_options(const Options& options);
[[nodiscard]] Result<RevokeTokenOptions> revoke_token_options(const Options& options);
[[nodiscard]] Result<ChaosOptions> chaos_options(const Options& options);
[[nodiscard]] Result<EvalOptions> eval_options(const Options& options);
[[nodiscard]] Result<SampleOptions> sample_options(const Options& options);
[[nodiscard]] Result<ExportOptions> export_options(const Options& options);
[[nodiscard]] Result<ImportOptions> import_options(const Options& options);
[[nodiscard]] Result<InitOptions> init_options(const Options& options);

// The internal subcommands, which keepers write and nobody types.
[[nodiscard]] const CommandSpec& keep_spawner_command();
[[nodiscard]] const CommandSpec& spawner_process_command();
[[nodiscard]] const CommandSpec& storage_process_command();
[[nodiscard]] const CommandSpec& worker_node_command();
[[nodiscard]] const CommandSpec& single_command();
[[nodiscard]] Result<KeepSpawnerOptions> keep_spawner_options(const Options& options);
[[nodiscard]] Result<SpawnerProcessOptions> spawner_process_options(const Options& options);
[[nodiscard]] Result<StorageProcessOptions> storage_process_options(const Options& options);
[[nodiscard]] Result<WorkerNodeOptions> worker_node_options(const Options& options);
[[nodiscard]] Result<SingleOptions> single_options(const Options& options);

}  // namespace shoal
