// Moves replicas to the stage that needs them more, one at a time, while the run trains (swarm.rebalance_every_s).
//
//   serving ──decided──▶ avoided, as a leaver is ──Commit──▶ RemoveReplica ──▶ its worker joins the other stage
//      ▲                    │ a drain, a loss, the end of the run                  │ AddReplica ──▶ moved
//      └────────────────────┘                                                      └ it cannot ──▶ a free worker
//
// Looks at every period, and at once when a stage lost capacity for good: after the time in which a process that was
// started again is back. Whether a move is worth its cost is decide_move()'s decision (balance/rebalance.h), by the
// speeds that the trails of answers tell. Where machines go and come, what a move costs for good has to come back
// before the next one goes: else many moves for some percent bring nothing. A worker whose own keeper starts it again
// is no machine that went; the numbers of keepers tell (process_directory.h). P-28d. Nothing of it outlasts a restart:
// a worker between two stages is a free one then.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "runtime/cluster/balance/loss_rate.h"
#include "runtime/cluster/balance/rebalance.h"
#include "runtime/cluster/truth/truth.h"

namespace shoal {

class RebalanceDuty {
 public:
  static constexpr Duration kReturnGrace = std::chrono::seconds(2);   // for a lost worker's keeper to start it again
  static constexpr Duration kStartGrace = std::chrono::seconds(60);   // for it to start, with the pauses before that
  static constexpr Duration kPlaceWithin = std::chrono::seconds(10);  // for a worker that has left to be ordered

  RebalanceDuty(const Truth& truth, MeasuredSpeeds& speeds, std::optional<Mover>& mover)
      : truth_(truth), speeds_(speeds), mover_(mover) {}

  [[nodiscard]] Answers on(const MeasuredWork& work, Instant now);
  [[nodiscard]] Answers on(const TrainingBegins& begins, Instant now);
  [[nodiscard]] Answers on(const BranchBegins& begins, Instant now);
  [[nodiscard]] Answers on(const MemberLost& lost, Instant now);
  [[nodiscard]] Answers on(const ProcessGone& gone, Instant now);
  // After a commit the mover may go.
  [[nodiscard]] Answers on(const LeaversDue& due, Instant now);
  [[nodiscard]] Answers on(const TickCame& tick, Instant now);

 private:
  // Capacity of a stage before it lost somebody, and when that is looked at.
  struct Loss {
    double capacity_before = 0;
    Instant look_at;
  };
  // A worker that went: its machine too, unless it is back at once, or by the same keeper.
  struct GoneWorker {
    std::uint32_t keeper = 0;
    Instant since;
    [[nodiscard]] bool is_it_again(std::uint32_t keeper_now, Instant now) const {
      return now - since < kReturnGrace || (keeper != 0 && keeper == keeper_now);
    }
  };

  void note_members(Instant now);
  void note_gone(const ProcessGone& gone, Instant now);
  void note_lost_machines(Instant now);
  void note_leavers(Instant now);
  [[nodiscard]] bool is_urgent_now(const std::vector<StageLoad>& stages, Instant now);
  [[nodiscard]] RebalanceRule rule_for(bool is_urgent, Instant now) const;
  [[nodiscard]] RebalanceDecision decision_on(const BalanceQuestion& question, bool is_urgent, Instant now) const;
  void decide(std::vector<StageLoad> stages, bool is_urgent, Instant now, Answers& answers);
  void begin(const StageMove& move, const std::string& reason, Instant now, Answers& answers);
  void follow_mover(Instant now, Answers& answers);
  void give_up(const std::string& why, Answers& answers);

  const Truth& truth_;
  MeasuredSpeeds& speeds_;
  std::optional<Mover>& mover_;
  std::map<Incarnation, Instant> served_since_;  // of members
  std::map<StageId, double> capacities_;         // as of the last tick
  std::map<StageId, Loss> losses_;               // that were not looked at yet
  std::set<ProcessIncarnation> leavers_;         // whose stages were looked at
  bool is_measured_ = false;                     // something was, since training began
  Instant next_;                                 // period
  Instant began_;                                // training, and how many steps were done then
  std::uint64_t began_at_step_ = 0;
  bool has_begun_ = false;                        // to train, in this term
  LossRate lost_machines_;                        // since then, also while it does not train
  std::map<std::string, GoneWorker> maybe_lost_;  // by name
  std::optional<Duration> move_took_;             // the last one; none was seen: rebalance.warm_up_s
  std::string why_not_;                           // why nobody moves, as it was said last
};

}  // namespace shoal
