// The tracer actor: moves what the actors of its process recorded into the process's trace file.
//
// Spawned detached, because it waits for the disk. It holds nothing but the drain: killed and spawned again, it begins
// another life in the file and goes on with the same ring. A file that cannot be written is logged once; training goes
// on (design.md §7).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "messages/actor_types.h"
#include "runtime/trace/tracer.h"

namespace shoal {

struct TracerActorSettings {
  std::shared_ptr<Tracer> tracer;
  std::string path;          // trace_path(RUN, process name)
  std::string process_name;  // node1, spawner, storage, ...
};

struct TracerState {
  static inline const char* name = "tracer";
  std::optional<TraceDrain> drain;
  bool is_refused = false;  // the disk refused the last flush
};

TracerActor::behavior_type tracer(TracerActor::stateful_pointer<TracerState> self, TracerActorSettings settings);

}  // namespace shoal
