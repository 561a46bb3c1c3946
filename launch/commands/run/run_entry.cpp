// The text first: a run whose text is missing or too short leaves nothing behind.
#include "launch/commands/run/run_entry.h"

#include "launch/processes/run_directory.h"
#include "launch/say.h"
#include "messages/codec.h"
#include "model/partition.h"
#include "runtime/data/tokens.h"

namespace shoal {

Status check_states_can_travel(const Config& config) {
  constexpr std::uint64_t kNamesAndShapes = std::uint64_t{1} << 20U;  // beside the values
  const auto stages = partition(config.model, config.pipeline.stages);
  if (!stages) return stages.failure();
  for (std::size_t stage = 0; stage < stages->size(); ++stage) {
    const std::uint64_t bytes = state_bytes((*stages)[stage], config);
    if (bytes + kNamesAndShapes <= kTensorBytesMax) continue;
    return fail(Error::kUsage, compose("the state of stage ", stage, " has ", bytes >> 20U, " MiB, and at most ",
                                       (kTensorBytesMax - kNamesAndShapes) >> 20U,
                                       " can be saved or copied; cut the model into more than ", config.pipeline.stages,
                                       " stages (pipeline.stages)"));
  }
  return Done{};
}

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
