// The journal first: whatever is said of a replica names it as its entry does.
#include "runtime/trace/report/check/trace_check.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/trace/report/check/check_commits.h"
#include "runtime/trace/report/check/check_digests.h"
#include "runtime/trace/report/check/check_followers.h"
#include "runtime/trace/report/check/check_journal.h"
#include "runtime/trace/report/check/check_passing.h"
#include "runtime/trace/report/check/check_steps.h"

namespace shoal {
namespace {

void note_what_is_missing(const RunTrace& trace, CheckReport& report) {
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
  if (report.counts.commits == 0) report.notes.push_back("no step was committed: there is little to check");
}

void append_digests(StateDigests& states, SumDigests& sums, CheckReport& report) {
  std::vector<TimedViolation> differences = std::move(states.findings().differences);
  std::ranges::move(sums.findings().differences, std::back_inserter(differences));
  append_in_order(std::move(differences), report.violations);
  report.counts.digests_compared = states.findings().compared + sums.findings().compared;
  if (states.never_added_count() == 0) return;
  report.notes.push_back(compose("no journal entry adds ", counted(states.never_added_count(), "replica"),
                                 " that reported what is held there: it was not compared"));
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

CheckReport check_trace(const RunTrace& trace, std::size_t window_events) {
  return check_trace(*pieces_of(trace, piece_events_of(trace.lives.size())), window_events).value();
}

Result<CheckReport> check_trace(const EventPieces& pieces, std::size_t window_events) {
  const WindowedTrace trace{pieces, window_events};
  CheckReport report;
  auto passing = check_passing(pieces);
  if (!passing) return passing.failure();
  JournalCheck journal;
  const auto take = [&](const EventWindow& window, const TracedJournal& entries) -> Status {
    journal.take(window, entries);
    return Done{};
  };
  if (auto walked = walk_journal(trace, take, report.memory); !walked) return walked.failure();
  StateDigests states(pieces.frame(), journal.members(), journal.begins());
  std::vector<TimedViolation> accumulations;
  auto steps = check_steps(trace, journal.members(), states, accumulations, report.memory);
  if (!steps) return steps.failure();
  append_in_order(std::move(accumulations), report.violations);
  SumDigests sums(pieces.frame(), journal.members());
  auto commits = check_commits(trace, journal, *passing, sums, report);
  if (!commits) return commits.failure();
  journal.report(report.violations, report.notes);
  auto followers = check_followers(trace, report.memory, report.violations);
  if (!followers) return followers.failure();
  append_digests(states, sums, report);
  append_in_order(std::move(passing->beyond_bounds), report.violations);
  report.counts.marks = passing->marks;
  report.counts.commits = journal.commit_count();
  report.counts.branches = journal.branch_count();
  note_what_is_missing(pieces.frame(), report);
  return report;
}

}  // namespace shoal
