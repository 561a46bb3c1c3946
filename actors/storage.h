// The storage actor: the disk of the run. It writes shards and reads state, off the training path.
//
// Spawned detached, because it waits for the disk. A shard that cannot be written makes that checkpoint fail and
// nothing else; the checkpoints before it stay as they were.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "messages/actor_types.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/storage/checkpoint_writer.h"
#include "runtime/trace/tracer.h"

namespace shoal {

struct StorageSettings {
  CheckpointWriterSettings writer;
  RouterActor router;
  std::shared_ptr<Tracer> tracer = nullptr;  // none: this process keeps no trace
};

struct StorageState {
  static inline const char* name = "storage";
  StorageSettings settings;
  std::optional<CheckpointWriter> writer;
  std::optional<Checkpoint> opened;  // the last one read: the replicas of a resumed run ask one after the other
  ActorTrace trace;
};

StorageActor::behavior_type storage(StorageActor::stateful_pointer<StorageState> self, StorageSettings settings);

}  // namespace shoal
