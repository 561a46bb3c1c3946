// One pass over everybody who could move to the weakest stage.
#include "runtime/cluster/balance/rebalance.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/cluster/balance/assignment.h"

namespace shoal {
namespace {

// Says of those that cannot move what kept them, for the reason.
struct Refused {
  std::size_t of_last = 0;     // stages with no more than they keep
  std::size_t resting = 0;     // replicas
  std::size_t small = 0;       // gains
  std::size_t not_worth = 0;   // costs
  double dearest_takes_s = 0;  // time of a move that was not worth it
};

struct Best {
  StageMove move;
  double net = 0;  // microbatches within the horizon
};

class Search {
 public:
  Search(const BalanceQuestion& question, const RebalanceRule& rule) : question_(question), rule_(rule) {
    for (const StageLoad& stage : question.stages) capacities_.push_back(capacity_of(stage));
    weak_ = weakest_stage(capacities_);
    for (const BalancedReplica& giver : target().replicas) up_bit_s_ = std::max(up_bit_s_, giver.up_bit_s);
  }

  [[nodiscard]] RebalanceDecision decide() {
    for (const BalancedReplica& spare : question_.spares) consider(spare, std::nullopt);
    for (std::size_t stage = 0; stage < question_.stages.size(); ++stage) {
      if (stage == weak_) continue;
      const auto& replicas = question_.stages[stage].replicas;
      if (replicas.size() <= question_.stages[stage].keeps) {
        ++refused_.of_last;
        continue;
      }
      for (const BalancedReplica& replica : replicas) {
        if (!replica.is_on_its_way) consider(replica, stage);
      }
    }
    return best_ ? RebalanceDecision{best_->move, why_it_moves()} : RebalanceDecision{std::nullopt, why_nobody_moves()};
  }

 private:
  [[nodiscard]] const StageLoad& target() const { return question_.stages[weak_]; }

  // A stage without replicas has nobody who gives: storage does, and the receiver's own rate counts.
  [[nodiscard]] double takes_s(const BalancedReplica& mover) const {
    const double rate = up_bit_s_ > 0 ? std::min(mover.down_bit_s, up_bit_s_) : mover.down_bit_s;
    return (rate > 0 ? target().state_bits / rate : 0) + rule_.warm_up_s;
  }

  void consider(const BalancedReplica& mover, std::optional<std::size_t> from) {
    const double here = capacities_[weak_];
    double lesser = here + mover.speed / target().load;
    double lost = 0;
    if (from) {
      const double loses = mover.speed / question_.stages[*from].load;
      lesser = std::min(lesser, capacities_[*from] - loses);
      lost = rule_.lost_work_s * loses;
    }
    const double gain = lesser - here;
    if (gain <= 0 || gain < rule_.least_gain * here) return void(++refused_.small);
    if (from && mover.served_s < rule_.rest_s) return void(++refused_.resting);
    const double takes = takes_s(mover);
    const double net = std::isinf(rule_.horizon_s) ? gain : gain * (rule_.horizon_s - takes) - lost;
    if (net <= 0) {
      ++refused_.not_worth;
      refused_.dearest_takes_s = std::max(refused_.dearest_takes_s, takes);
      return;
    }
    if (best_ && net <= best_->net) return;
    const auto stage = [](std::size_t index) { return StageId{static_cast<std::uint32_t>(index)}; };
    best_ = Best{{mover.replica, from ? std::optional(stage(*from)) : std::nullopt, stage(weak_), takes, gain}, net};
  }

  [[nodiscard]] std::string weakest_words() const { return compose("stage ", weak_, " is the weakest"); }

  [[nodiscard]] std::string why_it_moves() const {
    const double percent = 100 * best_->move.gain / std::max(capacities_[weak_], 1e-12);
    const std::string rise =
        capacities_[weak_] > 0 ? compose("gains ", number_text(percent, 0), " %") : "gets its first replica";
    return compose(weakest_words(), " and ", rise, " by replica ", best_->move.replica,
                   best_->move.from ? compose(" of stage ", *best_->move.from) : std::string(", a spare"), " after ",
                   number_text(best_->move.takes_s, 1), " s");
  }

  [[nodiscard]] std::string why_nobody_moves() const {
    if (refused_.not_worth > 0) {
      return compose(weakest_words(), ", but a move takes up to ", number_text(refused_.dearest_takes_s, 1),
                     " s, which its gain does not pay for within ", number_text(rule_.horizon_s, 0), " s");
    }
    if (refused_.resting > 0) return compose(weakest_words(), ", but who could move has only just begun where it is");
    if (refused_.small > 0)
      return compose(weakest_words(), ", and no move gains ", number_text(100 * rule_.least_gain, 0), " % of it");
    if (refused_.of_last > 0)
      return compose(weakest_words(), ", and every other stage has its last replica, or needs all of them");
    return "there is nobody who could move";
  }

  const BalanceQuestion& question_;
  const RebalanceRule& rule_;
  std::vector<double> capacities_;
  std::size_t weak_ = 0;
  double up_bit_s_ = 0;
  Refused refused_;
  std::optional<Best> best_;
};

}  // namespace

double capacity_of(const StageLoad& stage) {
  double speed = 0;
  for (const BalancedReplica& replica : stage.replicas) speed += replica.speed;
  return speed / stage.load;
}

RebalanceDecision decide_move(const BalanceQuestion& question, const RebalanceRule& rule) {
  ENSURE(!question.stages.empty(), "there is a stage");
  if (question.is_one_moving) return {std::nullopt, "another replica is moving"};
  return Search(question, rule).decide();
}

bool is_urgent(const StageLoad& stage, double capacity_before, const RebalanceRule& rule) {
  return stage.replicas.size() <= 1 || capacity_of(stage) < (1 - rule.urgent_loss) * capacity_before;
}

}  // namespace shoal
