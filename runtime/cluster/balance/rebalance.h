// Chooses the replica that moves to the weakest stage, if the move is worth what it costs.
//
// A move takes the time in which the state of the new stage arrives and the mover warms up; meanwhile it works for
// nobody, and what it had computed and not handed on is lost. Its gain is what the weaker of the two stages has more
// afterwards; where several stages are equally weak the throughput rises with the last of their moves.
// Adaptive rebalancing is from Ryabinin et al., "SWARM Parallelism" (2023), Algorithm 2, which moves a peer to the
// stage with the longest queue every T seconds; capacities, costs and hysteresis stand here in place of queues.
// Pure: what has happened and how long it took comes in.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "messages/ids.h"

namespace shoal {

struct BalancedReplica {
  Incarnation replica;
  double speed = 0;            // work per second
  double down_bit_s = 0;       // rate at which it can receive a state
  double up_bit_s = 0;         // rate at which it can give one
  double served_s = 0;         // time since it began to serve its stage
  bool is_on_its_way = false;  // it will count, and does not move before it does
};

struct StageLoad {
  double load = 1;                        // work of one microbatch
  double state_bits = 0;                  // size of what a newcomer copies
  std::vector<BalancedReplica> replicas;  // those that compute, or soon will
  std::size_t keeps = 1;                  // of them, whatever others need
};

// The least gain of a run's moves: speeds that busy machines tell are off by some percent.
inline constexpr double kLeastGainOfARun = 0.05;

struct RebalanceRule {
  double least_gain = 0.01;  // share of the weakest stage's capacity below which a gain is none
  double rest_s = 0;         // time for which a replica stays in a stage that it has begun to serve
  double horizon_s = 1800;   // time for which a gain lasts: a cost is weighed against it; infinite: no cost counts
  double warm_up_s = 10;     // time after a state has arrived until the mover computes at its speed
  double lost_work_s = 0;    // time's worth of the mover's own work that nobody takes over
  double urgent_loss = 0.5;  // share of its capacity whose loss makes a stage wait for no period
};

struct StageMove {
  Incarnation replica;
  std::optional<StageId> from;  // none: it is a spare
  StageId to;
  double takes_s = 0;
  double gain = 0;  // microbatches per second more at the weaker of the two stages
};

struct RebalanceDecision {
  std::optional<StageMove> move;
  std::string reason;
};

struct BalanceQuestion {
  std::vector<StageLoad> stages;        // index = stage
  std::vector<BalancedReplica> spares;  // those that serve no stage
  bool is_one_moving = false;
};

[[nodiscard]] double capacity_of(const StageLoad& stage);

// Ensures that there is a stage. O(replicas).
[[nodiscard]] RebalanceDecision decide_move(const BalanceQuestion& question, const RebalanceRule& rule);

// Returns true when a stage that had that capacity is not to wait for the next period: it is down to one replica, or
// none, or lost too much at once.
[[nodiscard]] bool is_urgent(const StageLoad& stage, double capacity_before, const RebalanceRule& rule);

}  // namespace shoal
