// Gives a member's state away: an image and the sum of each later step to joiners of its stage (P-26, P-26a), its
// shard to storage.
//
// An image is of a version. Between the apply of a step and the rounds that are due after it the weights belong to
// none: joiners that ask then are answered after it, and the supervisor asks again for a shard. Of a large image the
// first piece is sent, and the others as they are asked for (P-26b), at any time. Bounded (S-6) by StateFeeds and
// GivenPieces.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "messages/journal.h"
#include "messages/storage.h"
#include "runtime/pipeline/replica/replica_turn.h"
#include "runtime/pipeline/replica/state/given_pieces.h"
#include "runtime/sync/state_feed.h"

namespace shoal {

class StateGiven {
 public:
  // Messages.
  void hear(const FetchState& question, ReplicaTurn& turn);
  void hear(const StateProgress& message, ReplicaTurn& turn);  // from whoever gets its state
  void hear(const FetchShard& question, ReplicaTurn& turn);
  // After the apply of a commit that named somebody else, who was lost before its shard was stored.
  void hear(const SaveState& order, ReplicaTurn& turn);
  // The journal.
  void hear(const AddReplica& entry, ReplicaTurn&) { forget(entry.replica); }
  void hear(const RemoveReplica& entry, ReplicaTurn&) { forget(entry.replica); }
  // Facts.
  void hear(const StepCommitted& fact, ReplicaTurn& turn);
  void hear(const StepEnded& fact, ReplicaTurn& turn);
  void hear(const StateAtRest& fact, ReplicaTurn& turn);
  void hear(const TimePassed& fact, ReplicaTurn& turn);
  // Jobs.
  void hear(const Imaged& result, ReplicaTurn& turn);
  void hear(const PieceRead& result, ReplicaTurn& turn);

 private:
  // A piece of the state of this version, for a joiner or (0) storage.
  struct Piece {
    Incarnation taker;
    HeldState state;
    TensorBlob bytes;
    std::uint64_t offset = 0;
    std::uint64_t bytes_total = 0;
  };
  struct Reading {
    Incarnation taker;
    std::uint64_t version = 0;
    std::uint64_t offset = 0;
  };

  void forget(Incarnation joiner);
  void give(const FetchState& wanted, ReplicaTurn& turn);
  void give_further(const FetchState& wanted, ReplicaTurn& turn);
  void read(GivenPieces::Image& image, std::uint64_t offset, std::uint64_t held, ReplicaTurn& turn);
  static void send(Piece piece, ReplicaTurn& turn);

  StateFeeds feeds_;                                     // joiners that this replica gives its state to
  GivenPieces pieces_;                                   // images of which the first piece was sent
  Incarnation image_for_;                                // the joiner that the image being taken is for; 0: storage
  Reading reading_;                                      // the piece that is being read
  std::map<Incarnation, FetchState> asked_at_boundary_;  // by joiners, answered after it
};

}  // namespace shoal
