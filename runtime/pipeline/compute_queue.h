// Which piece of work a replica computes next: the pipeline's schedule is a policy of this queue, not a code path.
//
// 1f1b: backwards first, then forwards. afab: forwards first. Within a kind the oldest microbatch (lowest index).
// Evaluations come after backwards in both; the weights' gradients of what was answered come when nothing else waits,
// or first of all when more of them wait than may, since each keeps memory (schedule.h). Training work is given out
// only while the replica is open (P-8). Bounded by the ledger and by the replica's evaluations: each microbatch is in
// it at most once per kind.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>

#include "messages/ids.h"
#include "runtime/base/config.h"

namespace shoal {

enum class TaskKind : std::uint8_t { kForward, kBackward, kAccumulate, kEvaluate };

struct Task {
  TaskKind kind = TaskKind::kForward;
  MicrobatchId microbatch;
  friend bool operator==(const Task&, const Task&) = default;
};

enum class TrainingWork : std::uint8_t { kAllowed, kHeld };

class ComputeQueue {
 public:
  // accumulations_max: those that may wait while there is other work.
  ComputeQueue(Schedule schedule, std::size_t accumulations_max)
      : schedule_(schedule), accumulations_max_(accumulations_max) {}

  void add(const Task& task) { tasks_.insert({rank_of(task.kind), task.microbatch, task.kind}); }
  [[nodiscard]] bool has_task(TrainingWork training) const { return best(training) != tasks_.end(); }
  // Says whether a forward or a backward of training waits, for which other replicas wait in turn.
  [[nodiscard]] bool has_pass() const;
  [[nodiscard]] std::optional<Task> take(TrainingWork training);
  // Takes what may not stay behind: the oldest microbatch whose weights' gradients wait.
  [[nodiscard]] std::optional<MicrobatchId> take_accumulation();
  void drop_training();
  void drop_training_of(MicrobatchId microbatch);
  void clear() { tasks_.clear(); }

 private:
  struct Ranked {
    int rank = 0;  // lower first
    MicrobatchId microbatch;
    TaskKind kind = TaskKind::kForward;
    friend auto operator<=>(const Ranked&, const Ranked&) = default;
  };

  [[nodiscard]] int rank_of(TaskKind kind) const;
  [[nodiscard]] std::set<Ranked>::const_iterator best(TrainingWork training) const;

  [[nodiscard]] std::set<Ranked>::const_iterator oldest_accumulation() const;

  Schedule schedule_;
  std::size_t accumulations_max_;
  std::set<Ranked> tasks_;
};

}  // namespace shoal
