// The state that a replica takes to start with: its executor's own, a given image, a checkpoint's, or a copy of a
// member of a run under way (P-25 .. P-27a); and what it tells the supervisor of the state that it holds.
//
//   begin ──▶ loading, piece by piece ──Loaded──▶ ready: StageReady, again and again ──own AddReplica──▶ admitted
//   a copy: the image, then every committed step is repeated until the journal is reached (runtime/sync/state_copy.h)
//
// A member uses it only to say which state it holds, for those that must come to the very same one (S-3).
#pragma once

#include <cstdint>
#include <optional>

#include "messages/journal.h"
#include "messages/storage.h"
#include "runtime/pipeline/replica/replica_turn.h"
#include "runtime/storage/image/piece_window.h"
#include "runtime/sync/state_copy.h"

namespace shoal {

class StateTaken {
 public:
  explicit StateTaken(std::optional<TensorBlob> image, Instant now) : image_(std::move(image)), last_sent_(now) {}

  // Loads or asks for the state to start with. Call once, first.
  void begin(ReplicaTurn& turn);

  // Messages.
  void hear(const StateImage& message, ReplicaTurn& turn);
  void hear(const StateUnavailable& message, ReplicaTurn& turn);
  void hear(const StateProgress& message, ReplicaTurn& turn);  // of that state, from its own router
  void hear(const StepSum& message, ReplicaTurn& turn);
  // The journal.
  void hear(const View& past, ReplicaTurn& turn);
  void hear(const AddReplica& entry, ReplicaTurn& turn);
  void hear(const RemoveReplica& entry, ReplicaTurn& turn);
  void hear(const JournalEntry& entry, ReplicaTurn& turn);  // behind what its body brought about
  // Facts.
  void hear(const StateLoaded& fact, ReplicaTurn& turn);
  void hear(const StepFollowed& fact, ReplicaTurn& turn);
  void hear(const StateChanged& fact, ReplicaTurn& turn);
  void hear(const ReadyWanted& fact, ReplicaTurn& turn);
  void hear(const ReadyDue& fact, ReplicaTurn& turn);
  void hear(const TimePassed& fact, ReplicaTurn& turn);
  // Jobs.
  void hear(const Loaded& result, ReplicaTurn& turn);
  void hear(const PieceLoaded& result, ReplicaTurn& turn);
  void hear(const LoadRefused& result, ReplicaTurn& turn);
  void hear(const Followed& result, ReplicaTurn& turn);
  void hear(const RestartedFromOuter& result, ReplicaTurn& turn);

 private:
  void fetch_stored(ReplicaTurn& turn);
  [[nodiscard]] bool awaits_stored(const ReplicaStanding& self, Incarnation donor, std::uint64_t version) const;
  void fetch_further(ReplicaTurn& turn);
  [[nodiscard]] bool accepts_stored(const StateImage& image, ReplicaTurn& turn);
  void pass_on(StateProgress progress, ReplicaTurn& turn);
  void send_ready(ReplicaTurn& turn);
  void pursue(ReplicaTurn& turn);

  std::optional<TensorBlob> image_;    // to load at the start
  std::optional<StateCopy> copy_;      // while it joins a run under way
  std::optional<PieceWindow> stored_;  // of the state from storage, once the first piece of several came
  StateProgress coming_;               // with the piece that is being loaded
  Instant told_at_{};                  // how far the pieces have come
  std::uint64_t told_bytes_ = 0;
  Instant last_sent_;                           // StageReady or FetchState; or when its state was seen to come
  std::optional<std::uint64_t> ready_version_;  // of the last StageReady
};

}  // namespace shoal
