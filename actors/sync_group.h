// The sync group of one stage: brings its replicas to one sum per step and votes for it.
//
// Everything is decided in runtime/sync/sync_group.h and, of rounds, in rounds/round_group.h. It keeps nothing durable:
// a new one under a new incarnation starts from the journal, which its router gives it from the first entry on (P-21).
#pragma once

#include <optional>

#include "messages/actor_types.h"
#include "runtime/sync/rounds/round_group.h"
#include "runtime/sync/sync_group.h"
#include "runtime/trace/actor_board.h"
#include "runtime/trace/tracer.h"

namespace shoal {

struct SyncGroupSettings {
  SyncGroupConfig core;
  RouterActor router;
  std::optional<RoundGroupConfig> rounds = std::nullopt;  // sync.mode = diloco
  std::shared_ptr<Tracer> tracer = nullptr;               // none: this process keeps no trace
  std::shared_ptr<ActorBoard> board = nullptr;
};

struct SyncGroupState {
  static inline const char* name = "sync_group";
  SyncGroupSettings settings;
  std::optional<SyncGroupCore> core;
  std::optional<RoundGroupCore> rounds;
  ActorTrace trace;
  std::shared_ptr<ActorPulse> pulse;
};

SyncGroupActor::behavior_type sync_group(SyncGroupActor::stateful_pointer<SyncGroupState> self,
                                         SyncGroupSettings settings);

}  // namespace shoal
