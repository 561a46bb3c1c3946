// How a frozen replica comes to the sum of its stage (P-18): every member's part, once, of one epoch.
//
// A part is a member's whole contribution in one message; the ring inside a sum is another model's matter.
#include <algorithm>
#include <optional>

#include "tests/protocol/step/moves.h"

namespace shoal::protocol {
namespace {

// A part of this member for this step; with an epoch, of that epoch alone (P-15).
std::optional<Message> find_part(const State& state, int member, int step, std::optional<int> epoch) {
  for (int k = 0; k < state.message_count; ++k) {
    const Message part = state.message(k);
    if (part.kind() != Kind::kPart || part.from() != member || part.step() != step) continue;
    if (!epoch || part.epoch() == *epoch) return part;
  }
  return std::nullopt;
}

}  // namespace

void Moves::reduce(int r) {
  const Replica& replica = now_.replicas[r];
  const int stage = stage_of(r);
  for (int k = 0; k < now_.message_count; ++k) {
    const Message order = now_.message(k);
    const bool is_in_force = order.kind() == Kind::kReduce && order.stage() == stage &&
                             order.step() == replica.version && order.epoch() == replica.epoch;
    if (!is_in_force || !is_in(order.reduced_members(), r - first_of(stage))) continue;
    State next = now_;
    const bool is_frozen = replica.phase == kFrozen;
    if (next.add(is_frozen ? part_of(now_, r) : reduced(r, replica.version, replica.epoch))) {
      move(next, [&] {
        return std::string(name_of(r)) + (is_frozen ? " sends its part" : " says that it holds the sum") + " of " +
               told_epoch(replica.epoch);
      });
    }
    if (!is_frozen && is_calm()) {  // a member that lacks it asks for it
      State repeated = now_;
      if (repeated.add(part_of(now_, r))) move(repeated, [] { return std::string("a part is sent again"); });
    }
    if (is_frozen) add_up(r, order);
  }
}

void Moves::add_up(int r, Message order) {
  const Replica& replica = now_.replicas[r];
  const int stage = stage_of(r);
  State next = now_;
  Replica& after = next.replicas[r];
  std::array<int, kMicrobatchesMax> sum{};
  bool is_stale = false;
  for (int member = first_of(stage); member < first_of(stage + 1); ++member) {
    if (!is_in(order.reduced_members(), member - first_of(stage))) continue;
    const std::optional<int> epoch = rules_.part_epoch ? std::optional<int>(replica.epoch) : std::nullopt;
    const auto part = find_part(now_, member, replica.version, epoch);
    if (!part) return;
    for (int b = 0; b < kMicrobatchesMax; ++b) sum[b] += part->count(b);
    is_stale |= part->is_stale_part();
  }
  after.phase = kReduced;
  for (int b = 0; b < kMicrobatchesMax; ++b) after.sum[b] = byte(std::min(3, sum[b]));
  after.is_sum_stale = byte(int{is_stale});
  next.add(reduced(r, replica.version, replica.epoch));
  move(next, [&] { return std::string(name_of(r)) + " has the sum of " + told_epoch(replica.epoch); });
}

}  // namespace shoal::protocol
