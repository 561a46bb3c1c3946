// Files to lives, lives to one list.
#include "runtime/trace/report/run_trace.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/trace/report/life_list.h"
#include "runtime/trace/trace_blocks.h"

namespace shoal {
namespace {

// Sorts places rather than events: a sort that keeps the order of equals would need room for half of them again.
void sort_by_time(std::vector<TracedEvent>& events) {
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  order.reserve(events.size());
  for (const TracedEvent& event : events) order.emplace_back(event.time_ns, order.size());
  std::ranges::sort(order);
  for (std::size_t begin = 0; begin < order.size(); ++begin) {
    if (order[begin].second == begin) continue;
    const TracedEvent first = events[begin];
    std::size_t place = begin;
    for (std::size_t from = order[place].second; from != begin; from = order[place].second) {
      events[place] = events[from];
      order[place].second = place;
      place = from;
    }
    events[place] = first;
    order[place].second = place;
  }
}

// Holds every event once: parts of lives come in, and go as soon as they are added.
class Merge {
 public:
  void expect(std::size_t events) { out_.events.reserve(events); }
  void add(const TraceLife& part) {
    const std::uint32_t life = lives_.add(part);
    for (const TraceEvent& event : part.events) out_.events.push_back({event.time_ns, life, 0, event});
  }
  RunTrace finish() && {
    out_.lives = lives_.lives();
    for (TracedEvent& event : out_.events) {
      event.time_ns += out_.lives[event.life].begin_ns;
      event.actor = lives_.actor_number(event.life, event.event.actor);
    }
    out_.actors = lives_.actors();
    sort_by_time(out_.events);
    return std::move(out_);
  }

 private:
  RunTrace out_;
  LifeList lives_;
};

}  // namespace

std::vector<std::filesystem::path> trace_files(const std::string& run_directory) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  const auto folder = std::filesystem::path(run_directory) / "trace";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".trace") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

bool RunTrace::is_full() const {
  return std::ranges::all_of(lives, [](const ProcessLife& life) { return life.level == TraceLevel::kAll; });
}

RunTrace merge_lives(const std::vector<TraceLife>& lives) {
  Merge merge;
  for (const TraceLife& life : lives) merge.add(life);
  return std::move(merge).finish();
}

std::uint64_t trace_bytes(const std::string& run_directory) {
  std::uint64_t bytes = 0;
  std::error_code gone;
  for (const auto& path : trace_files(run_directory)) {
    const auto size = std::filesystem::file_size(path, gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

Failure no_trace_in(const std::string& run_directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(run_directory, error)) {
    return fail(Error::kUsage, compose(run_directory, ": there is no such directory"));
  }
  return fail(Error::kInvalidData,
              compose("there is no trace in ", (std::filesystem::path(run_directory) / "trace").string(),
                      "; a run keeps one unless trace.level is off or it is trained by --single"));
}

Result<RunTrace> read_run_trace(const std::string& run_directory) {
  Merge merge;
  merge.expect(trace_bytes(run_directory) / kEventBytes);
  for (const auto& path : trace_files(run_directory)) {
    const auto read = read_trace_parts(path.string(), [&](TracePart part) {
      part.life.begin.process_name = path.stem().string();  // two workers of a node share a name
      merge.add(part.life);
    });
    if (!read) return read.failure();
  }
  RunTrace trace = std::move(merge).finish();
  if (trace.lives.empty()) return no_trace_in(run_directory);
  return trace;
}

}  // namespace shoal
