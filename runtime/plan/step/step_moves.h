// Knows who serves which stage in a scene, and makes the moves of `swarm.rebalance_every_s` that decide_move() decides.
//
//   serving ──decide──▶ avoided ──commit──▶ away, copying a state ──first commit after──▶ serving the other stage
//
// Speeds are the scene's at that moment; a run measures them. One machine moves at a time. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/cluster/balance/rebalance.h"
#include "runtime/plan/step/step_scene.h"

namespace shoal {

class StepMoves {
 public:
  // At a commit: that machine leaves the stage, or begins to serve it.
  struct Change {
    std::size_t machine = 0;
    std::size_t stage = 0;
    bool joins = false;
  };

  // scene: outlives this.
  explicit StepMoves(const StepScene& scene);

  // Machines of each stage, ascending.
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& members() const { return members_; }
  // Stage that the machine serves, served last, or is about to serve.
  [[nodiscard]] std::size_t stage_of(std::size_t machine) const { return stage_of_[machine]; }
  [[nodiscard]] std::size_t moves() const { return moves_; }
  // Time of the next decision; none where nobody moves.
  [[nodiscard]] std::optional<double> next_s() const { return next_s_; }

  // Returns the machine that moves, if one does. step_s: a step's time so far on average.
  [[nodiscard]] std::optional<std::size_t> decide(double now_s, double step_s);
  [[nodiscard]] std::optional<Change> committed(double now_s);

 private:
  struct Mover {
    std::size_t machine = 0;
    std::size_t to = 0;
    double since_s = 0;
    std::optional<double> ready_s{};  // once it has left
  };

  [[nodiscard]] double copying_s(std::size_t machine, std::size_t stage) const;

  const StepScene& scene_;
  std::vector<std::vector<std::size_t>> members_;
  std::vector<std::size_t> stage_of_;
  std::vector<double> served_since_s_;
  std::optional<double> next_s_;
  std::optional<Mover> mover_;
  std::optional<double> move_took_s_;
  std::size_t moves_ = 0;
};

}  // namespace shoal
