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

}  // namespace

void LifeEndings::take(const TracedEvent& traced) {
  const TraceKind kind = traced.event.kind;
  if (kind != TraceKind::kView && kind != TraceKind::kNote) return;
  const std::string_view word = traced.event.detail_text();
  const bool is_view = kind == TraceKind::kView;
  if (is_view && frame_->life_of(traced).name == "spawner" && word.starts_with(kFinishWord)) {
    finish_ns_ = std::max(finish_ns_.value_or(traced.time_ns), traced.time_ns);
  }
  if (is_view) return;
  const auto told = run_event_of(word);
  if (!told || told->kind != RunEventKind::kProcessLeft) return;
  if (const auto life = life_at(*frame_, told->subject, traced.time_ns)) is_left_[*life] = true;
}

// A process that still spoke when the run's end was recorded, not given up before, ended with the run. That rests on
// kPartingNs: whoever was killed in the same moment is taken for one of them.
std::vector<LifeEnd> LifeEndings::ends() const {
  std::vector<LifeEnd> ends;
  for (std::size_t i = 0; i < frame_->lives.size(); ++i) {
    const ProcessLife& life = frame_->lives[i];
    const bool is_with_the_run = finish_ns_ && life.name != "spawner" && life.end_ns + kPartingNs >= *finish_ns_;
    const LifeEnd unsaid = life.lacks_end ? LifeEnd::kNotTold : LifeEnd::kCutOff;
    const LifeEnd said = life.is_whole || is_with_the_run ? LifeEnd::kInOrder : unsaid;
    ends.push_back(is_left_[i] ? LifeEnd::kLeft : said);
  }
  return ends;
}

std::vector<LifeEnd> life_ends(const RunTrace& trace) {
  LifeEndings endings(trace);
  for (const TracedEvent& traced : trace.events) endings.take(traced);
  return endings.ends();
}

}  // namespace shoal
