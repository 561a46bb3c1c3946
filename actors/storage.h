// The storage actor: the disk of the run. It writes shards and reads state, off the training path.
//
// Spawned detached, because it waits for the disk. A shard that cannot be written makes that checkpoint fail and
// nothing else; the checkpoints before it stay as they were. It follows the journal, which says whose shards it takes.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "messages/actor_types.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/storage/checkpoint_writer.h"
#include "runtime/storage/given_images.h"
#include "runtime/storage/image/shard_intake.h"
#include "runtime/storage/remote_files.h"
#include "runtime/storage/shard_admission.h"
#include "runtime/trace/actor_board.h"
#include "runtime/trace/tracer.h"
#include "runtime/transport/admission.h"

namespace shoal {

struct StorageSettings {
  std::shared_ptr<CheckpointWriter> writer;  // outlives the actor: half a checkpoint is finished by its next life
  RouterActor router;
  std::shared_ptr<Tracer> tracer = nullptr;  // none: this process keeps no trace
  std::filesystem::path run_directory;       // for logs and traces of other machines
  std::shared_ptr<ActorBoard> board = nullptr;
  // Counts what this actor has taken, over all its lives: no shard is lost when it is started again.
  std::shared_ptr<std::atomic<std::uint64_t>> taken = std::make_shared<std::atomic<std::uint64_t>>(0);
  // Over all its lives, as the writer.
  std::shared_ptr<ShardIntake> intake = std::make_shared<ShardIntake>();
  std::shared_ptr<ShardAdmission> admission = std::make_shared<ShardAdmission>();
};

// A state that a replica starts with.
struct StateToGive {
  std::shared_ptr<ImageSource> image;
  std::uint64_t optimizer_step = 0;
  std::uint64_t tokens_total = 0;
};

struct StorageState {
  static inline const char* name = "storage";
  StorageSettings settings;
  std::shared_ptr<ActorPulse> pulse;
  std::optional<RemoteFiles> files;
  // The last one verified: the replicas of a resumed run ask one after the other. Not for longer.
  std::optional<Checkpoint> opened;
  std::map<std::pair<Incarnation, std::uint64_t>, StateToGive> to_give;  // cut out of it, by step
  Instant opened_at;
  GivenImages given;
  std::optional<Instant> tick_at;  // while shards come in pieces, or wait for the journal
  RefusalLog dropped;              // shards in the name of others
  ActorTrace trace;
};

StorageActor::behavior_type storage(StorageActor::stateful_pointer<StorageState> self, StorageSettings settings);

}  // namespace shoal
