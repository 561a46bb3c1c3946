// One policy over one trace of machines.
//
//   join ──placed──▶ copying ──state there, warmed up──▶ serving ──leave──▶ gone
//                       ▲                                  │ decide_move, at a period or at once when it is urgent
//                       └──────────────────────────────────┘
//
// A round of rebalancing begins at each period and goes on, one mover at a time, until no move gains enough.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "runtime/cluster/balance/rebalance.h"
#include "runtime/plan/swarm/swarm_trace.h"

namespace shoal {

// Says where a newcomer goes: to the stage with the fewest replicas, or to the one that gains most.
enum class NewcomerRule : std::uint8_t { kCount, kGain };

struct SwarmRun {
  std::vector<double> loads;  // index = stage
  double state_bits = 4.8e9;  // of a stage: what a newcomer copies
  NewcomerRule newcomers = NewcomerRule::kCount;
  std::optional<double> rebalance_s;  // none: nobody moves
  RebalanceRule rule;
  double speed_error = 0;  // relative standard deviation of a measured speed, drawn anew at each look
};

// Value from one moment on, until the next one.
struct Moment {
  double at_s = 0;
  double value = 0;
};

struct SwarmOutcome {
  std::vector<Moment> throughput;  // microbatches per second, ascending by time
  std::uint64_t moves = 0;
};

// The most that the machines alive could do at each moment: the best assignment, computed anew at each join and leave.
[[nodiscard]] std::vector<Moment> optimum_of(const SwarmTrace& trace, const std::vector<double>& loads);

// Sum of value x time between two times.
[[nodiscard]] double integral_of(const std::vector<Moment>& moments, double from_s, double to_s);

class SwarmSimulation {
 public:
  // Both outlive this. Ensures that there is a stage.
  SwarmSimulation(const SwarmTrace& trace, const SwarmRun& run);
  [[nodiscard]] SwarmOutcome outcome();

 private:
  enum class EventKind : std::uint8_t { kLeave, kReady, kJoin, kPeriod };
  struct Event {
    double at_s = 0;
    EventKind kind = EventKind::kJoin;
    std::size_t machine = 0;
    std::uint64_t copy = 0;  // which copy is ready: an older one was given up
    friend bool operator>(const Event& a, const Event& b) {
      return std::pair(a.at_s, a.kind) != std::pair(b.at_s, b.kind)
                 ? std::pair(a.at_s, a.kind) > std::pair(b.at_s, b.kind)
                 : a.machine > b.machine;
    }
  };
  struct Place {
    std::size_t stage = 0;
    bool is_serving = false;
    double since_s = 0;
    std::uint64_t copy = 0;
  };

  void place_first();
  void happen(const Event& event);
  void join(std::size_t machine);
  void leave(std::size_t machine);
  void serve(std::size_t machine, std::size_t stage);
  void stop_serving(std::size_t machine);
  void copy_state(std::size_t machine, std::size_t stage, double takes_s);
  [[nodiscard]] BalanceQuestion as_measured(BalanceQuestion swarm);
  void rebalance();
  [[nodiscard]] std::size_t stage_of_newcomer() const;
  [[nodiscard]] double copying_s(std::size_t machine, std::size_t stage) const;
  void note();

  const SwarmTrace& trace_;
  const SwarmRun& run_;
  double now_s_ = 0;
  BalanceQuestion swarm_;
  std::vector<std::size_t> counts_;  // per stage, with those that copy
  std::map<std::size_t, Place> places_;
  std::optional<std::size_t> mover_;
  bool is_round_open_ = false;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t copies_ = 0;
  std::uint64_t looks_ = 0;
  SwarmOutcome outcome_;
};

}  // namespace shoal
