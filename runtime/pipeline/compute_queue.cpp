// The schedules as ranks.
#include "runtime/pipeline/compute_queue.h"

#include <algorithm>
#include <iterator>

namespace shoal {

int ComputeQueue::rank_of(TaskKind kind) const {
  const bool forwards_first = schedule_ == Schedule::kAfab;
  switch (kind) {
    case TaskKind::kForward: return forwards_first ? 0 : 2;
    case TaskKind::kBackward: return forwards_first ? 1 : 0;
    case TaskKind::kEvaluate: return forwards_first ? 2 : 1;
    case TaskKind::kAccumulate: return 3;
  }
  return 4;
}

// Accumulations are the last rank: they are the end of the set.
std::set<ComputeQueue::Ranked>::const_iterator ComputeQueue::oldest_accumulation() const {
  return tasks_.lower_bound({rank_of(TaskKind::kAccumulate), MicrobatchId{0}, TaskKind::kForward});
}

std::set<ComputeQueue::Ranked>::const_iterator ComputeQueue::best(TrainingWork training) const {
  if (training == TrainingWork::kAllowed) {
    const auto accumulation = oldest_accumulation();
    const auto waiting = static_cast<std::size_t>(std::distance(accumulation, tasks_.end()));
    return waiting > accumulations_max_ ? accumulation : tasks_.begin();
  }
  return std::find_if(tasks_.begin(), tasks_.end(),
                      [](const Ranked& task) { return task.kind == TaskKind::kEvaluate; });
}

bool ComputeQueue::has_pass() const {
  return std::ranges::any_of(
      tasks_, [](const Ranked& task) { return task.kind == TaskKind::kForward || task.kind == TaskKind::kBackward; });
}

std::optional<Task> ComputeQueue::take(TrainingWork training) {
  const auto place = best(training);
  if (place == tasks_.end()) return std::nullopt;
  const Task task{place->kind, place->microbatch};
  tasks_.erase(place);
  return task;
}

std::optional<MicrobatchId> ComputeQueue::take_accumulation() {
  const auto place = oldest_accumulation();
  if (place == tasks_.end()) return std::nullopt;
  const MicrobatchId microbatch = place->microbatch;
  tasks_.erase(place);
  return microbatch;
}

void ComputeQueue::drop_training() {
  std::erase_if(tasks_, [](const Ranked& task) { return task.kind != TaskKind::kEvaluate; });
}

void ComputeQueue::drop_training_of(MicrobatchId microbatch) {
  std::erase_if(tasks_, [microbatch](const Ranked& task) {
    return task.kind != TaskKind::kEvaluate && task.microbatch == microbatch;
  });
}

}  // namespace shoal
