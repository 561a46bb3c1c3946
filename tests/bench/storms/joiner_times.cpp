// Matches lives, members and what commits count of them.
#include "tests/bench/storms/joiner_times.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "runtime/trace/report/traced_journal.h"
#include "runtime/trace/trace_file.h"

namespace shoal {
namespace {

using WorkKey = std::tuple<Branch, StepId, Incarnation, std::uint32_t>;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// The instant of the machine's steady clock from which the trace counts.
[[nodiscard]] Result<std::int64_t> origin_ns(const std::string& run_directory, const RunTrace& trace) {
  auto lives = read_trace_file(run_directory + "/trace/spawner.trace");
  if (!lives) return lives.failure();
  const auto first = std::ranges::find(trace.lives, "spawner", &ProcessLife::name);
  if (lives->empty() || first == trace.lives.end()) return fail(Error::kInvalidData, "no trace of the spawner");
  return lives->front().begin.steady_ns - first->begin_ns;
}

// Finds the work that commits count, with the time at which it was computed.
class CountedWork {
 public:
  CountedWork(const RunTrace& trace, const TracedJournal& journal) {
    std::map<WorkKey, std::int64_t> done;
    for (const TracedEvent& traced : trace.events) {
      const TraceEvent& event = traced.event;
      if (event.kind != TraceKind::kAccumulate) continue;
      const WorkKey key{event.cause.branch, event.cause.step, event.incarnation, event.cause.microbatch.value};
      done.try_emplace(key, traced.time_ns);
    }
    for (const TracedEntry* commit : journal.commits()) {
      for (const auto& [stage, part] : commit->stages) {
        for (const TracedShare& share : part.shares) {
          for (const std::uint32_t microbatch : share.microbatches) {
            const auto found = done.find({commit->branch, commit->step, share.member, microbatch});
            if (found == done.end()) continue;
            std::int64_t& first = first_.try_emplace(share.member, kNever).first->second;
            first = std::min(first, found->second);
          }
        }
      }
    }
  }
  [[nodiscard]] std::optional<std::int64_t> first_of(Incarnation member) const {
    const auto found = first_.find(member);
    return found == first_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<Incarnation, std::int64_t> first_;
};

}  // namespace

Result<StormTimes> storm_times(const std::string& run_directory, const RunTrace& trace,
                               const std::vector<std::pair<std::string, WatchClock::time_point>>& asked) {
  const auto origin = origin_ns(run_directory, trace);
  if (!origin) return origin.failure();
  const auto since = [&](WatchClock::time_point then, std::int64_t time_ns) {
    return static_cast<double>(*origin + time_ns - then.time_since_epoch().count()) / 1e6;
  };
  StormTimes times;
  const TracedJournal journal(trace);
  const CountedWork counted(trace, journal);
  for (const auto& [node, then] : asked) {
    const auto life = std::ranges::find(trace.lives, node, &ProcessLife::name);
    std::optional<JoinerTime> found;
    for (const auto& [position, entry] : journal.entries()) {
      const bool is_its = entry.kind == EntryKind::kAdd && life != trace.lives.end() &&
                          std::ranges::count(life->processes, entry.process) > 0;
      if (!is_its) continue;
      const auto first = counted.first_of(Incarnation{entry.subject});
      if (first && !found) found = {node, since(then, life->begin_ns), since(then, entry.time_ns), since(then, *first)};
    }
    found ? times.joiners.push_back(*found) : times.never_counted.push_back(node);
  }
  for (const TracedEntry* commit : journal.commits()) {
    times.commits.emplace_back(std::chrono::nanoseconds(*origin + commit->time_ns));
  }
  std::ranges::sort(times.commits);
  return times;
}

HeartbeatTimes heartbeat_times(const RunTrace& trace, const std::string& node) {
  HeartbeatTimes times;
  std::map<std::uint64_t, std::int64_t> sent;
  std::optional<std::int64_t> last;
  for (const TracedEvent& traced : trace.events) {
    const TraceEvent& event = traced.event;
    if (event.detail_text() != "Heartbeat" || event.span == 0) continue;
    const std::string& process = trace.life_of(traced).name;
    if (event.kind == TraceKind::kSend && process == node) sent[event.span] = traced.time_ns;
    const auto way = sent.find(event.span);
    if (event.kind != TraceKind::kReceive || process != "spawner" || way == sent.end()) continue;
    ++times.count;
    times.longest_way_ms = std::max(times.longest_way_ms, static_cast<double>(traced.time_ns - way->second) / 1e6);
    if (last)
      times.longest_pause_ms = std::max(times.longest_pause_ms, static_cast<double>(traced.time_ns - *last) / 1e6);
    last = traced.time_ns;
  }
  return times;
}

double longest_pause_ms(const StormTimes& times) {
  double longest = 0;
  for (std::size_t i = 1; i < times.commits.size(); ++i) {
    longest = std::max(longest, ms_between(times.commits[i - 1], times.commits[i]));
  }
  return longest;
}

double next_commit_ms(const StormTimes& times, WatchClock::time_point from) {
  const auto next = std::ranges::upper_bound(times.commits, from);
  return next == times.commits.end() ? 0 : ms_between(from, *next);
}

}  // namespace shoal
