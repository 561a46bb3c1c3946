// Parts to lives.
#include "runtime/trace/report/life_list.h"

#include <algorithm>

namespace shoal {
namespace {

bool continues(const TraceLife& before, const TraceLife& after) {
  return before.begin.process_name == after.begin.process_name && before.begin.wall_ns == after.begin.wall_ns &&
         before.begin.steady_ns == after.begin.steady_ns;
}

// Keeps the first measurement with the least round trip.
void keep_clock(TraceLife& life, const TraceEvent& event) {
  if (life.events.empty()) {
    life.events.push_back(event);
  } else if (event.bytes < life.events.front().bytes) {
    life.events.front() = event;
  }
}

}  // namespace

std::uint32_t LifeList::add(const TraceLife& part) {
  const bool is_next = lives_.empty() || !continues(lives_.back(), part);
  if (is_next) {
    lives_.push_back(TraceLife{part.begin, {}, {}, {}, 0, false, false});
    summaries_.push_back({part.begin.process_name, {}, part.begin.level, {}, 0, 0, 0, false, false});
  }
  TraceLife& life = lives_.back();
  ProcessLife& summary = summaries_.back();
  summary.processes.insert(summary.processes.end(), part.processes.begin(), part.processes.end());
  summary.dropped += part.dropped;
  summary.is_whole = part.is_whole;
  summary.lacks_end = part.lacks_end;
  life.names.insert(part.names.begin(), part.names.end());
  for (const TraceEvent& event : part.events) {
    summary.end_ns = std::max(summary.end_ns, event.time_ns);
    if (event.kind == TraceKind::kClock) keep_clock(life, event);
  }
  return static_cast<std::uint32_t>(lives_.size() - 1);
}

std::vector<ProcessLife> LifeList::lives() const {
  const auto clocks = align_clocks(lives_);
  const auto origin = [&](std::size_t life) { return lives_[life].begin.steady_ns + clocks[life].ahead_ns; };
  std::int64_t first = lives_.empty() ? 0 : origin(0);
  for (std::size_t i = 0; i < lives_.size(); ++i) first = std::min(first, origin(i));
  std::vector<ProcessLife> out = summaries_;
  for (std::size_t i = 0; i < lives_.size(); ++i) {
    ProcessLife& life = out[i];
    life.clock = clocks[i];
    life.begin_ns = origin(i) - first;
    life.end_ns += life.begin_ns;
  }
  return out;
}

std::uint32_t LifeList::actor_number(std::uint32_t life, ActorName name) {
  const auto [of_name, is_first_of_life] = numbers_of_names_.try_emplace({life, name});
  if (!is_first_of_life) return of_name->second;
  const auto known = lives_[life].names.find(name);
  const TracedActor actor{lives_[life].begin.process_name, known == lives_[life].names.end() ? "?" : known->second};
  const auto [number, is_first] = numbers_.try_emplace(actor, static_cast<std::uint32_t>(actors_.size()));
  if (is_first) actors_.push_back(actor);
  return of_name->second = number->second;
}

}  // namespace shoal
