// The run before a number either has it, ends just below it, or has nothing to do with it.
#include "runtime/trace/report/even_runs.h"

#include <iterator>

namespace shoal {

std::optional<std::uint64_t> EvenRuns::find(std::uint64_t number) const {
  const auto next = runs_.upper_bound(number);
  if (next == runs_.begin()) return std::nullopt;
  const auto& [first, run] = *std::prev(next);
  if (number - first >= run.count) return std::nullopt;
  return run.value + (number - first) * run.stride;
}

void EvenRuns::add(std::uint64_t number, std::uint64_t value) {
  const auto next = runs_.upper_bound(number);
  if (next != runs_.begin()) {
    auto& [first, run] = *std::prev(next);
    const std::uint64_t stride = value - (run.value + (run.count - 1) * run.stride);
    if (number - first == run.count && (run.count == 1 || stride == run.stride)) {
      run.stride = stride;
      ++run.count;
      return;
    }
  }
  runs_.emplace(number, Run{1, value, 0});
}

bool StepPlaces::add(Branch branch, StepId step, std::uint64_t place) {
  EvenRuns& steps = by_branch_[branch];
  if (steps.find(step.value)) return false;
  steps.add(step.value, place);
  return true;
}

std::optional<std::uint64_t> StepPlaces::find(Branch branch, StepId step) const {
  const auto steps = by_branch_.find(branch);
  return steps == by_branch_.end() ? std::nullopt : steps->second.find(step.value);
}

}  // namespace shoal
