// Events to the objects of the Trace Event Format.
#include "runtime/trace/report/perfetto.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/trace/report/endings.h"
#include "runtime/trace/report/json_lines.h"
#include "runtime/trace/report/state_spans.h"
#include "runtime/trace/report/traced_journal.h"
#include "runtime/trace/report/work_spans.h"

namespace shoal {
namespace {

constexpr std::int64_t kLetterNs = 1000;  // how long a letter's slice is drawn, if there is room

// A slice, before it is known that nothing overlaps it on its track.
struct Slice {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::string name;
  std::string category;
  std::string arguments;  // JSON
};

using TrackKey = std::pair<std::uint32_t, Incarnation>;  // actor, incarnation

std::string cause_json(const TraceEvent& event) {
  std::string out;
  {
    JsonObject json(out);
    json.number("step", event.cause.step.value).number("microbatch", event.cause.microbatch.value);
    if (event.cause.branch.value != 0) json.number("branch", event.cause.branch.value);
    if (event.cause.attempt != 0) json.number("attempt", event.cause.attempt);
    if (event.subject != 0) json.number("subject", event.subject);
    if (event.bytes != 0) json.number("bytes", event.bytes);
  }
  return out;
}

class Export {
 public:
  explicit Export(const RunTrace& trace) : trace_(trace), journal_(trace) {
    for (std::size_t i = 0; i < trace.actors.size(); ++i) {
      const std::string& process = trace.actors[i].process;
      processes_.try_emplace(process, static_cast<int>(processes_.size()) + 1);
    }
    for (const ProcessLife& life : trace.lives) {
      processes_.try_emplace(life.name, static_cast<int>(processes_.size()) + 1);
    }
  }

  std::string run() && {
    add_work();
    add_states();
    add_letters();
    add_instants();
    add_deaths();
    write_slices();
    write_names();
    return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + out_ + "\n]}\n";
  }

 private:
  void add_work();
  void add_states();
  void add_letters();
  void add_instants();
  void add_deaths();
  void write_slices();
  void write_names();
  void write_instant(const TracedEvent& traced);
  void write_flow(std::string_view phase, const TrackKey& track, std::int64_t time_ns, std::uint64_t id);
  void write_counter(const TracedEvent& at, const std::string& name, std::uint64_t value);

  // One event; its first fields are filled in.
  std::string& next() {
    if (!out_.empty()) out_ += ",\n";
    return out_;
  }
  [[nodiscard]] TrackKey track_of(const TracedEvent& traced) const { return {traced.actor, traced.event.incarnation}; }
  void place(JsonObject& json, const TrackKey& track) {
    const int number = tracks_.try_emplace(track, static_cast<int>(tracks_.size()) + 1).first->second;
    json.number("pid", processes_.at(trace_.actors[track.first].process)).number("tid", number);
  }

