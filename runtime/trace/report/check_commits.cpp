// S-1 and S-4 of each commit: manifests against the plan and the view, accumulations against the manifests.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/trace/report/accumulations.h"
#include "runtime/trace/report/trace_check.h"

namespace shoal {
namespace {

std::string list(const std::set<std::uint32_t>& microbatches) {
  std::ostringstream out;
  const char* separator = microbatches.size() > 1 ? "es " : " ";
  for (const std::uint32_t microbatch : microbatches) out << std::exchange(separator, ", ") << microbatch;
  return "microbatch" + std::move(out).str();
}

// Tells how many microbatches a step has, and which of them are left out.
class Plans {
 public:
  Plans(const RunTrace& trace, const TracedJournal& journal) {
    for (const TracedEvent& traced : trace.events) {
      const TraceEvent& event = traced.event;
      if (event.kind == TraceKind::kPlan) counts_[{event.cause.branch, event.cause.step}] = event.bytes;
    }
    for (const auto& [position, entry] : journal.entries()) {
      if (entry.kind == EntryKind::kQuarantine) quarantines_.emplace(entry.step, &entry);
    }
  }
  // Every step of a run has the same number: where the plan itself was lost with its process, the others' counts.
  [[nodiscard]] std::set<std::uint32_t> of(const TracedEntry& commit) const {
    std::set<std::uint32_t> planned;
    const auto found = counts_.find({commit.branch, commit.step});
    const std::uint64_t count = found != counts_.end() ? found->second : counts_.empty() ? 0 : counts_.begin()->second;
    for (std::uint32_t index = 0; index < count; ++index) planned.insert(index);
    const auto [first, end] = quarantines_.equal_range(commit.step);
    for (auto at = first; at != end; ++at) {
      if (at->second->position < commit.position) planned.erase(at->second->microbatch.value);
    }
    return planned;
  }

 private:
  std::map<std::pair<Branch, StepId>, std::uint64_t> counts_;
  std::multimap<StepId, const TracedEntry*> quarantines_;
};

// Returns the journal position of each sync group when it began the epoch that it voted for.
std::map<std::pair<StageId, Epoch>, JournalPosition> votes_of(const RunTrace& trace) {
  std::map<std::pair<StageId, Epoch>, JournalPosition> votes;
  for (const TracedEvent& traced : trace.events) {
    const TraceEvent& event = traced.event;
    if (event.kind != TraceKind::kPhase || event.detail_text() != "Prepared") continue;
    votes[{StageId{event.cause.hop}, Epoch{event.incarnation, event.cause.attempt}}] = event.cause.position;
  }
  return votes;
}

// The next step of a branch. Entries that are in no trace may have committed one step each.
struct NextStep {
  StepId step;
  std::uint64_t unknown = 0;

  [[nodiscard]] bool may_be(StepId committed) const {
    return committed >= step && committed.value - step.value <= unknown;
  }
};

class CommitCheck {
 public:
  CommitCheck(const RunTrace& trace, const TracedJournal& journal, CheckReport& report)
      : trace_(trace),
        journal_(journal),
        report_(report),
        lacks_events_(std::ranges::any_of(
            trace.lives, [](const ProcessLife& life) { return life.name == "spawner" && life.dropped > 0; })),
        plans_(trace, journal),
        votes_(votes_of(trace)),
        accumulations_(trace, journal, report) {}

  void run() {
    JournalPosition before;
    for (const auto& [position, entry] : journal_.entries()) {
      const bool is_next = position.value == before.value + 1;
      if (!is_next && before.value != 0) note_gap(before, position);
      view_.apply(entry, is_next);
      if (entry.kind == EntryKind::kAdd && view_.is_known) expected_[entry.branch] = {entry.step, 0};
      if (entry.kind == EntryKind::kCommit) check(entry);
      before = position;
    }
  }

 private:
  void check(const TracedEntry& commit) {
    where_ = compose("step ", commit.step, " of branch ", commit.branch, " (position ", commit.position, ")");
    const auto expected = expected_.find(commit.branch);
    if (expected != expected_.end() && !expected->second.may_be(commit.step)) {
      add(Rule::kOneCommit, compose(where_, " is committed where step ", expected->second.step, " is next"));
    }
    expected_[commit.branch] = {StepId{commit.step.value + 1}, 0};
    if (commit.stages.empty()) return check_absent(commit);
    const auto planned = plans_.of(commit);
    if (planned.empty()) report_.notes.push_back("the plan of " + where_ + " is in no trace");
    const auto served = view_.is_known ? view_.stages() : std::set<StageId>{};
    for (const StageId stage : served) {
      if (!commit.stages.contains(stage)) {
        add_absence(Rule::kExactlyOnce, compose(where_, " has no part of stage ", stage));
      }
    }
    for (const auto& [stage, part] : commit.stages) {
      check_manifests(stage, part, planned);
      if (view_.is_known) check_view(stage, part);
      for (const TracedShare& share : part.shares) check_share(commit, stage, share);
    }
  }

  // The last moments of a killed spawner are missing, unless another start recorded them again; and whatever its disk
  // refused.
  void check_absent(const TracedEntry& commit) {
    const bool has_plain_spawner = std::ranges::any_of(
        trace_.lives, [](const ProcessLife& life) { return life.name == "spawner" && !life.is_whole; });
    const bool is_last = commit.position == journal_.entries().rbegin()->first;
    const std::string text = "what each replica contributed to " + where_ + " is in no trace of the spawner";
    if (has_plain_spawner && is_last) {
      report_.notes.push_back(text + ": it was killed before it wrote that down");
    } else {
      add_absence(Rule::kTrace, text);
    }
  }

