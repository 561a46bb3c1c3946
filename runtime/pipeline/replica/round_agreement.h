// The agreement on rounds (sync.mode = diloco; P-31 .. P-36): a RoundMember, spoken for as a replica that may not be a
// member yet, and the boundary between the apply of a step and the next one, where rounds begin and end.
//
// The step protocol stays what it is (P-1 .. P-24): a step is prepared, voted for and committed once for everybody;
// only its sum is each member's own. Without rounds every order for one is stale. Bounded (S-6): one Prepare of each
// round waits for the own AddReplica, as many as are open at once by the schedule.
#pragma once

#include <optional>
#include <vector>

#include "messages/journal.h"
#include "messages/storage.h"
#include "runtime/journal/run_ends.h"
#include "runtime/pipeline/replica/stage_agreement.h"
#include "runtime/sync/rounds/round_member.h"

namespace shoal {

class RoundAgreement final : public StageAgreement {
 public:
  explicit RoundAgreement(const ReplicaSetup& setup);

  void hear(const Prepare& order, ReplicaTurn& turn) override;
  void hear(const Reduce& order, ReplicaTurn& turn) override { take(order, turn); }
  void hear(const Part& part, ReplicaTurn& turn) override { take(part, turn); }
  void hear(const PartsSent& mark, ReplicaTurn& turn) override { take(mark, turn); }
  void hear(const MissingParts& question, ReplicaTurn& turn) override { take(question, turn); }
  void hear(const Progress& arriving, ReplicaTurn& turn) override { take(arriving, turn); }
  // A member has nothing to join: it missed a round.
  void hear(const FetchState& question, ReplicaTurn& turn);
  void hear(const StepSum& mean, ReplicaTurn& turn);
  void hear(const StateUnavailable& lost, ReplicaTurn& turn);
  // The journal.
  void hear(const View& past, ReplicaTurn& turn);
  void hear(const RemoveReplica& entry, ReplicaTurn& turn);
  void hear(const CommitRound& entry, ReplicaTurn& turn);
  void note_end(const JournalEntry& entry) { ends_.follow(entry); }  // of every branch, before the entry is told
  // Facts.
  void hear(const StateLoaded& fact, ReplicaTurn& turn);
  void hear(const ReplicaAdmitted& fact, ReplicaTurn& turn);
  void hear(const StepTrained& fact, ReplicaTurn& turn);
  // Jobs.
  void hear(const RoundContributed& result, ReplicaTurn& turn);
  void hear(const RoundApplied& result, ReplicaTurn& turn);
  // At the end of every turn of a member that has no job: contributions, then updates, then the next step.
  void pursue(ReplicaTurn& turn);

  [[nodiscard]] bool is_at_boundary() const { return member_ && member_->is_at_boundary(); }
  [[nodiscard]] std::uint64_t stale_orders() const { return stale_; }
  [[nodiscard]] std::size_t early_parts() const { return member_ ? member_->early_parts() : 0; }

 private:
  template <class Message>
  void take(const Message& message, ReplicaTurn& turn);
  [[nodiscard]] bool is_meant_by(const OrderId& order, const ReplicaStanding& self) const;
  void give_and_ask(ReplicaTurn& turn);

  std::optional<RoundMember> member_;  // none: every step is one sum of all members
  std::vector<Prepare> waiting_;       // from before the own AddReplica
  std::size_t waiting_max_ = 0;
  RunEnds ends_;
  std::uint64_t stale_ = 0;
};

}  // namespace shoal