  const RunTrace& trace_;
  TracedJournal journal_;
  std::map<std::string, int> processes_;
  std::map<TrackKey, int> tracks_;
  std::map<TrackKey, std::vector<Slice>> slices_;
  std::string out_;
  std::uint64_t flows_ = 0;
};

void Export::add_work() {
  const auto spans = work_spans(trace_);
  for (const WorkSpan& span : spans) {
    TraceEvent as_event;
    as_event.cause = span.cause;
    const std::string category = span.is_cut ? "work,cut" : "work";
    slices_[{span.actor, span.incarnation}].push_back(
        {span.begin_ns, span.end_ns, span.word + (span.is_cut ? " (cut off)" : ""), category, cause_json(as_event)});
  }
  for (const WorkLink& link : work_links(trace_, spans)) {
    const WorkSpan& from = spans[link.from];
    const WorkSpan& to = spans[link.to];
    const std::int64_t leaves = std::max(from.begin_ns, from.end_ns - 1);
    if (leaves > to.end_ns) continue;  // clocks disagree, or an end is missing: no arrow rather than a wrong one
    write_flow("s", {from.actor, from.incarnation}, leaves, ++flows_);
    write_flow("f", {to.actor, to.incarnation}, std::max(to.begin_ns, leaves), flows_);
  }
}

void Export::add_states() {
  for (const StateSpan& phase : group_phases(trace_, journal_)) {
    TraceEvent as_event;
    as_event.cause.step = phase.step;
    slices_[{phase.actor, phase.incarnation}].push_back(
        {phase.begin_ns, phase.end_ns, phase.word, "phase", cause_json(as_event)});
  }
  const auto find_actor = [this](std::string_view name) {
    const auto found = std::ranges::find(trace_.actors, name, &TracedActor::name);
    return std::pair{found != trace_.actors.end(), static_cast<std::uint32_t>(found - trace_.actors.begin())};
  };
  const auto [has_loader, loader] = find_actor("data_loader");
  const auto [has_supervisor, supervisor] = find_actor("supervisor");
  std::int64_t before_ns = 0;
  for (const StepTimes& step : step_times(trace_, journal_)) {
    TraceEvent as_event;
    as_event.cause.step = step.step;
    as_event.cause.branch = step.branch;
    const std::string name = compose("step ", step.step);
    const std::int64_t begin = std::max(before_ns, step.planned_ns == 0 ? step.committed_ns : step.planned_ns);
    before_ns = std::max(begin, step.committed_ns);
    if (has_supervisor) {
      slices_[{supervisor, {}}].push_back({begin, before_ns, name, "step", cause_json(as_event)});
    }
    const bool is_answered = step.planned_ns != 0 && step.answered_ns >= begin && step.answered_ns <= before_ns;
    if (has_loader && is_answered) {
      slices_[{loader, {}}].push_back({begin, step.answered_ns, name, "step", cause_json(as_event)});
    }
  }
}

void Export::add_letters() {
  for (const TracedEvent& traced : trace_.events) {
    const TraceEvent& event = traced.event;
    const bool is_letter = event.kind == TraceKind::kSend || event.kind == TraceKind::kReceive;
    if (!is_letter || trace_.actor_of(traced) != "router") continue;
    slices_[track_of(traced)].push_back({traced.time_ns, traced.time_ns + kLetterNs,
                                         compose(text_of(event.kind), " ", event.detail_text()), "letter",
                                         cause_json(event)});
  }
  for (const TracedLetter& letter : letters_of(trace_)) {
    if (!letter.arrived) continue;
    const TracedEvent& sent = trace_.events[letter.sent];
    const TracedEvent& arrived = trace_.events[*letter.arrived];
    // Clocks of two machines may disagree by the bound of their offset; an arrow does not point back.
    if (arrived.time_ns < sent.time_ns) continue;
    write_flow("s", track_of(sent), sent.time_ns, ++flows_);
    write_flow("f", track_of(arrived), arrived.time_ns, flows_);
  }
}

void Export::write_flow(std::string_view phase, const TrackKey& track, std::int64_t time_ns, std::uint64_t id) {
  JsonObject json(next());
  json.text("ph", phase).text("cat", "flow").text("name", "causes").number("id", id);
  if (phase == "f") json.text("bp", "e");
  place(json, track);
  json.microseconds("ts", time_ns);
}

void Export::add_instants() {
  std::set<Incarnation> members;
  std::set<JournalPosition> seen;
  std::map<std::tuple<Branch, StepId, std::uint32_t>, std::uint64_t> accumulated;
  for (const TracedEvent& traced : trace_.events) {
    const TraceEvent& event = traced.event;
    const bool is_data = event.kind <= TraceKind::kAccumulate || event.kind == TraceKind::kPath;
    const bool is_detail =
        event.kind == TraceKind::kManifest || event.kind == TraceKind::kStageCommit || event.kind == TraceKind::kClock;
    if (!is_data && !is_detail && event.kind != TraceKind::kMark) write_instant(traced);
    if (event.kind == TraceKind::kMark) write_counter(traced, std::string(event.detail_text()), event.bytes);
    if (event.kind == TraceKind::kAccumulate) {
      const auto count = ++accumulated[{event.cause.branch, event.cause.step, event.cause.hop}];
      write_counter(traced, compose("accumulated, stage ", event.cause.hop), count);
    }
    if (event.kind == TraceKind::kView && seen.insert(event.cause.position).second) {
      const TracedEntry entry = entry_of(traced);
      if (entry.kind == EntryKind::kAdd) members.insert(Incarnation{entry.subject});
      if (entry.kind == EntryKind::kRemove) members.erase(Incarnation{entry.subject});
      write_counter(traced, "replicas in the view", members.size());
    }
  }
}

void Export::write_instant(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  const std::string_view detail = event.kind == TraceKind::kManifest ? "" : event.detail_text();
  JsonObject json(next());
  json.text("ph", "i").text("s", event.kind == TraceKind::kFault ? "g" : "t");
  json.text("cat", text_of(event.kind));
  json.text("name", detail.empty() ? std::string(text_of(event.kind)) : compose(text_of(event.kind), " ", detail));
  place(json, track_of(traced));
  json.microseconds("ts", traced.time_ns).raw("args", cause_json(event));
}

void Export::write_counter(const TracedEvent& at, const std::string& name, std::uint64_t value) {
  std::string arguments;
  { JsonObject(arguments).number("value", value); }
  JsonObject json(next());
  json.text("ph", "C").text("name", name).number("pid", processes_.at(trace_.actors[at.actor].process));
  json.microseconds("ts", at.time_ns).raw("args", arguments);
}

void Export::add_deaths() {
  const auto ends = life_ends(trace_);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const ProcessLife& life = trace_.lives[i];
    if (ends[i] != LifeEnd::kCutOff) continue;
    JsonObject json(next());
    json.text("ph", "i").text("s", "g").text("cat", "fault").text("name", life.name + " ends without a word");
    json.number("pid", processes_.at(life.name)).number("tid", 0).microseconds("ts", life.end_ns);
  }
}

// Slices of a letter end where the next one begins; all others are nested or disjoint by their making.
void Export::write_slices() {
  for (auto& [track, slices] : slices_) {
    std::ranges::stable_sort(slices, {}, &Slice::begin_ns);
    for (std::size_t i = 0; i < slices.size(); ++i) {
      Slice& slice = slices[i];
      if (slice.category == "letter" && i + 1 < slices.size()) {
        slice.end_ns = std::min(slice.end_ns, slices[i + 1].begin_ns);
      }
      JsonObject json(next());
      json.text("ph", "X").text("cat", slice.category).text("name", slice.name);
      place(json, track);
      json.microseconds("ts", slice.begin_ns).microseconds("dur", slice.end_ns - slice.begin_ns);
      json.raw("args", slice.arguments);
    }
  }
}

void Export::write_names() {
  const auto name = [this](std::string_view what, int process, int track, const std::string& text) {
    std::string arguments;
    { JsonObject(arguments).text("name", text); }
    JsonObject json(next());
    json.text("ph", "M").text("name", what).number("pid", process).number("tid", track).raw("args", arguments);
  };
  for (const auto& [process, number] : processes_) name("process_name", number, 0, process);
  for (const auto& [track, number] : tracks_) {
    const TracedActor& actor = trace_.actors[track.first];
    const std::string text = track.second.value == 0 ? actor.name : compose(actor.name, " #", track.second);
    name("thread_name", processes_.at(actor.process), number, text);
  }
}

}  // namespace

std::string perfetto_json(const RunTrace& trace) { return Export(trace).run(); }

}  // namespace shoal
