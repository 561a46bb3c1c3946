// RoundGroupCore: brings one stage's replicas to one mean per fragment and round, and votes for it (design.md §6).
//
//   announced ──all contributions, or a quorum and its grace is over──▶ reducing ──all of them, equal digests──▶ voted
//       ▲           (Prepare, Manifest)                                    │ time-out; digests differ: a pause    │
//       └──────────────────────── the stage's membership changed (P-20) ───┴──────────────────────────────────────┘
//   voted ──CommitRound──▶ over
//
// Beside SyncGroupCore, in the same actor, with the same rules: every Prepare takes a new, higher epoch (P-15), an
// answer counts for the epoch in force alone, a vote follows equal digests of everybody in the sum (P-19), a restart
// begins from the journal (P-21). Rounds of several fragments are open at once and know nothing of each other. The
// divisor is the sum of the shares that were really summed. Only members that bring tokens fill a quorum. Where all
// have answered nobody is left to be waited for: a stage with fewer members than the quorum was held before the commit
// that these contributions follow (SupervisorCore), because nobody can join it while a round is open. A member that is
// late for a closed round reads that in the journal (CommitRound without it) and has its mean of a peer (RoundMember).
// Pure: time comes in, letters go out.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "runtime/base/config.h"
#include "runtime/sync/round_plan.h"
#include "runtime/sync/sync_group.h"

namespace shoal {

struct RoundGroupConfig {
  RunId run;
  Term term;
  StageId stage;
  Incarnation self;
  SyncConfig sync;
  Duration repeat_after = std::chrono::seconds(2);     // of an unanswered order; doubles with each repeat and try
  Duration reduce_timeout = std::chrono::seconds(60);  // doubles with each try of a round
};

class RoundGroupCore {
 public:
  enum class Phase { kAnnounced, kReducing, kVoted };

  explicit RoundGroupCore(RoundGroupConfig config);

  void begin_at(const View& past) { view_ = past; }
  [[nodiscard]] SyncGroupEffects follow(const JournalEntry& entry, Instant now);
  [[nodiscard]] SyncGroupEffects hear(const Manifest& manifest, Instant now);
  [[nodiscard]] SyncGroupEffects hear(const Reduced& reduced, Instant now);
  [[nodiscard]] SyncGroupEffects tick(Instant now);

  // "round 3 of fragment 1: waiting for the contributions of 12": for `shoal status`; empty when none is open.
  [[nodiscard]] std::string explain() const;

 private:
  struct Round {
    Phase phase = Phase::kAnnounced;
    StepId step;  // steps applied at its contributions
    Epoch epoch;
    JournalPosition position;                     // where the journal stood when the epoch began (P-22)
    std::uint32_t tries = 1;                      // the one that goes on, and those in vain
    std::map<Incarnation, std::uint64_t> shares;  // tokens, of this epoch; who is in the sum
    std::map<Incarnation, Reduced> reduced;       // of this epoch
    std::set<Incarnation> unanswered;
    Instant began{};
    std::optional<Instant> quorum_since;
    Instant not_before{};  // of the next announcement, after means that differ
    Instant repeat_at{};
    Duration repeat_interval{};
    Prepared vote;
  };

  [[nodiscard]] const std::vector<ReplicaMember>& members() const { return view_.replicas_of(config_.stage); }
  [[nodiscard]] bool has_quorum(const Round& round) const;
  [[nodiscard]] OrderId order_id(const RoundId& id, const Round& round) const;
  [[nodiscard]] Round* find(const OrderId& order, Phase phase);
  void take_up(const std::string& why, Instant now);
  void try_again(const RoundId& id, Round& round, const std::string& why, Instant now);
  void announce(const RoundId& id, Round& round, const std::string& why, Instant now);
  void reduce_if_due(const RoundId& id, Round& round, Instant now);
  void conclude(const RoundId& id, Round& round, Instant now);
  void repeat(const RoundId& id, Round& round);
  void send_to(Incarnation member, MessageBody body);
  void tell(const std::string& event, const RoundId& id, const std::string& why);
  void tell_who_missed(const CommitRound& entry);
  [[nodiscard]] SyncGroupEffects take_effects();

  RoundGroupConfig config_;
  RoundSchedule schedule_;
  View view_;
  bool is_appointed_ = false;
  Epoch epoch_;  // of the last order given, for any round
  std::map<RoundId, Round> rounds_;
  SyncGroupEffects effects_;
};

}  // namespace shoal
