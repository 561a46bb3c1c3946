// Picks the events of one microbatch, and of what touched all processes meanwhile, and puts them into words.
#include "runtime/trace/report/story/story.h"

#include <algorithm>
#include <charconv>
#include <iomanip>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/trace/report/endings.h"
#include "runtime/trace/report/quantities.h"
#include "runtime/trace/report/traced_journal.h"
#include "runtime/trace/tracer.h"

namespace shoal {
namespace {

struct Line {
  std::int64_t time_ns = 0;
  std::string text;
};

// One branch's telling.
class Story {
 public:
  Story(const RunTrace& trace, const TracedJournal& journal, MicrobatchName name, Branch branch)
      : trace_(trace), journal_(journal), name_(name), branch_(branch) {
    for (const TracedEntry* commit : journal.commits()) {
      if (commit->step == name.step && commit->branch == branch) commit_ = commit;
    }
    find_window();
  }

  [[nodiscard]] std::string tell() {
    for (const TracedEvent& traced : trace_.events) {
      if (traced.time_ns < begin_ns_ || traced.time_ns > end_ns_) continue;
      is_own(traced.event) ? tell_own(traced) : tell_other(traced);
    }
    tell_deaths();
    tell_commit();
    std::ranges::stable_sort(lines_, {}, &Line::time_ns);
    std::string out = compose("microbatch ", name_.microbatch, " of step ", name_.step, ", branch ", branch_,
                              ": the step begins ", seconds_text(begin_ns_), " after the run's first process\n");
    for (const Line& line : lines_) out += padded_ms(line.time_ns - begin_ns_) + "  " + line.text + "\n";
    return out;
  }

 private:
  [[nodiscard]] bool is_own(const TraceEvent& event) const {
    return is_of(event, name_) && event.cause.branch == branch_;
  }
  [[nodiscard]] bool is_of_step(const TraceEvent& event) const {
    return event.cause.step == name_.step && event.cause.branch == branch_;
  }
  void find_window();
  void tell_own(const TracedEvent& traced);
  void tell_letter(const TracedEvent& traced);
  void tell_end(const TracedEvent& traced);
  void tell_other(const TracedEvent& traced);
  void tell_group(const TracedEvent& traced);
  void tell_deaths();
  void tell_commit();
  void tell_path();

  void say(std::int64_t time_ns, std::string text) { lines_.push_back({time_ns, std::move(text)}); }
  // False for what is of the past: a replica that joins and a spawner that returns record entries made before.
  [[nodiscard]] bool is_made_meanwhile(JournalPosition position) const {
    const auto made = journal_.entries().find(position);
    return made != journal_.entries().end() && made->second.time_ns >= begin_ns_ && made->second.time_ns <= end_ns_;
  }
  // "stage/1/0 in node2"; the data loader is nobody.
  [[nodiscard]] std::string place_of(std::uint64_t replica) const;
  [[nodiscard]] std::string self(const TracedEvent& traced) const {
    return compose(trace_.actor_of(traced), " in ", trace_.life_of(traced).name);
  }

