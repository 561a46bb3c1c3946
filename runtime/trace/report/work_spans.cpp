// Starts with ends, sends with receives, and what a letter led to.
#include "runtime/trace/report/work_spans.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace shoal {
namespace {

using Track = std::tuple<std::uint32_t, std::uint32_t, Incarnation>;  // life, actor, incarnation

class Joining {
 public:
  explicit Joining(const RunTrace& trace) : trace_(&trace) {}

  void start(const TracedEvent& traced) {
    const TraceEvent& event = traced.event;
    auto& open = open_[{traced.life, traced.actor, event.incarnation}];
    WorkSpan span{traced.life, traced.actor, event.incarnation, std::string(event.detail_text()),
                  event.cause, event.span,   traced.time_ns,    traced.time_ns};
    span.depth = static_cast<std::uint32_t>(open.size());
    open.push_back(spans_.size());
    spans_.push_back(std::move(span));
  }
  void end(const TracedEvent& traced) {
    auto& open = open_[{traced.life, traced.actor, traced.event.incarnation}];
    const auto is_its = [&](std::size_t index) { return spans_[index].span == traced.event.span; };
    if (std::ranges::none_of(open, is_its)) return;
    while (!is_its(open.back())) close(open, traced.time_ns, true);
    close(open, traced.time_ns, false);
  }
  std::vector<WorkSpan> finish() && {
    for (auto& [track, open] : open_) {
      while (!open.empty()) close(open, trace_->lives[std::get<0>(track)].end_ns, true);
    }
    return std::move(spans_);
  }

 private:
  void close(std::vector<std::size_t>& open, std::int64_t time_ns, bool is_cut) {
    spans_[open.back()].end_ns = time_ns;
    spans_[open.back()].is_cut = is_cut;
    open.pop_back();
  }

  const RunTrace* trace_;
  std::vector<WorkSpan> spans_;
  std::map<Track, std::vector<std::size_t>> open_;
};

// Tells whether a replica does this work when a letter of this name has come.
bool is_work_for(std::string_view letter, std::string_view work) {
  if (letter == "Forward") return work == "forward" || work == "loss";
  if (letter == "Forward evaluate") return work == "evaluate";
  return letter == "Backward" && work == "backward";
}

// Names the work on one microbatch at one replica, in one step.
using Errand = std::tuple<Incarnation, Branch, StepId, MicrobatchId>;

Errand errand_of(Incarnation replica, const Cause& cause) {
  return {replica, cause.branch, cause.step, cause.microbatch};
}

}  // namespace

std::vector<WorkSpan> work_spans(const RunTrace& trace) {
  Joining joining(trace);
  for (const TracedEvent& traced : trace.events) {
    if (traced.event.kind == TraceKind::kStart) joining.start(traced);
    if (traced.event.kind == TraceKind::kEnd) joining.end(traced);
  }
  return std::move(joining).finish();
}

std::vector<TracedLetter> letters_of(const RunTrace& trace) {
  std::vector<TracedLetter> letters;
  std::unordered_map<std::uint64_t, std::size_t> by_span;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i].event;
    if (event.kind != TraceKind::kSend || event.span == 0) continue;
    by_span.emplace(event.span, letters.size());
    letters.push_back({i, std::nullopt});
  }
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i].event;
    if (!is_arrival(event.kind) || event.span == 0) continue;
    const auto sent = by_span.find(event.span);
    if (sent != by_span.end() && !letters[sent->second].arrived) letters[sent->second].arrived = i;
  }
  return letters;
}

std::vector<WorkLink> work_links(const RunTrace& trace, const std::vector<WorkSpan>& spans) {
  std::unordered_map<std::uint64_t, std::size_t> by_span;
  std::map<Errand, std::vector<std::size_t>> errands;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    by_span.emplace(spans[i].span, i);
    errands[errand_of(spans[i].incarnation, spans[i].cause)].push_back(i);
  }
  std::vector<WorkLink> links;
  std::vector<bool> is_led_to(spans.size(), false);
  for (const TracedEvent& traced : trace.events) {
    const TraceEvent& event = traced.event;
    if (event.kind != TraceKind::kReceive || event.cause.parent_span == 0) continue;
    const auto from = by_span.find(event.cause.parent_span);
    const auto at = errands.find(errand_of(Incarnation{event.subject}, event.cause));
    if (from == by_span.end() || at == errands.end()) continue;
    const auto to = std::ranges::find_if(at->second, [&](std::size_t index) {
      return !is_led_to[index] && spans[index].begin_ns >= traced.time_ns &&
             is_work_for(event.detail_text(), spans[index].word);
    });
    if (to == at->second.end()) continue;
    is_led_to[*to] = true;
    links.push_back({from->second, *to});
  }
  return links;
}

}  // namespace shoal
