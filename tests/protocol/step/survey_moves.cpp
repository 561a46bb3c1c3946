// Surveys (P-14, P-14a): a data loader that has started asks the groups who holds what, so that it sends a microbatch
// to the replica that has it. A survey is a Prepare: it takes an epoch, and ends in an Open if the manifests have a
// gap. It waits for every member, and is made anew when they change.
//
// Data loader and groups live in one process, so a question and its answer are each delivered once. The loader's
// time-out may come at any moment.
#include <algorithm>

#include "tests/protocol/step/moves.h"

namespace shoal::protocol {

void Moves::loader_hears_holders(Message message) {
  if (message.kind() != Kind::kHolders || message.step() != now_.commits_at(now_.loader.position)) return;
  State next = now_;
  next.drop(message);
  next.loader.held[message.stage()] = byte(message.payload());
  next.loader.heard = byte(next.loader.heard | 1 << message.stage());
  if (next.loader.heard == (1 << model_.scope.stages()) - 1) next.loader.is_asking = 0;
  move(next, [&] { return "the loader hears who holds what in stage " + std::to_string(message.stage()); });
}

void Moves::loader_stops_asking() {
  if (!rules_.loader_goes_on) return;
  State next = now_;
  next.loader.is_asking = 0;
  move(next, [] { return std::string("the loader goes on without an answer"); });
}

// Reads the manifests of the epoch so far; once they are complete a frozen ledger says the same.
int Moves::known_holders(int g) const {
  const Group& group = now_.groups[g];
  const int stage = g % kStages, members = now_.members_at(group.position);
  int map = kNoHolders;
  for (int r = first_of(stage); r < first_of(stage + 1); ++r) {
    const Replica& replica = now_.replicas[r];
    const bool has_frozen = replica.epoch == group.epoch() && replica.phase != kOpen;
    if (!is_in(members, r) || !replica.is_alive || !has_frozen) continue;
    for (int b = 0; b < model_.scope.microbatches; ++b) {
      const bool is_new = holder_in(map, b) == kNoHolder && replica.ledger[b] == kInFlight;
      if (replica.ledger[b] == kAccumulated || is_new) map = with_holder(map, b, r - first_of(stage));
    }
  }
  return map;
}

void Moves::tell_holders(State& next, int g, int map) const {
  if (next.groups[g].was_asked == 0) return;
  next.groups[g].was_asked = 0;
  next.add(holders(g, next.commits_at(next.groups[g].position), map));
}

// A question about a later step is dropped.
void Moves::group_is_asked(int stage) {
  const Group& group = now_.groups[stage];
  const int step = now_.commits_at(group.position);
  for (int asked = step; asked < model_.scope.steps; ++asked) {
    const Message question = ask_holders(stage, asked);
    if (!now_.has(question)) continue;
    State next = now_;
    Group& after = next.groups[stage];
    next.drop(question);
    after.was_asked = byte(int{asked == step});
    const bool is_open = group.phase == kSilent || group.phase == kOpened || group.phase == kZeroed;
    if (asked == step && is_open) {
      if (rules_.survey_is_order && !begin_epoch(next, stage)) return;
      after.is_survey = 1;
      after.phase = kPreparing;
      next.add(*order_of(next, stage));
    } else if (asked == step && group.phase != kPreparing) {
      tell_holders(next, stage, known_holders(stage));
    }
    move(next, [&] {
      return "group " + std::to_string(stage) + " is asked who holds what of step " + std::to_string(asked) +
             (after.is_survey ? ", makes a survey" : "");
    });
  }
}

}  // namespace shoal::protocol
