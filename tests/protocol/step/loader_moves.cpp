// The data loader's moves (P-14): it sends the plan, hears the answers, and says when all are in.
#include "tests/protocol/step/moves.h"

namespace shoal::protocol {

void Moves::loader() {
  loader_reads();
  const int step = now_.commits_at(now_.loader.position);
  if (step >= model_.scope.steps) return;
  if (now_.loader.is_asking) {
    for (int k = 0; k < now_.message_count; ++k) loader_hears_holders(now_.message(k));
    return loader_stops_asking();
  }
  for (int b = 0; b < model_.scope.microbatches; ++b) {
    if (is_in(model_.plan_at(now_, now_.loader.position), b)) loader_sends(step, b);
  }
  router(kLoader);
  for (int k = 0; k < now_.message_count; ++k) loader_hears(step, now_.message(k));
  State next = now_;
  const int plan = model_.plan_at(now_, now_.loader.position);
  if ((now_.loader.answered & plan) == plan && next.add(all_answered(step))) {
    move(next, [&] { return "the loader says that all of step " + std::to_string(step) + " is answered"; });
  }
}

void Moves::loader_reads() {
  if (now_.loader.position >= now_.log_size) return;
  State next = now_;
  const Entry entry = now_.log[next.loader.position++];
  if (entry.is_commit()) {
    next.loader.answered = 0;
    next.loader.requests.clear();
    next.loader.held.fill(kNoHolders);
  } else if (entry.is_quarantine()) {
    next.loader.requests.forget(entry.microbatch());
  } else if (entry.is_removal()) {
    router_reads_removal(next, kLoader, entry.replica());
  }
  move(next, [&] { return "the loader reads entry " + std::to_string(now_.loader.position); });
}

// The first time; what follows is its router's matter.
void Moves::loader_sends(int step, int b) {
  if (now_.loader.requests.state[b] != kNotSent || is_in(now_.loader.answered, b)) return;
  const int holder = holder_in(now_.loader.held[0], b), next_hop = holder_in(now_.loader.held[1], b);
  const int after_next = holder_in(now_.loader.held[2], b);
  const bool is_held = holder != kNoHolder && is_member(now_.loader.position, holder);
  for (int to = 0; to < first_of(1); ++to) {
    if (is_held && to != holder) continue;
    if (!is_member(now_.loader.position, to) || !is_good_target(to, b)) continue;
    State next = now_;
    next.loader.requests.state[b] = kAsked;
    next.loader.requests.hop[b] = byte(to);
    const Message sent = forward(kLoader, to, {step, b, false, next_hop, after_next});
    next.add(sent);
    move(next, [&] { return "the loader sends " + told(sent) + " to " + name_of(to); });
  }
}

void Moves::loader_hears(int step, Message message) {
  if (message.kind() != Kind::kReply || message.to() != kLoader || message.step() != step) return;
  const int b = message.microbatch(), from = message.from();
  const Requests& requests = now_.loader.requests;
  const bool is_known = requests.state[b] == kAnswered && is_in(now_.loader.answered, b);
  if (!is_believed(now_.loader.position, from) || requests.state[b] == kNotSent || is_known) return;
  State next = now_;
  next.loader.answered = byte(next.loader.answered | 1 << b);
  note_answer(next, kLoader, message);
  move(next, [&] { return "the loader hears the answer to " + told(message) + " of " + name_of(from); });
}

}  // namespace shoal::protocol
