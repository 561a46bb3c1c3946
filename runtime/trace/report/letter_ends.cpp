// A pair that is joined is taken out of a set: what else comes of its span is alone.
#include "runtime/trace/report/letter_ends.h"

#include <algorithm>

namespace shoal {

void SpanSet::erase(std::uint64_t span) {
  const auto block = blocks_.find(span / kBlock);
  if (block != blocks_.end()) word_of(block->second, span) &= ~bit_of(span);
}

bool SpanSet::has(std::uint64_t span) const {
  const auto block = blocks_.find(span / kBlock);
  return block != blocks_.end() && (block->second[span % kBlock / 64] & bit_of(span)) != 0;
}

void LetterEnds::note(const TraceEvent& event) {
  if (event.span == 0) return;
  if (is_sending(event)) to_be_sent_.add(event.span);
  if (is_arrival(event.kind)) to_arrive_.add(event.span);
}

std::optional<JoinedLetter> LetterEnds::take(const TracedEvent& traced, std::uint64_t place) {
  const TraceEvent& event = traced.event;
  const LetterEnd end{traced.time_ns, place};
  if (event.span == 0 || !(is_sending(event) || is_arrival(event.kind))) return std::nullopt;
  const bool has_both = to_be_sent_.has(event.span) && to_arrive_.has(event.span);
  if (!has_both) return std::nullopt;
  const auto other = other_end(is_sending(event) ? arrived_ : sent_, event.span);
  if (!other) {
    (is_sending(event) ? sent_ : arrived_).try_emplace(event.span, end);
    most_waiting_ = std::max(most_waiting_, sent_.size() + arrived_.size());
    return std::nullopt;
  }
  return is_sending(event) ? JoinedLetter{end, *other} : JoinedLetter{*other, end};
}

std::optional<LetterEnd> LetterEnds::other_end(Ends& others, std::uint64_t span) {
  const auto found = others.find(span);
  if (found == others.end()) return std::nullopt;
  const LetterEnd other = found->second;
  others.erase(found);
  to_be_sent_.erase(span);
  return other;
}

}  // namespace shoal