  void check_manifests(StageId stage, const TracedStage& part, const std::set<std::uint32_t>& planned) {
    std::map<std::uint32_t, Incarnation> holders;
    for (const TracedShare& share : part.shares) {
      report_.counts.contributions += share.microbatches.size();
      if (share.listed_count != share.microbatches.size()) {
        add(Rule::kExactlyOnce,
            compose(where_, ", stage ", stage, ": ", name(share.member), " lists ", share.listed_count,
                    " microbatches, of which ", share.microbatches.size(), " differ"));
      }
      for (const std::uint32_t microbatch : share.microbatches) {
        const auto [first, is_first] = holders.try_emplace(microbatch, share.member);
        if (is_first) continue;
        add(Rule::kExactlyOnce, compose(where_, ", stage ", stage, ": microbatch ", microbatch,
                                        " is counted twice, by ", name(first->second), " and by ", name(share.member)));
      }
    }
    std::set<std::uint32_t> missing = planned;
    std::set<std::uint32_t> unknown;
    for (const auto& [microbatch, holder] : holders) {
      if (missing.erase(microbatch) == 0) unknown.insert(microbatch);
    }
    if (planned.empty()) return;
    if (!missing.empty()) {
      add_absence(Rule::kExactlyOnce, compose(where_, ", stage ", stage, ": ", list(missing), " counted by nobody"));
    }
    if (!unknown.empty()) {
      add(Rule::kExactlyOnce, compose(where_, ", stage ", stage, ": ", list(unknown), " counted but not planned"));
    }
  }

  void check_view(StageId stage, const TracedStage& part) {
    std::set<Incarnation> absent;
    for (const auto& [replica, of_stage] : view_.stage_of) {
      if (of_stage == stage) absent.insert(replica);
    }
    for (const TracedShare& share : part.shares) {
      if (absent.erase(share.member) == 1) continue;
      add(Rule::kView, compose(where_, ", stage ", stage, " counts ", name(share.member),
                               ", which is not in the view at that position"));
    }
    for (const Incarnation replica : absent) {
      add_absence(Rule::kView, compose(where_, ", stage ", stage, " has no manifest of its member ", name(replica)));
    }
    if (part.epoch == Epoch{}) {
      return add_absence(Rule::kView, compose(where_, ", stage ", stage, ": by which vote, nobody says"));
    }
    const auto group = view_.group_of.find(stage);
    if (group != view_.group_of.end() && group->second != part.epoch.group) {
      add(Rule::kView, compose(where_, ", stage ", stage, ": the vote is of sync group ", part.epoch.group,
                               ", appointed is ", group->second));
    }
    const auto vote = votes_.find({stage, part.epoch});
    if (vote != votes_.end() && vote->second < view_.last_change[stage]) {
      add(Rule::kView, compose(where_, ", stage ", stage, ": the vote was begun at position ", vote->second,
                               ", before the stage's view changed at position ", view_.last_change[stage]));
    }
  }

  void check_share(const TracedEntry& commit, StageId stage, const TracedShare& share) {
    const auto compared = accumulations_.compare(commit, share);
    report_.counts.accumulations_seen += compared.seen;
    report_.counts.accumulations_excused += compared.excused.size();
    const std::string place = compose(where_, ", stage ", stage, ": ", name(share.member));
    if (!compared.unseen.empty()) {
      add(Rule::kExactlyOnce, compose(place, " is counted with ", list(compared.unseen), ", which it never accumulated",
                                      compared.why_not_excused));
    }
    if (!compared.uncounted.empty()) {
      add(Rule::kExactlyOnce,
          compose(place, " accumulated ", list(compared.uncounted), ", which the commit does not count for it"));
    }
    if (!compared.note.empty() && noted_.insert(compared.note).second) report_.notes.push_back(compared.note);
  }

  void note_gap(JournalPosition before, JournalPosition after) {
    report_.notes.push_back(compose("journal positions ", before.value + 1, " to ", after.value - 1,
                                    " are in no trace: who was in the view after them is not known until a branch "
                                    "begins, and was not checked"));
    for (auto& [branch, next] : expected_) next.unknown += after.value - before.value - 1;
  }
  void add(Rule rule, std::string text) { report_.violations.push_back({rule, std::move(text)}); }
  [[nodiscard]] std::string name(Incarnation replica) const { return journal_.name_of(replica); }

  // Reports that a commit lacks something; only as a note where the spawner's trace lacks events and so proves nothing.
  void add_absence(Rule rule, std::string text) {
    if (!lacks_events_) return add(rule, std::move(text));
    report_.notes.push_back(std::move(text) + ", in a trace that lacks events");
  }

  const RunTrace& trace_;
  const TracedJournal& journal_;
  CheckReport& report_;
  bool lacks_events_;  // true: a spawner's trace does
  Plans plans_;
  std::map<std::pair<StageId, Epoch>, JournalPosition> votes_;
  Accumulations accumulations_;
  TracedView view_;
  std::map<Branch, NextStep> expected_;
  std::set<std::string> noted_;
  std::string where_;
};

}  // namespace

void check_commits(const RunTrace& trace, const TracedJournal& journal, CheckReport& report) {
  CommitCheck(trace, journal, report).run();
}

}  // namespace shoal
