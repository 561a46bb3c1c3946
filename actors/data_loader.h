// The data loader: plans steps and evaluations, sends their microbatches, says when all are answered.
//
// Everything is decided in runtime/pipeline/dispatch.h; it keeps nothing durable and may be restarted at any time.
#pragma once

#include <memory>
#include <optional>

#include "messages/actor_types.h"
#include "runtime/cluster/balance/work_board.h"
#include "runtime/pipeline/dispatch.h"
#include "runtime/trace/actor_board.h"
#include "runtime/trace/tracer.h"

namespace shoal {

struct DataLoaderSettings {
  DataLoaderConfig core;
  std::shared_ptr<const SampleSource> samples;
  RouterActor router;
  std::shared_ptr<Tracer> tracer = nullptr;  // none: this process keeps no trace
  std::shared_ptr<ActorBoard> board = nullptr;
  std::shared_ptr<WorkBoard> work = nullptr;  // for the supervisor; none: it does not ask
};

struct DataLoaderState {
  static inline const char* name = "data_loader";
  DataLoaderSettings settings;
  std::optional<DataLoaderCore> core;
  ActorTrace trace;
  std::optional<std::pair<Branch, StepId>> traced;  // the newest step whose plan is in the trace
  std::shared_ptr<ActorPulse> pulse;
};

DataLoaderActor::behavior_type data_loader(DataLoaderActor::stateful_pointer<DataLoaderState> self,
                                           DataLoaderSettings settings);

}  // namespace shoal
