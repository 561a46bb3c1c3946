// Decides which shards storage takes (P-29a): of a committed state of the present branch, cut as the run is, from a
// replica that serves its stage or did on this branch, and from that replica's process.
//
//   shard ──▶ taken
//         ──▶ held, where the journal here may be behind its sender's ──entries──▶ taken, refused or dropped
//                                                                      ──kPatience──▶ refused
//         ──▶ refused
//         ──▶ dropped: its replica is in another process, or was
//
// Any admitted node may send shards; a checkpoint of what it made up would take the place of real ones. What is refused
// is told as a shard that was lost on its way: if it was wanted after all, it is ordered again. What is dropped is told
// to nobody: the replica in whose name it came has lost nothing. Of a shard in pieces all of this is asked of the first
// one; the others are asked for, and come from the replica's process alone. Held ones wait for the next life of
// storage's actor, too. Bounded (S-6): kHeldBytesMax, of which those of replicas that the journal does not name go
// first, then those of the highest branch and step, because the journal names them last; kFormerMax members that were
// removed. Pure: time comes in.
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

  // A shard in the name of a replica that never was in the process that sent it.
  struct Foreign {
    std::uint64_t step = 0;
    Incarnation replica;
    ProcessIncarnation sender;
  };
  struct Decisions {
    std::vector<SaveShard> taken;
    std::vector<StateUnavailable> refused;  // for the supervisor
    std::vector<Foreign> dropped;
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
  enum class Answer : std::uint8_t { kTake, kHold, kRefuse, kDrop };
  struct Verdict {
    Answer answer = Answer::kTake;
    std::string reason;
  };
  // Says where a member serves, or served.
  struct Home {
    StageId stage;
    ProcessIncarnation process;
  };
  // With the steps applied. The sender, because another one's shard does not take the place of a real one.
  using Key = std::tuple<Branch, std::uint64_t, StageId, Incarnation, ProcessIncarnation>;
  struct Held {
    SaveShard shard;
    Instant since;
  };
  using AllHeld = std::map<Key, Held>;

  [[nodiscard]] Verdict judge(const SaveShard& shard) const;
  [[nodiscard]] Verdict judge_first(const SaveShard& shard, const std::optional<Home>& home) const;
  [[nodiscard]] std::optional<Home> home_of(Incarnation replica) const;
  void change(const JournalEntry& entry, const AddReplica& added);
  void change(const JournalEntry& entry, const RemoveReplica& removed);
  template <class Other>
  void change(const JournalEntry& /*entry*/, const Other& /*body*/) {}
  void hold(const SaveShard& shard, Decisions& decisions, Instant now);
  [[nodiscard]] Decisions judge_again();
  static void decide(SaveShard shard, const Verdict& verdict, Decisions& decisions);
  // Takes one that is held, and goes on to the next.
  [[nodiscard]] SaveShard take(AllHeld::iterator& at);

  View view_;
  std::uint32_t stages_ = 0;            // as those of the branch that were added say
  std::map<Incarnation, Home> former_;  // members of this branch that were removed
  AllHeld held_;
  std::uint64_t held_bytes_ = 0;
};

}  // namespace shoal
