// The spawner's notes and its journal first; what a process says itself settles it.
#include "runtime/trace/report/endings.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "runtime/trace/run_event_detail.h"

namespace shoal {
namespace {

constexpr std::string_view kFinishWord = "FinishRun";

// Returns the newest life of that name that had begun by then and was heard of around that time, or had no more room to
// be.
std::optional<std::size_t> life_at(const RunTrace& trace, std::string_view name, std::int64_t time_ns) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < trace.lives.size(); ++i) {
    const ProcessLife& life = trace.lives[i];
    if (life.name == name && life.begin_ns <= time_ns) found = i;
  }
  const bool is_near = found && (trace.lives[*found].lacks_end || time_ns <= trace.lives[*found].end_ns + kPartingNs);
  return is_near ? found : std::nullopt;
}

// Returns when the end of the run was recorded.
std::optional<std::int64_t> finish_ns(const RunTrace& trace) {
  std::optional<std::int64_t> finish;
  for (const TracedEvent& traced : trace.events) {
    const bool is_view = traced.event.kind == TraceKind::kView;
    const bool is_spawner = trace.life_of(traced).name == "spawner";
    if (is_view && is_spawner && traced.event.detail_text().starts_with(kFinishWord)) finish = traced.time_ns;
  }
  return finish;
}

}  // namespace

// A process that still spoke when the run's end was recorded, not given up before, ended with the run. That rests on
// kPartingNs: whoever was killed in the same moment is taken for one of them.
std::vector<LifeEnd> life_ends(const RunTrace& trace) {
  const auto finish = finish_ns(trace);
  std::vector<LifeEnd> ends;
  for (const ProcessLife& life : trace.lives) {
    const bool is_with_the_run = finish && life.name != "spawner" && life.end_ns + kPartingNs >= *finish;
    const LifeEnd unsaid = life.lacks_end ? LifeEnd::kNotTold : LifeEnd::kCutOff;
    ends.push_back(life.is_whole || is_with_the_run ? LifeEnd::kInOrder : unsaid);
  }
  for (const TracedEvent& traced : trace.events) {
    const auto told = run_event_of(traced.event.detail_text());
    if (traced.event.kind != TraceKind::kNote || !told || told->kind != RunEventKind::kProcessLeft) continue;
    const auto life = life_at(trace, told->subject, traced.time_ns);
    if (life) ends[*life] = LifeEnd::kLeft;
  }
  return ends;
}

}  // namespace shoal
