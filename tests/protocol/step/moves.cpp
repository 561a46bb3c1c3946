// The order in which moves are looked for, and what follows a move by itself.
#include "tests/protocol/step/moves.h"

#include "tests/protocol/step/network.h"

namespace shoal::protocol {

// A sensible run reads the journal before it does anything else.
void Moves::all() {
  if (pace_ == Pace::kSensible) {
    change_members();
    for (int r = 0; r < kReplicas && made_ == 0; ++r) {
      if (now_.replicas[r].is_alive) replica_reads(r);
    }
    if (made_ == 0) loader_reads();
    for (int stage = 0; stage < model_.scope.stages() && made_ == 0; ++stage) group_reads(stage);
    if (made_ > 0) return;
  }
  for (int r = 0; r < kReplicas; ++r) replica(r);
  loader();
  for (int g = 0; g < 2 * kStages; ++g) group(g);
  supervisor();
  if (!is_calm()) faults();
}

void Moves::settle(State& next) const {
  drop_dead_messages(model_, next);
  answer_at_once(model_, next);
  drop_dead_messages(model_, next);
  forget_old_zeros(next);
}

std::string told(Message data) {
  return "step " + std::to_string(data.step()) + " microbatch " + std::to_string(data.microbatch());
}

std::string told(Entry change) {
  if (change.is_quarantine()) return "quarantine " + std::to_string(change.microbatch());
  return std::string(change.is_removal() ? "remove " : "add ") + name_of(change.replica());
}

std::string told_epoch(int epoch) {
  return "epoch " + std::to_string(epoch >> kCounterBits) + "." + std::to_string(epoch & ((1 << kCounterBits) - 1));
}

}  // namespace shoal::protocol
