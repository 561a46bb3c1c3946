// The estimate with the least round trip, per machine.
#include "runtime/trace/report/clocks.h"

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <map>
#include <sstream>

namespace shoal {
namespace {

struct Measurement {
  std::int64_t ahead_ns = 0;  // how far the spawner's clock is ahead
  std::uint64_t round_trip_ns = 0;
};

const TraceLife& reference_of(const std::vector<TraceLife>& lives) {
  const auto found = std::ranges::find_if(lives, [](const auto& life) { return life.begin.process_name == "spawner"; });
  return found == lives.end() ? lives.front() : *found;
}

std::optional<Measurement> best_of(const TraceLife& life) {
  std::optional<Measurement> best;
  for (const TraceEvent& event : life.events) {
    if (event.kind != TraceKind::kClock || (best && best->round_trip_ns <= event.bytes)) continue;
    best = Measurement{static_cast<std::int64_t>(event.subject), event.bytes};
  }
  return best;
}

// Keys by machine; lives whose machine is not known stand for themselves, under numbers that no machine has.
std::map<std::uint64_t, Measurement> best_by_machine(const std::vector<TraceLife>& lives) {
  std::map<std::uint64_t, Measurement> best;
  for (const TraceLife& life : lives) {
    const auto measured = best_of(life);
    if (!measured || life.begin.machine == 0) continue;
    const auto [known, is_first] = best.try_emplace(life.begin.machine, *measured);
    if (!is_first && measured->round_trip_ns < known->second.round_trip_ns) known->second = *measured;
  }
  return best;
}

}  // namespace

std::vector<ClockReading> align_clocks(const std::vector<TraceLife>& lives) {
  std::vector<ClockReading> readings;
  if (lives.empty()) return readings;
  const TraceBegin& reference = reference_of(lives).begin;
  const auto best = best_by_machine(lives);
  for (const TraceLife& life : lives) {
    const TraceBegin& begin = life.begin;
    const bool is_same = begin.machine != 0 && begin.machine == reference.machine;
    std::optional<Measurement> measured = begin.machine == 0 ? best_of(life) : std::nullopt;
    if (const auto known = best.find(begin.machine); known != best.end()) measured = known->second;
    if (is_same || begin == reference) {
      readings.push_back({0, 0, ClockSource::kSameMachine});
    } else if (measured) {
      const auto bound = static_cast<std::int64_t>(measured->round_trip_ns / 2 + measured->round_trip_ns % 2);
      readings.push_back({measured->ahead_ns, bound, ClockSource::kMeasured});
    } else {
      const std::int64_t ahead = (begin.wall_ns - begin.steady_ns) - (reference.wall_ns - reference.steady_ns);
      readings.push_back({ahead, std::nullopt, ClockSource::kWallClock});
    }
  }
  return readings;
}

std::string text_of(const ClockReading& clock) {
  if (clock.source == ClockSource::kSameMachine) return "the spawner's";
  std::ostringstream out;
  out << std::fixed << std::setprecision(3) << std::showpos << static_cast<double>(clock.ahead_ns) / 1e6
      << std::noshowpos << " ms";
  if (clock.bound_ns) {
    out << " (measured, at most " << static_cast<double>(*clock.bound_ns) / 1e6 << " ms wrong)";
  } else {
    out << " (by the wall clocks, not measured)";
  }
  return out.str();
}

}  // namespace shoal
