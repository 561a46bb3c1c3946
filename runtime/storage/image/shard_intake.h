// Shards of checkpoints that come to storage in pieces (P-26b): which letter is the next piece, and what to ask for.
//
//   SaveShard at 0 ──▶ coming ──each next piece──▶ FetchShard for others ──▶ whole, or nothing came for kGivenUp
//
// A replica that was asked to save its shard again goes on where it was: a state has one image. A shard that another
// replica begins takes its place when it comes whole, or once nothing more of the one before comes for kStill; whoever
// was believed to be lost must not put out the one that was asked in its place. It outlives the storage actor: one that
// ended while it wrote a piece leaves that shard in a state that nobody knows. Bounded (S-6): kShardsMax, the one of
// the lowest branch and step first; it is as lost as one of which nothing more comes. Pure: time comes in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "messages/storage.h"
#include "runtime/base/bound.h"
#include "runtime/base/clock.h"
#include "runtime/storage/image/piece_window.h"

namespace shoal {

class ShardIntake {
 public:
  static inline const Bound kShardsMax{"storage.shards_coming", 512};
  static constexpr Duration kGivenUp = std::chrono::minutes(2);
  static constexpr Duration kStill = std::chrono::seconds(5);  // what was asked for is on its way

  // True: write it, then written() or failed(). Either way something may be due.
  [[nodiscard]] bool accepts(const SaveShard& shard, Instant now);
  void written(const SaveShard& shard, Instant now);
  // Takes note that more bytes of a piece are on their way. What else its replica sends comes behind that.
  void arriving(const StateProgress& progress, Instant now);
  // When its first piece came; `now` for one that comes whole.
  [[nodiscard]] Instant began(const SaveShard& shard, Instant now) const;
  // Nothing more of it is wanted.
  void failed(const SaveShard& shard);
  // The same, of all shards of that checkpoint: it is given up.
  void end(Branch branch, std::uint64_t step);
  // The same, of that checkpoint, which is saved, and of all before it.
  void end_up_to(Branch branch, std::uint64_t step);
  // Returns what to ask for now, whole shards included: their giver is told that they have come.
  [[nodiscard]] std::vector<FetchShard> due(Instant now);
  // Shards of which nothing more had come at that time; whatever came before it has been taken. They are forgotten, and
  // the supervisor is to know, in storage's name.
  [[nodiscard]] std::vector<StateUnavailable> lost(Instant now);
  // The shard that was being written when this actor's last life ended: likewise, at once.
  [[nodiscard]] std::optional<StateUnavailable> cut_short();
  [[nodiscard]] bool is_empty() const { return coming_.empty(); }

 private:
  using Key = std::tuple<Branch, std::uint64_t, StageId>;  // with the steps applied
  struct Coming {
    Incarnation replica;
    PieceWindow window;
    Instant began;
    std::optional<Incarnation> next;  // a replica that began it, too: its first piece is asked for in time
  };
  // A piece that was accepted and is neither written nor failed.
  struct Writing {
    Key shard;
    Incarnation replica;
  };
  [[nodiscard]] bool begins(const SaveShard& shard, Instant now);
  [[nodiscard]] bool continues(const SaveShard& shard, Instant now);
  [[nodiscard]] static Key key_of(const SaveShard& shard) { return {shard.branch, shard.step, shard.stage}; }

  std::map<Key, Coming> coming_;
  std::optional<Writing> writing_;
};

}  // namespace shoal
