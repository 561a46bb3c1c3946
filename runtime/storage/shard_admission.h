// Decides which shards storage takes (P-29a): of a committed state of the present branch, cut as the run is, from a
// replica that serves its stage or did on this branch.
//
//   shard ──▶ taken
//         ──▶ held, where the journal here may be behind its sender's ──entries──▶ taken or refused
//                                                                      ──kPatience──▶ refused
//         ──▶ refused
//
// Any admitted node may send shards; a checkpoint of what it made up would take the place of real ones. It can still
// send one in the name of a member that was removed: where that one served, nobody keeps. What is refused is told as a
// shard that was lost on its way: if it was wanted after all, it is ordered again. Of a shard in pieces the first one
// is judged, the others are asked for. Held ones wait for the next life of storage's actor, too. Bounded (S-6):
// kHeldBytesMax, of which those of replicas that the journal does not name go first, then those of the highest branch
// and step, because the journal names them last; kFormerMax members that were removed. Pure: time comes in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "messages/storage.h"
#include "runtime/base/bound.h"
#include "runtime/base/clock.h"
#include "runtime/journal/view.h"

namespace shoal {

class ShardAdmission {
 public:
  static inline const Bound kHeldBytesMax{"storage.held_shard_bytes", std::uint64_t{64} << 20};
  static inline const Bound kFormerMax{"storage.former_members", 256};
  static constexpr Duration kPatience = std::chrono::seconds(30);

  struct Decisions {
    std::vector<SaveShard> taken;
    std::vector<StateUnavailable> refused;  // for the supervisor
  };

  // Storage's actor begins a life, and is given the journal anew.
  void begin_life();
  [[nodiscard]] Decisions begin_at(const View& past);
  [[nodiscard]] Decisions follow(const JournalEntry& entry);
  [[nodiscard]] Decisions offer(const SaveShard& shard, Instant now);
  // Gives up what was held at that time already for long; whatever came before it has been read.
  [[nodiscard]] Decisions give_up(Instant now);
  [[nodiscard]] bool is_empty() const { return held_.empty(); }

 private:
  enum class Answer : std::uint8_t { kTake, kHold, kRefuse };
  struct Verdict {
    Answer answer = Answer::kTake;
    std::string reason;
  };
  using Key = std::tuple<Branch, std::uint64_t, StageId, Incarnation>;  // with the steps applied
  struct Held {
    SaveShard shard;
    Instant since;
  };
  using AllHeld = std::map<Key, Held>;

  [[nodiscard]] Verdict judge(const SaveShard& shard) const;
  [[nodiscard]] std::optional<StageId> stage_of(Incarnation replica) const;
  void change(const JournalEntry& entry, const AddReplica& added);
  void change(const JournalEntry& entry, const RemoveReplica& removed);
  template <class Other>
  void change(const JournalEntry& /*entry*/, const Other& /*body*/) {}
  void hold(const SaveShard& shard, Decisions& decisions, Instant now);
  [[nodiscard]] Decisions judge_again();
  // Takes one that is held, and goes on to the next.
  [[nodiscard]] SaveShard take(AllHeld::iterator& at);

  View view_;
  std::uint32_t stages_ = 0;               // as those of the branch that were added say
  std::map<Incarnation, StageId> former_;  // members of this branch that were removed
  AllHeld held_;
  std::uint64_t held_bytes_ = 0;
};

}  // namespace shoal
