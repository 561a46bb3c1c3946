// Adding up what was said.
#include "runtime/sync/step_hints.h"

#include <algorithm>
#include <utility>

namespace shoal {

void StepHints::begin_next(Instant now) {
  now_ = std::exchange(next_, {});
  moved_at_ = all_answered_from_ = now;
}

bool StepHints::hear(const Progress& progress, Of step) {
  Count& known = (step == Of::kThisStep ? now_ : next_).progress[progress.member];
  const bool has_more = progress.count > known.microbatches;
  known = std::max(known, Count{progress.order.epoch, progress.count});
  return has_more;
}

void StepHints::count(Incarnation member, const Epoch& epoch, std::uint32_t microbatches) {
  now_.progress[member] = {epoch, microbatches};
}

bool StepHints::cover(std::uint64_t planned, const std::vector<ReplicaMember>& members, const Epoch& last_zero,
                      Instant now) const {
  if (now_.all_answered && now >= all_answered_from_) return true;
  std::uint64_t answered = 0;
  for (const ReplicaMember& member : members) {
    const auto known = now_.progress.find(member.incarnation);
    if (known != now_.progress.end() && known->second.epoch >= last_zero) answered += known->second.microbatches;
  }
  return answered >= planned;
}

}  // namespace shoal
