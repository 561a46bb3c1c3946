// What the data loader does (P-14): it sends the plan, hears the answers, and says when all are in.
#include "tests/protocol/step/moves.h"

namespace shoal::protocol {

void Moves::loader() {
  loader_reads();
  const int step = now_.commits_at(now_.loader.position);
  if (step >= model_.scope.steps) return;
  for (int b = 0; b < model_.scope.microbatches; ++b) loader_sends(step, b);
  for (int k = 0; k < now_.message_count; ++k) loader_hears(step, now_.message(k));
  State next = now_;
  if (now_.loader.answered == model_.plan() && next.add(all_answered(step))) {
    move(next, [&] { return "the loader says that all of step " + std::to_string(step) + " is answered"; });
  }
}

void Moves::loader_reads() {
  if (now_.loader.position >= now_.log_size) return;
  State next = now_;
  Loader& loader = next.loader;
  const Entry entry = now_.log[loader.position++];
  if (entry.is_commit()) {
    loader.answered = 0;
    loader.hop.fill(kNobody);
  } else if (entry.is_removal() && rules_.send_on_removal) {
    for (int b = 0; b < model_.scope.microbatches; ++b) {
      if (loader.hop[b] != entry.replica()) continue;
      loader.hop[b] = kNobody;
      loader.answered = byte(loader.answered & ~(1 << b));
    }
  }
  move(next, [&] { return "the loader reads entry " + std::to_string(now_.loader.position); });
}

void Moves::loader_sends(int step, int b) {
  const Loader& loader = now_.loader;
  const bool is_answered = is_in(loader.answered, b), is_first = loader.hop[b] == kNobody;
  const bool is_missed = rules_.missing && now_.has(missing(0, step, b));
  if (is_answered && !is_missed) return;
  const bool is_due = is_first || is_missed;
  if (!is_due && !is_calm() && now_.budget[kRetry] == 0) return;
  for (int to = 0; to < first_of(1); ++to) {
    if (!is_member(loader.position, to) || !is_good_target(to, b)) continue;
    State next = now_;
    if (!is_due && !is_calm()) --next.budget[kRetry];
    next.loader.answered = byte(next.loader.answered & ~(1 << b));
    next.loader.hop[b] = byte(to);
    const Message sent = forward(kLoader, to, {step, b, false});
    if (!next.add(sent) && loader.hop[b] == to && !is_answered) continue;
    move(next, [&] {
      return "the loader sends " + told(sent) + " to " + name_of(to) + (is_missed ? ", as it is missing" : "") +
             (is_first || is_missed ? "" : " again");
    });
  }
}

void Moves::loader_hears(int step, Message message) {
  if (message.kind() != Kind::kReply || message.to() != kLoader || message.step() != step) return;
  const int b = message.microbatch(), from = message.from();
  if (!is_believed(now_.loader.position, from) || is_in(now_.loader.answered, b)) return;
  State next = now_;
  next.loader.answered = byte(next.loader.answered | 1 << b);
  next.loader.hop[b] = byte(from);
  move(next, [&] { return "the loader hears the answer to " + told(message) + " of " + name_of(from); });
}

}  // namespace shoal::protocol