  const RunTrace& trace_;
  const TracedJournal& journal_;
  MicrobatchName name_;
  Branch branch_;
  const TracedEntry* commit_ = nullptr;
  std::int64_t begin_ns_ = 0;
  std::int64_t end_ns_ = 0;
  std::vector<Line> lines_;
  std::vector<std::pair<std::uint64_t, std::string>> path_;  // replicas, and why each was chosen
  std::int64_t path_ns_ = 0;
  std::map<std::uint64_t, std::int64_t> sent_at_;     // by the letter's span
  std::map<std::uint64_t, std::int64_t> started_at_;  // by the work's span
  std::map<std::uint64_t, std::string> work_;         // by the work's span
  std::map<Incarnation, std::int64_t> arrived_at_;    // when what it computes next arrived
  std::set<std::string> told_orders_;
  std::set<JournalPosition> told_entries_;
};

void Story::find_window() {
  bool is_first = true;
  for (const TracedEvent& traced : trace_.events) {
    const bool is_plan = traced.event.kind == TraceKind::kPlan && is_of_step(traced.event);
    if (!is_plan && !is_own(traced.event)) continue;
    begin_ns_ = is_first ? traced.time_ns : std::min(begin_ns_, traced.time_ns);
    end_ns_ = is_first ? traced.time_ns : std::max(end_ns_, traced.time_ns);
    is_first = false;
  }
  if (commit_ != nullptr) end_ns_ = std::max(end_ns_, commit_->time_ns + kAfterCommitNs);
}

std::string Story::place_of(std::uint64_t replica) const {
  if (replica == 0) return "the data loader";
  const TracedEntry* added = journal_.added(Incarnation{replica});
  if (added == nullptr) return compose("replica ", replica);
  for (const ProcessLife& life : trace_.lives) {
    if (std::ranges::find(life.processes, added->process) == life.processes.end()) continue;
    return compose("stage/", added->stage, "/", added->slot, " in ", life.name);
  }
  return compose("stage/", added->stage, "/", added->slot, " in process ", added->process);
}

void Story::tell_path() {
  if (path_.empty()) return;
  std::string text = "planned: ";
  for (std::size_t i = 0; i < path_.size(); ++i) {
    text += (i == 0 ? "" : ", then ") + place_of(path_[i].first);
    if (!path_[i].second.empty()) text += " (" + path_[i].second + ")";
  }
  say(path_ns_, text);
  path_.clear();
}

void Story::tell_own(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  if (event.kind == TraceKind::kPath) {
    path_ns_ = traced.time_ns;
    path_.emplace_back(event.subject, event.detail_text());
    if (path_.size() == event.bytes) tell_path();
  } else if (event.kind == TraceKind::kStart) {
    started_at_[event.span] = traced.time_ns;
    work_[event.span] = std::string(event.detail_text());
    const auto arrived = arrived_at_.find(event.incarnation);
    const std::string waited = arrived == arrived_at_.end()
                                   ? ""
                                   : compose(", after ", ms_text(traced.time_ns - arrived->second), " in the queue");
    say(traced.time_ns, compose(self(traced), " starts ", event.detail_text(), waited));
  } else if (event.kind == TraceKind::kEnd) {
    tell_end(traced);
  } else if (event.kind == TraceKind::kAccumulate) {
    say(traced.time_ns, compose(self(traced), " accumulates it: ", event.bytes, " tokens"));
  } else {
    tell_letter(traced);
  }
}

void Story::tell_end(const TracedEvent& traced) {
  const auto work = work_.find(traced.event.span);
  if (work == work_.end()) return;
  const std::int64_t took = traced.time_ns - started_at_.at(traced.event.span);
  say(traced.time_ns, compose(self(traced), " ends ", work->second, ": ", ms_text(took)));
}

void Story::tell_letter(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  const std::string& process = trace_.life_of(traced).name;
  const std::string bytes = event.bytes == 0 ? "" : " (" + bytes_text(event.bytes) + ")";
  const bool is_upstream = event.detail_text() != "Forward" && event.detail_text() != "Ask" && event.cause.hop == 0;
  const std::string to = is_upstream ? "the data loader" : place_of(event.subject);
  const std::string again = event.cause.attempt == 0 ? "" : compose(", attempt ", event.cause.attempt + 1);
  if (event.kind == TraceKind::kSend) {
    sent_at_[event.span] = traced.time_ns;
    say(traced.time_ns, compose(event.detail_text(), bytes, " leaves ", process, " for ", to, again));
  } else if (event.kind == TraceKind::kReceive) {
    const auto sent = sent_at_.find(event.span);
    const std::string took =
        sent == sent_at_.end() ? "" : compose(", ", ms_text(traced.time_ns - sent->second), " on the way");
    arrived_at_[Incarnation{event.subject}] = traced.time_ns;
    say(traced.time_ns, compose(event.detail_text(), " arrives in ", process, " for ", to, took));
  } else {
    const bool is_router = trace_.actor_of(traced) == "router";
    say(traced.time_ns, is_router ? compose(event.detail_text(), " for ", to, " is dropped in ", process)
                                  : compose(self(traced), " turns a ", event.detail_text(), " away"));
  }
}

// Tells the events that are not the microbatch's own.
void Story::tell_other(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  if (event.kind == TraceKind::kPhase && is_of_step(event)) return tell_group(traced);
  const bool is_entry = event.kind == TraceKind::kView && is_made_meanwhile(event.cause.position);
  if (is_entry && told_entries_.insert(event.cause.position).second) {
    const std::string whom = event.detail_text() == "AddReplica" || event.detail_text() == "RemoveReplica"
                                 ? " " + place_of(event.subject)
                                 : compose(" ", event.subject, ", stage ", event.cause.hop);
    say(traced.time_ns,
        compose("the journal says: ", event.detail_text(), whom, " (position ", event.cause.position, ")"));
  }
  const bool is_told = event.kind == TraceKind::kFault || event.kind == TraceKind::kRestart ||
                       event.kind == TraceKind::kRollBack || event.kind == TraceKind::kNote ||
                       event.kind == TraceKind::kExit;
  if (is_told) {
    say(traced.time_ns, compose(self(traced), ": ", text_of(event.kind), ", ", event.detail_text()));
  }
  const bool is_zeroed = event.kind == TraceKind::kStart && event.detail_text() == "zero" && is_of_step(event);
  if (is_zeroed) say(traced.time_ns, self(traced) + " is zeroed: what it accumulated of this step is void");
}

// An order goes to every member; it is told once.
void Story::tell_group(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  const std::string order = compose(trace_.actor_of(traced), ", epoch ", event.incarnation, ".", event.cause.attempt,
                                    ": ", event.detail_text());
  if (told_orders_.insert(order).second) say(traced.time_ns, order);
}

void Story::tell_deaths() {
  const auto ends = life_ends(trace_);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const ProcessLife& life = trace_.lives[i];
    const bool is_here = ends[i] == LifeEnd::kCutOff && life.end_ns >= begin_ns_ && life.end_ns <= end_ns_;
    if (is_here) say(life.end_ns, life.name + " says nothing more: it was killed");
  }
}

void Story::tell_commit() {
  if (commit_ == nullptr) {
    return say(end_ns_, "no commit of this step is in the trace");
  }
  std::string text = compose("step ", name_.step, " is committed", commit_->is_skipped ? " as skipped" : "",
                             " (position ", commit_->position, ")");
  for (const auto& [stage, part] : commit_->stages) {
    for (const TracedShare& share : part.shares) {
      if (!share.microbatches.contains(name_.microbatch.value)) continue;
      text += compose(", stage ", stage, " counts it for ", place_of(share.member.value));
    }
  }
  say(commit_->time_ns, text);
}

}  // namespace

