// Gives a member's state away: an image and the sum of each later step to joiners of its stage (P-26, P-26a), its
// shard to storage.
//
// An image is of a version. Between the apply of a step and the rounds that are due after it the weights belong to
// none: joiners that ask then are answered after it, and the supervisor asks again for a shard. Bounded (S-6) by
// StateFeeds.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "messages/journal.h"
#include "messages/storage.h"
#include "runtime/pipeline/replica/replica_turn.h"
#include "runtime/sync/state_feed.h"

namespace shoal {

class StateGiven {
 public:
  // Messages.
  void hear(const FetchState& question, ReplicaTurn& turn);
  void hear(const StateProgress& message, ReplicaTurn& turn);  // from whoever gets its state
  // After the apply of a commit that named somebody else, who was lost before its shard was stored.
  void hear(const SaveState& order, ReplicaTurn& turn);
  // The journal.
  void hear(const AddReplica& entry, ReplicaTurn&) { feeds_.end(entry.replica); }
  void hear(const RemoveReplica& entry, ReplicaTurn&) { feeds_.end(entry.replica); }
  // Facts.
  void hear(const StepCommitted& fact, ReplicaTurn& turn);
  void hear(const StepEnded& fact, ReplicaTurn& turn);
  void hear(const StateAtRest& fact, ReplicaTurn& turn);
  void hear(const TimePassed& fact, ReplicaTurn& turn);
  // A job.
  void hear(const Imaged& result, ReplicaTurn& turn);

 private:
  void give(const FetchState& wanted, ReplicaTurn& turn);

  StateFeeds feeds_;                                     // joiners that this replica gives its state to
  std::optional<Incarnation> image_for_;                 // the joiner that the image being taken is for; none: storage
  std::map<Incarnation, FetchState> asked_at_boundary_;  // by joiners, answered after it
};

}  // namespace shoal
