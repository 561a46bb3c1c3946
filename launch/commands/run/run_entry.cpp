// The text first: a run whose text is missing or too short leaves nothing behind.
#include "launch/commands/run/run_entry.h"

#include "launch/processes/run_directory.h"
#include "launch/say.h"
#include "runtime/data/tokens.h"

namespace shoal {

Result<RunHold> enter_run(const ChosenRun& chosen) {
  if (const auto tokens = open_tokens(chosen.config.data, chosen.config.model.context); !tokens)
    return tokens.failure();
  const RunDirectory run{chosen.directory};
  auto hold = RunHold::take(run);
  if (!hold) return hold.failure();
  if (auto status = prepare_run_directory(run, chosen.config); !status) return status.failure();
  if (!chosen.warning.empty()) say("warning: ", chosen.warning);
  say("run directory ", chosen.directory);
  return hold;
}

}  // namespace shoal
