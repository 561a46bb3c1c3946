// S-2, S-4 as far as copies of entries go, S-6, and what a trace cannot tell.
#include "runtime/trace/report/trace_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"

namespace shoal {
namespace {

std::string who(const RunTrace& trace, const TracedEvent& traced) {
  const std::string& actor = trace.actor_of(traced);
  const Incarnation incarnation = traced.event.incarnation;
  const std::string number = incarnation.value == 0 ? "" : compose(" (replica ", incarnation, ")");
  return compose(actor, number, " in ", trace.life_of(traced).name);
}

auto identity_of(const TracedEntry& entry) {
  return std::tuple{entry.kind,    entry.branch,  entry.term, entry.stage,   entry.slot,
                    entry.subject, entry.process, entry.step, entry.content, entry.microbatch};
}

std::string describe(const TracedEntry& entry) {
  static constexpr const char* kWords[] = {"AddReplica", "RemoveReplica", "AppointGroup", "Commit",
                                           "FinishRun",  "Quarantine",    "CommitRound",  "entry"};
  const std::string word = kWords[static_cast<std::size_t>(entry.kind)];
  if (entry.kind == EntryKind::kCommit) return compose("commit of step ", entry.step, " of branch ", entry.branch);
  return compose(word, " ", entry.subject, " of stage ", entry.stage, ", branch ", entry.branch);
}

// Checks that a position has one entry, whichever process recorded it.
void compare_with_first(const RunTrace& trace, const TracedJournal& journal, const TracedEvent& traced,
                        CheckReport& report) {
  const TracedEntry copy = entry_of(traced);
  const TracedEntry& first = journal.entries().at(copy.position);
  if (identity_of(copy) == identity_of(first)) return;
  const bool is_commit = copy.kind == EntryKind::kCommit || first.kind == EntryKind::kCommit;
  report.violations.push_back(
      {is_commit ? Rule::kOneCommit : Rule::kView,
       compose("journal position ", copy.position, " is two things: ", describe(first), " (term ", first.term, ") for ",
               who(trace, trace.events[first.event]), ", ", describe(copy), " (term ", copy.term, ") for ",
               who(trace, traced), is_commit ? "; their contents differ" : "")});
}

// One step of a branch, one commit.
void check_one_commit_per_step(const TracedJournal& journal, CheckReport& report) {
  std::map<std::pair<Branch, StepId>, JournalPosition> known;
  for (const TracedEntry* commit : journal.commits()) {
    const auto [first, is_first] = known.try_emplace({commit->branch, commit->step}, commit->position);
    if (is_first) continue;
    report.violations.push_back(
        {Rule::kOneCommit, compose("step ", commit->step, " of branch ", commit->branch,
                                   " is committed twice: at positions ", first->second, " and ", commit->position)});
  }
}

// Nothing of an older term or branch comes after a newer one.
void check_order(const TracedJournal& journal, CheckReport& report) {
  const TracedEntry* before = nullptr;
  for (const auto& [position, entry] : journal.entries()) {
    if (before != nullptr && (entry.term < before->term || entry.branch < before->branch)) {
      report.violations.push_back(
          {Rule::kView, compose(describe(entry), " at position ", position, " is of term ", entry.term, ", branch ",
                                entry.branch, ", after an entry of term ", before->term, ", branch ", before->branch)});
    }
    before = &entry;
  }
}

using Follower = std::tuple<std::uint32_t, std::uint32_t, Incarnation>;  // life, actor, incarnation

// Replicas follow every entry, in order (P-3).
void check_followers(const RunTrace& trace, CheckReport& report) {
  std::map<Follower, JournalPosition> followed;
  for (const TracedEvent& traced : trace.events) {
    const TraceEvent& event = traced.event;
    if (!is_entry(event) || !trace.actor_of(traced).starts_with("stage/")) continue;
    JournalPosition& before = followed[{traced.life, traced.actor, event.incarnation}];
    const bool is_next = before.value == 0 || event.cause.position.value == before.value + 1;
    if (!is_next && trace.life_of(traced).dropped == 0) {
      report.violations.push_back({Rule::kView, compose(who(trace, traced), " follows position ", event.cause.position,
                                                        " after position ", before)});
    }
    before = event.cause.position;
  }
}

void note_what_is_missing(const RunTrace& trace, const TracedJournal& journal, CheckReport& report) {
  if (!trace.is_full()) {
    report.notes.push_back(
        "the run was not traced at trace.level all: that each replica accumulated what the commits say, and in what "
        "order, was not checked; manifests, views, commits and digests were");
  }
  for (const ProcessLife& life : trace.lives) {
    if (life.dropped == 0) continue;
    const std::string_view where = life.lacks_end ? " or more at its end: the run directory's room for it," : ":";
    report.notes.push_back(compose("the trace of ", life.name, " lacks ", counted(life.dropped, "event"), where,
                                   " its ring or its disk was full; what it did then was not checked"));
  }
  if (journal.commits().empty()) report.notes.push_back("no step was committed: there is little to check");
}

}  // namespace

std::string_view name_of(Rule rule) { return text_of(rule).substr(0, text_of(rule).find(' ')); }

std::string_view text_of(Rule rule) {
  switch (rule) {
    case Rule::kExactlyOnce:
      return "S-1 every planned microbatch is accumulated exactly once per stage in each committed step";
    case Rule::kOneCommit: return "S-2 no two different commits of one step of a branch";
    case Rule::kEqualDigests: return "S-3 after every commit the replicas of a stage hold equal bits";
    case Rule::kView: return "S-4 nothing outside the view, nothing of an older term or branch";
    case Rule::kBounds: return "S-6 every queue keeps within its stated bound";
    case Rule::kTrace: return "trace is whole but for the last moments of what was killed";
  }
  return "?";
}

void check_copies(const RunTrace& trace, const TracedJournal& journal, CheckReport& report) {
  for (const TracedEvent& traced : trace.events) {
    if (is_entry(traced.event)) compare_with_first(trace, journal, traced, report);
  }
  check_one_commit_per_step(journal, report);
  check_order(journal, report);
  check_followers(trace, report);
}

void check_marks(const RunTrace& trace, CheckReport& report) {
  for (const TracedEvent& traced : trace.events) {
    const TraceEvent& event = traced.event;
    if (event.kind != TraceKind::kMark) continue;
    ++report.counts.marks;
    if (event.bytes <= event.subject) continue;
    report.violations.push_back({Rule::kBounds, compose("'", event.detail_text(), "' of ", who(trace, traced), " held ",
                                                        event.bytes, ", its bound is ", event.subject)});
  }
}

CheckReport check_trace(const RunTrace& trace) {
  CheckReport report;
  const TracedJournal journal(trace);
  check_commits(trace, journal, report);
  check_copies(trace, journal, report);
  check_digests(trace, journal, report);
  check_marks(trace, report);
  note_what_is_missing(trace, journal, report);
  std::set<Branch> branches;
  for (const TracedEntry* commit : journal.commits()) branches.insert(commit->branch);
  report.counts.commits = journal.commits().size();
  report.counts.branches = branches.size();
  return report;
}

}  // namespace shoal
