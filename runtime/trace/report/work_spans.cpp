// Starts with ends, sends with receives, and what a letter led to.
#include "runtime/trace/report/work_spans.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "runtime/trace/report/letter_ends.h"

namespace shoal {
namespace {

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

void WorkTracks::take(const TracedEvent& traced) {
  if (traced.event.kind == TraceKind::kStart) start(traced);
  if (traced.event.kind == TraceKind::kEnd) end(traced);
}

void WorkTracks::finish() {
  for (auto& [track, open] : open_) {
    while (!open.empty()) close(open, frame_->lives[std::get<0>(track)].end_ns, true);
  }
}

void WorkTracks::start(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  auto& open = open_[{traced.life, traced.actor, event.incarnation}];
  WorkSpan span{traced.life, traced.actor, event.incarnation, std::string(event.detail_text()),
                event.cause, event.span,   traced.time_ns,    traced.time_ns};
  span.depth = static_cast<std::uint32_t>(open.size());
  open.push_back({std::move(span), count_++});
}

void WorkTracks::end(const TracedEvent& traced) {
  auto& open = open_[{traced.life, traced.actor, traced.event.incarnation}];
  const auto is_its = [&](const Open& one) { return one.span.span == traced.event.span; };
  if (std::ranges::none_of(open, is_its)) return;
  while (!is_its(open.back())) close(open, traced.time_ns, true);
  close(open, traced.time_ns, false);
}

void WorkTracks::close(std::vector<Open>& open, std::int64_t time_ns, bool is_cut) {
  Open last = std::move(open.back());
  open.pop_back();
  last.span.end_ns = time_ns;
  last.span.is_cut = is_cut;
  closed_(last.span, last.number);
}

std::vector<WorkSpan> work_spans(const RunTrace& trace) {
  std::vector<WorkSpan> spans;
  WorkTracks tracks(trace, [&](const WorkSpan& span, std::uint64_t number) {
    spans.resize(std::max<std::size_t>(spans.size(), number + 1));
    spans[number] = span;
  });
  for (const TracedEvent& traced : trace.events) tracks.take(traced);
  tracks.finish();
  return spans;
}

std::vector<TracedLetter> letters_of(const RunTrace& trace) {
  LetterEnds ends;
  for (const TracedEvent& traced : trace.events) ends.note(traced.event);
  std::vector<TracedLetter> letters;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const bool is_sent = is_sending(trace.events[i].event);
    const auto joined = ends.take(trace.events[i], is_sent ? letters.size() : i);
    if (is_sent) letters.push_back({i, std::nullopt});
    if (joined) letters[joined->sent.place].arrived = joined->arrived.place;
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
