// Orders to phases, milestones to steps.
#include "runtime/trace/report/state_spans.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "runtime/trace/report/even_runs.h"

namespace shoal {
namespace {

std::string_view phase_after(std::string_view order) {
  if (order == "Prepare") return "preparing";
  if (order == "Reduce") return "reducing";
  return order == "Prepared" ? "voted" : "";
}

bool is_order(std::string_view word) {
  return word == "Prepare" || word == "Reduce" || word == "Prepared" || word == "Open" || word == "Zero";
}

using StepKey = std::pair<Branch, StepId>;
using GroupKey = std::tuple<std::uint32_t, std::uint32_t, Incarnation>;  // life, actor, incarnation

class Phases {
 public:
  explicit Phases(const RunTrace& trace, const TracedJournal& journal) : trace_(&trace) {
    for (const TracedEntry* commit : journal.commits()) committed_.try_emplace({commit->branch, commit->step}, commit);
  }
  void order(const TracedEvent& traced) {
    const TraceEvent& event = traced.event;
    auto& open = open_[{traced.life, traced.actor, event.incarnation}];
    const std::string word(phase_after(event.detail_text()));
    const bool goes_on = open && open->word == word && open->step == event.cause.step;
    if (goes_on) return;
    if (open) close(*open, traced.time_ns);
    open.reset();
    if (word.empty()) return;
    open = StateSpan{traced.actor,       traced.life,      event.incarnation, word,
                     event.cause.branch, event.cause.step, traced.time_ns,    traced.time_ns};
  }
  std::vector<StateSpan> finish() && {
    for (auto& [key, open] : open_) {
      if (open) close(*open, trace_->lives[open->life].end_ns);
    }
    std::ranges::stable_sort(spans_, {}, &StateSpan::begin_ns);
    return std::move(spans_);
  }

 private:
  // The commit opens the replicas again without an order.
  void close(StateSpan& span, std::int64_t time_ns) {
    span.end_ns = time_ns;
    const auto commit = committed_.find({span.branch, span.step});
    if (commit != committed_.end() && commit->second->time_ns >= span.begin_ns) {
      span.end_ns = std::min(span.end_ns, commit->second->time_ns);
    }
    spans_.push_back(span);
  }

  const RunTrace* trace_;
  std::map<StepKey, const TracedEntry*> committed_;
  std::map<GroupKey, std::optional<StateSpan>> open_;
  std::vector<StateSpan> spans_;
};

void take(StepTimes& times, const TracedEvent& traced, std::string_view actor) {
  const TraceEvent& event = traced.event;
  if (event.kind == TraceKind::kPlan && times.planned_ns == 0) times.microbatches = event.bytes;
  times.StepMilestones::take(traced);
  const bool is_state = event.kind == TraceKind::kDigest && event.detail_text() == "state";
  if (is_state && actor.starts_with("stage/")) times.applied_ns = std::max(times.applied_ns, traced.time_ns);
}

}  // namespace

bool is_answered(const TraceEvent& event) {
  return event.kind == TraceKind::kSend && event.detail_text() == "AllAnswered";
}

void StepMilestones::take(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  const std::int64_t now = traced.time_ns;
  if (event.kind == TraceKind::kPlan && planned_ns == 0) planned_ns = now;
  if (is_answered(event) && answered_ns == 0) answered_ns = now;
  const bool is_before_commit = committed_ns == 0 || now <= committed_ns;
  if (event.kind != TraceKind::kPhase || !is_before_commit) return;
  if (event.detail_text() == "Reduce") reducing_ns = now;
  if (event.detail_text() == "Prepared") voted_ns = now;
}

std::vector<StateSpan> group_phases(const RunTrace& trace, const TracedJournal& journal) {
  Phases phases(trace, journal);
  for (const TracedEvent& traced : trace.events) {
    const bool is_phase = traced.event.kind == TraceKind::kPhase && is_order(traced.event.detail_text());
    if (is_phase) phases.order(traced);
  }
  return std::move(phases).finish();
}

std::vector<StepTimes> step_times(const RunTrace& trace, const TracedJournal& journal) {
  std::vector<StepTimes> steps;
  StepPlaces places;
  for (const TracedEntry* commit : journal.commits()) {
    if (!places.add(commit->branch, commit->step, steps.size())) continue;
    StepTimes times;
    times.branch = commit->branch;
    times.step = commit->step;
    times.life = trace.events[commit->event].life;
    times.committed_ns = commit->time_ns;
    times.tokens = commit->subject;
    times.is_skipped = commit->is_skipped;
    steps.push_back(times);
  }
  for (const TracedEvent& traced : trace.events) {
    const auto place = places.find(traced.event.cause.branch, traced.event.cause.step);
    if (place) take(steps[*place], traced, trace.actor_of(traced));
  }
  return steps;
}

}  // namespace shoal