Result<MicrobatchName> parse_microbatch(const std::string& text) {
  MicrobatchName name;
  const char* const end = text.data() + text.size();
  const auto step = std::from_chars(text.data(), end, name.step.value);
  const bool has_slash = step.ec == std::errc() && step.ptr != end && *step.ptr == '/';
  if (has_slash) {
    const auto microbatch = std::from_chars(step.ptr + 1, end, name.microbatch.value);
    if (microbatch.ec == std::errc() && microbatch.ptr == end) return name;
  }
  return fail(Error::kUsage, "'" + text + "': expected STEP/MICROBATCH, as in 12/3");
}

Result<std::string> tell_microbatch(const RunTrace& trace, MicrobatchName name) {
  const TracedJournal journal(trace);
  std::set<Branch> branches;
  for (const TracedEvent& traced : trace.events) {
    if (is_of(traced.event, name)) branches.insert(traced.event.cause.branch);
  }
  if (branches.empty()) {
    return fail(Error::kUsage,
                compose("the trace knows nothing of microbatch ", name.microbatch, " of step ", name.step,
                        trace.is_full() ? "" : "; microbatches are traced with trace.level=all only"));
  }
  std::string text;
  for (const Branch branch : branches) {
    text += (text.empty() ? "" : "\n") + Story(trace, journal, name, branch).tell();
  }
  return text;
}

Result<std::string> tell_microbatch(const EventPieces& pieces, MicrobatchName name) {
  const auto picked = events_of_story(pieces, name);
  if (!picked) return picked.failure();
  return tell_microbatch(*picked, name);
}

}  // namespace shoal
