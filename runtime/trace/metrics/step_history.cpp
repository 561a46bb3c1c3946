// The last stretch grows; a step that was there before cuts off what it replaces.
#include "runtime/trace/metrics/step_history.h"

#include <algorithm>

namespace shoal {

StepHistory::Stretch StepHistory::Stretch::before(std::uint64_t step) const {
  Stretch cut = *this;
  cut.end = std::clamp(step, begin, end);
  if (end > begin) cut.ms = ms * static_cast<double>(cut.end - begin) / static_cast<double>(end - begin);
  return cut;
}

void StepHistory::add(std::uint64_t step, std::uint64_t tokens, double ms) {
  while (!stretches_.empty() && stretches_.back().begin >= step) stretches_.pop_back();
  if (!stretches_.empty()) stretches_.back() = stretches_.back().before(step);
  if (!stretches_.empty() && stretches_.back().end == step && stretches_.back().tokens == tokens) {
    ++stretches_.back().end;
    stretches_.back().ms += ms;
  } else {
    stretches_.push_back({step, step + 1, tokens, ms});
  }
}

HistorySum StepHistory::up_to(std::uint64_t steps) const {
  HistorySum sum;
  for (const Stretch& stretch : stretches_) {
    const Stretch part = stretch.before(steps);
    sum.steps += part.end - part.begin;
    sum.tokens += part.tokens * (part.end - part.begin);
    sum.ms += part.ms;
  }
  return sum;
}

}  // namespace shoal
