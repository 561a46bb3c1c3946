// Files to lives, lives to one list.
#include "runtime/trace/report/run_trace.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

bool continues(const TraceLife& before, const TraceLife& after) {
  return before.begin.process_name == after.begin.process_name && before.begin.wall_ns == after.begin.wall_ns &&
         before.begin.steady_ns == after.begin.steady_ns;
}

// A tracer actor that is replaced begins a life in the file, though its process lives on.
std::vector<TraceLife> join_continued(std::vector<TraceLife> lives) {
  std::vector<TraceLife> joined;
  for (TraceLife& life : lives) {
    if (joined.empty() || !continues(joined.back(), life)) {
      joined.push_back(std::move(life));
      continue;
    }
    TraceLife& whole = joined.back();
    whole.processes.insert(whole.processes.end(), life.processes.begin(), life.processes.end());
    whole.names.insert(life.names.begin(), life.names.end());
    whole.events.insert(whole.events.end(), life.events.begin(), life.events.end());
    whole.dropped += life.dropped;
    whole.is_whole = life.is_whole;
  }
  return joined;
}

class Merge {
 public:
  void add(const TraceLife& life, const ClockReading& clock) {
    const std::int64_t origin = life.begin.steady_ns + clock.ahead_ns;
    const auto index = static_cast<std::uint32_t>(out_.lives.size());
    ProcessLife summary{
        life.begin.process_name, life.processes, life.begin.level, clock, origin, origin, life.dropped, life.is_whole};
    for (const TraceEvent& event : life.events) {
      const std::int64_t time = origin + event.time_ns;
      summary.end_ns = std::max(summary.end_ns, time);
      const auto name = life.names.find(event.actor);
      const TracedActor actor{summary.name, name == life.names.end() ? "?" : name->second};
      out_.events.push_back({time, index, number_of(actor), event});
    }
    out_.lives.push_back(std::move(summary));
  }
  RunTrace finish() && {
    std::int64_t first = out_.lives.empty() ? 0 : out_.lives.front().begin_ns;
    for (const ProcessLife& life : out_.lives) first = std::min(first, life.begin_ns);
    for (ProcessLife& life : out_.lives) life.begin_ns -= first, life.end_ns -= first;
    for (TracedEvent& event : out_.events) event.time_ns -= first;
    std::ranges::stable_sort(out_.events, {}, &TracedEvent::time_ns);
    return std::move(out_);
  }

 private:
  std::uint32_t number_of(const TracedActor& actor) {
    const auto [known, is_first] = numbers_.try_emplace(actor, static_cast<std::uint32_t>(out_.actors.size()));
    if (is_first) out_.actors.push_back(actor);
    return known->second;
  }

  RunTrace out_;
  std::map<TracedActor, std::uint32_t> numbers_;
};

}  // namespace

bool RunTrace::is_full() const {
  return std::ranges::all_of(lives, [](const ProcessLife& life) { return life.level == TraceLevel::kAll; });
}

RunTrace merge_lives(std::vector<TraceLife> lives) {
  lives = join_continued(std::move(lives));
  const auto clocks = align_clocks(lives);
  Merge merge;
  for (std::size_t i = 0; i < lives.size(); ++i) merge.add(lives[i], clocks[i]);
  return std::move(merge).finish();
}

Result<RunTrace> read_run_trace(const std::string& run_directory) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(run_directory) / "trace";
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".trace") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<TraceLife> lives;
  for (const fs::path& path : paths) {
    auto read = read_trace_file(path.string());
    if (!read) return read.failure();
    for (TraceLife& life : *read) life.begin.process_name = path.stem().string();  // two workers of a node share a name
    std::ranges::move(*read, std::back_inserter(lives));
  }
  if (!lives.empty()) return merge_lives(std::move(lives));
  if (!fs::is_directory(folder.parent_path(), error)) {
    return fail(Error::kUsage, compose(folder.parent_path().string(), ": there is no such directory"));
  }
  return fail(Error::kInvalidData, compose("there is no trace in ", folder.string(),
                                           "; a run keeps one unless trace.level is off or it is trained by --single"));
}

}  // namespace shoal
