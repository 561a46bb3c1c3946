// A follower is an incarnation of an actor in a life of its process.
#include "runtime/trace/report/check/check_followers.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/base/compose.h"
#include "runtime/trace/report/check/check_passing.h"

namespace shoal {
namespace {

using Follower = std::tuple<std::uint32_t, std::uint32_t, Incarnation>;  // life, actor, incarnation

bool has_entries(const PieceTopics& topics, std::uint64_t begin, std::uint64_t end) {
  return !topics.positions.is_empty() && topics.times.touches(begin, end);
}

}  // namespace

Status check_followers(const WindowedTrace& trace, CheckMemory& memory, std::vector<Violation>& out) {
  const RunTrace& frame = trace.pieces.frame();
  const auto time_of = [&frame](const TracedEvent& traced) {
    const bool is_followed = is_entry(traced.event) && frame.actor_of(traced).starts_with("stage/");
    return is_followed ? std::optional(time_number(traced.time_ns)) : std::nullopt;
  };
  std::map<Follower, JournalPosition> followed;
  const auto take = [&](const EventWindow& window) -> Status {
    for (const TracedEvent& traced : window.trace().events) {
      const JournalPosition position = traced.event.cause.position;
      JournalPosition& before = followed[{traced.life, traced.actor, traced.event.incarnation}];
      const bool is_next = before.value == 0 || position.value == before.value + 1;
      if (!is_next && frame.life_of(traced).dropped == 0) {
        out.push_back({Rule::kView, compose(actor_in_words(frame, traced), " follows position ", position,
                                            " after position ", before)});
      }
      before = position;
    }
    return Done{};
  };
  const NumberRange times = trace.pieces.all_topics().times;
  auto walked = walk_windows(trace, {times.least, times.end(), time_of, has_entries}, take, memory.events);
  memory.facts += followed.size();
  return walked;
}

}  // namespace shoal
