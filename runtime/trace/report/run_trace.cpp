// Files to lives, lives to one list.
#include "runtime/trace/report/run_trace.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/trace/trace_blocks.h"

namespace shoal {
namespace {

bool continues(const TraceLife& before, const TraceLife& after) {
  return before.begin.process_name == after.begin.process_name && before.begin.wall_ns == after.begin.wall_ns &&
         before.begin.steady_ns == after.begin.steady_ns;
}

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
  // A tracer actor that is replaced begins a life in the file, though its process lives on.
  void add(TraceLife part) {
    const bool is_next = lives_.empty() || !continues(lives_.back(), part);
    if (is_next) {
      lives_.push_back(TraceLife{part.begin, {}, {}, {}, 0, false, false});
      out_.lives.push_back({part.begin.process_name, {}, part.begin.level, {}, 0, 0, 0, false, false});
    }
    TraceLife& life = lives_.back();
    ProcessLife& summary = out_.lives.back();
    summary.processes.insert(summary.processes.end(), part.processes.begin(), part.processes.end());
    summary.dropped += part.dropped;
    summary.is_whole = part.is_whole;
    summary.lacks_end = part.lacks_end;
    life.names.insert(part.names.begin(), part.names.end());
    const auto index = static_cast<std::uint32_t>(lives_.size() - 1);
    for (const TraceEvent& event : part.events) {
      summary.end_ns = std::max(summary.end_ns, event.time_ns);
      if (event.kind == TraceKind::kClock) life.events.push_back(event);
      out_.events.push_back({event.time_ns, index, 0, event});
    }
  }
  RunTrace finish() && {
    const auto clocks = align_clocks(lives_);
    const auto origin = [&](std::size_t life) { return lives_[life].begin.steady_ns + clocks[life].ahead_ns; };
    std::int64_t first = lives_.empty() ? 0 : origin(0);
    for (std::size_t i = 0; i < lives_.size(); ++i) first = std::min(first, origin(i));
    for (std::size_t i = 0; i < lives_.size(); ++i) {
      ProcessLife& life = out_.lives[i];
      life.clock = clocks[i];
      life.begin_ns = origin(i) - first;
      life.end_ns += life.begin_ns;
    }
    for (TracedEvent& event : out_.events) {
      event.time_ns += out_.lives[event.life].begin_ns;
      event.actor = number_of(event.life, event.event.actor);
    }
    sort_by_time(out_.events);
    return std::move(out_);
  }

 private:
  // A name may stand in the file behind the first events that mean it.
  std::uint32_t number_of(std::uint32_t life, ActorName name) {
    const auto [of_name, is_first_of_life] = numbers_of_names_.try_emplace({life, name});
    if (!is_first_of_life) return of_name->second;
    const auto known = lives_[life].names.find(name);
    const TracedActor actor{out_.lives[life].name, known == lives_[life].names.end() ? "?" : known->second};
    const auto [number, is_first] = numbers_.try_emplace(actor, static_cast<std::uint32_t>(out_.actors.size()));
    if (is_first) out_.actors.push_back(actor);
    return of_name->second = number->second;
  }

  RunTrace out_;
  std::vector<TraceLife> lives_;  // without the events that tell nothing of clocks
  std::map<TracedActor, std::uint32_t> numbers_;
  std::map<std::pair<std::uint32_t, ActorName>, std::uint32_t> numbers_of_names_;
};

std::vector<std::filesystem::path> trace_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".trace") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

bool RunTrace::is_full() const {
  return std::ranges::all_of(lives, [](const ProcessLife& life) { return life.level == TraceLevel::kAll; });
}

RunTrace merge_lives(std::vector<TraceLife> lives) {
  Merge merge;
  for (TraceLife& life : lives) merge.add(std::move(life));
  return std::move(merge).finish();
}

std::uint64_t trace_bytes(const std::string& run_directory) {
  std::uint64_t bytes = 0;
  std::error_code gone;
  for (const auto& path : trace_files(std::filesystem::path(run_directory) / "trace")) {
    const auto size = std::filesystem::file_size(path, gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

Result<RunTrace> read_run_trace(const std::string& run_directory) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(run_directory) / "trace";
  Merge merge;
  merge.expect(trace_bytes(run_directory) / kEventBytes);
  for (const fs::path& path : trace_files(folder)) {
    const auto read = read_trace_parts(path.string(), [&](TraceLife part) {
      part.begin.process_name = path.stem().string();  // two workers of a node share a name
      merge.add(std::move(part));
    });
    if (!read) return read.failure();
  }
  RunTrace trace = std::move(merge).finish();
  if (!trace.lives.empty()) return trace;
  std::error_code error;
  if (!fs::is_directory(folder.parent_path(), error)) {
    return fail(Error::kUsage, compose(folder.parent_path().string(), ": there is no such directory"));
  }
  return fail(Error::kInvalidData, compose("there is no trace in ", folder.string(),
                                           "; a run keeps one unless trace.level is off or it is trained by --single"));
}

}  // namespace shoal
