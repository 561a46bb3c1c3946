// One map of what has ended whom.
#include "runtime/cluster/recovery/poison.h"

#include <iterator>

#include "runtime/base/compose.h"

namespace shoal {

std::optional<PoisonVerdict> PoisonWatch::ended(StageId stage, Incarnation replica, const ComputedMicrobatch& work,
                                                const View& view) {
  const auto& [step, microbatch] = work;
  const bool is_open = step.value >= view.committed_steps() && microbatch.value < microbatches_;
  if (!is_open || view.quarantines().contains(step, microbatch)) return std::nullopt;
  const std::string what = compose("microbatch ", microbatch, " of step ", step);
  const auto [suspect, is_first] = suspects_.try_emplace(Key{step, microbatch, stage}, replica);
  if (is_first) {
    if (kSuspectsMax.is_exceeded_by(suspects_.size())) suspects_.erase(std::prev(suspects_.end()));
    return PoisonVerdict{PoisonVerdict::Kind::kSuspected,
                         compose("replica ", replica, " of stage ", stage, " ended while it computed ", what)};
  }
  if (suspect->second == replica) return std::nullopt;
  const std::string both =
      compose("replicas ", suspect->second, " and ", replica, " of stage ", stage, " ended while they computed ", what);
  suspects_.erase(suspect);
  const bool is_last_of_step = view.quarantines().of(step).size() + 1 >= microbatches_;
  if (is_last_of_step) {
    return PoisonVerdict{PoisonVerdict::Kind::kHopeless, both + "; no other microbatch of the step is left"};
  }
  if (kQuarantinedMax.is_reached_by(view.quarantines().count())) {
    return PoisonVerdict{PoisonVerdict::Kind::kHopeless, compose(both, "; ", std::uint64_t{kQuarantinedMax},
                                                                 " are quarantined already: it is not the data")};
  }
  return PoisonVerdict{PoisonVerdict::Kind::kQuarantine, both};
}

void PoisonWatch::committed(StepId step) {
  std::erase_if(suspects_, [step](const auto& suspect) { return std::get<StepId>(suspect.first) <= step; });
}

}  // namespace shoal
