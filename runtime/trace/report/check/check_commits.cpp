// Commits in the order of the journal. What lies about a commit in other places of the trace, its plan, votes, sums and
// accumulations, is loaded for as many commits as a window holds.
#include "runtime/trace/report/check/check_commits.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/trace/report/check/accumulations.h"

namespace shoal {
namespace {

std::string list(const std::set<std::uint32_t>& microbatches) {
  std::ostringstream out;
  const char* separator = microbatches.size() > 1 ? "es " : " ";
  for (const std::uint32_t microbatch : microbatches) out << std::exchange(separator, ", ") << microbatch;
  return "microbatch" + std::move(out).str();
}

using Step = std::pair<Branch, StepId>;
using Vote = std::pair<StageId, Epoch>;

Step step_of(const TracedEntry& commit) { return {commit.branch, commit.step}; }

std::optional<Vote> vote_of(const TraceEvent& event) {
  if (topic_of(event).kind != TopicKind::kEpoch) return std::nullopt;
  return Vote{StageId{event.cause.hop}, Epoch{topic_of(event).group, event.cause.attempt}};
}

// Says which events are about which of some commits: an event's rank is the index of the first that it is about.
class CommitTopics {
 public:
  explicit CommitTopics(const std::vector<const TracedEntry*>& commits) {
    for (const TracedEntry* commit : commits) {
      PieceTopics& topics = topics_.emplace_back();
      const std::size_t index = topics_.size() - 1;
      topics.steps.add(commit->step.value);
      steps_[step_of(*commit)].push_back(index);
      for (const auto& [stage, part] : commit->stages) {
        topics.counters.add(part.epoch.counter);
        topics.groups.add(part.epoch.group.value);
        votes_[{stage, part.epoch}].push_back(index);
      }
    }
  }

  // Asks for what is about these commits from `begin` on. Outlived by this.
  [[nodiscard]] WindowQuery query(std::size_t begin) {
    return {begin, topics_.size(), [this, begin](const TracedEvent& traced) { return rank_of(traced.event, begin); },
            [this](const PieceTopics& piece, std::uint64_t first, std::uint64_t end) {
              return may_have(piece, first, end);
            }};
  }

 private:
  using Indices = std::vector<std::size_t>;

  static std::optional<std::uint64_t> first_from(const Indices& indices, std::size_t begin) {
    const auto first = std::ranges::lower_bound(indices, begin);
    return first == indices.end() ? std::nullopt : std::optional<std::uint64_t>(*first);
  }
  // States of a step are compared with each other, not with its commit.
  [[nodiscard]] std::optional<std::uint64_t> rank_of(const TraceEvent& event, std::size_t begin) const {
    if (const auto vote = vote_of(event)) {
      const auto found = votes_.find(*vote);
      return found == votes_.end() ? std::nullopt : first_from(found->second, begin);
    }
    if (topic_of(event).kind != TopicKind::kStep || event.kind == TraceKind::kDigest) return std::nullopt;
    const auto found = steps_.find({event.cause.branch, event.cause.step});
    return found == steps_.end() ? std::nullopt : first_from(found->second, begin);
  }
  bool may_have(const PieceTopics& piece, std::uint64_t begin, std::uint64_t end) {
    if (std::pair(begin, end) != asked_) {
      asked_ = {begin, end};
      all_asked_ = {};
      for (std::uint64_t index = begin; index < end; ++index) all_asked_.add(topics_[index]);
    }
    return piece.steps.touches(all_asked_.steps) ||
           (piece.counters.touches(all_asked_.counters) && piece.groups.touches(all_asked_.groups));
  }

  std::vector<PieceTopics> topics_;  // by commit
  std::map<Step, Indices> steps_;
  std::map<Vote, Indices> votes_;
  std::pair<std::uint64_t, std::uint64_t> asked_;  // the commits that may_have() was asked for last
  PieceTopics all_asked_;                          // and what they are about
};

// Tells how many microbatches a step has, and which of them are left out.
class Plans {
 public:
  explicit Plans(std::optional<std::uint64_t> first_count) : first_count_(first_count.value_or(0)) {}

  // Begins with the plans of other steps, in order of time.
  void load(const RunTrace& window) {
    counts_.clear();
    for (const TracedEvent& traced : window.events) {
      const TraceEvent& event = traced.event;
      if (event.kind == TraceKind::kPlan) counts_[{event.cause.branch, event.cause.step}] = event.bytes;
    }
  }
  // Takes the quarantines of the journal as they come: those before a commit count for it.
  void leave_out(const TracedEntry& quarantine) { quarantines_[quarantine.step].insert(quarantine.microbatch.value); }
  // Every step of a run has the same number: where the plan itself was lost with its process, the first one's counts.
  [[nodiscard]] std::set<std::uint32_t> of(const TracedEntry& commit) const {
    std::set<std::uint32_t> planned;
    const auto found = counts_.find(step_of(commit));
    const std::uint64_t count = found != counts_.end() ? found->second : first_count_;
    for (std::uint32_t index = 0; index < count; ++index) planned.insert(index);
    const auto left_out = quarantines_.find(commit.step);
    if (left_out == quarantines_.end()) return planned;
    for (const std::uint32_t microbatch : left_out->second) planned.erase(microbatch);
    return planned;
  }
  [[nodiscard]] std::size_t quarantined_step_count() const { return quarantines_.size(); }

 private:
  std::uint64_t first_count_;  // of the earliest step that a plan is known of
  std::map<Step, std::uint64_t> counts_;
  std::map<StepId, std::set<std::uint32_t>> quarantines_;
};

// Returns the journal position of each sync group when it began the epoch that it voted for.
std::map<Vote, JournalPosition> votes_of(const RunTrace& window) {
  std::map<Vote, JournalPosition> votes;
  for (const TracedEvent& traced : window.events) {
    if (traced.event.kind == TraceKind::kPhase) votes[*vote_of(traced.event)] = traced.event.cause.position;
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
  CommitCheck(const WindowedTrace& trace, const JournalCheck& journal, const PassingFacts& passing, SumDigests& sums,
              CheckReport& report)
      : trace_(trace.pieces.frame()),
        journal_(journal),
        passing_(passing),
        sums_(sums),
        report_(report),
        lacks_events_(std::ranges::any_of(
            trace_.lives, [](const ProcessLife& life) { return life.name == "spawner" && life.dropped > 0; })),
        about_(trace),
        plans_(passing.first_plan) {}

  // Takes the next entries of the journal.
  [[nodiscard]] Status take(const TracedJournal& entries) {
    const auto commits = entries.commits();
    CommitTopics topics(commits);
    std::size_t index = 0;
    std::size_t loaded = 0;
    for (const auto& [position, entry] : entries.entries()) {
      if (entry.kind == EntryKind::kCommit && index++ == loaded) {
        if (auto status = load(topics, commits, loaded); !status) return status;
        loaded = about_.end();
      }
      take(entry);
    }
    return Done{};
  }

  [[nodiscard]] std::size_t most_events() const { return about_.most_events(); }
  // How many things are kept from one step to another.
  [[nodiscard]] std::size_t size() const {
    return expected_.size() + view_.stage_of.size() + plans_.quarantined_step_count() + sums_.run_count();
  }

 private:
  // Loads what is about the commits from `begin` on.
  [[nodiscard]] Status load(CommitTopics& topics, const std::vector<const TracedEntry*>& commits, std::size_t begin) {
    if (auto loaded = about_.load(topics.query(begin)); !loaded) return loaded;
    plans_.load(about_.trace());
    votes_ = votes_of(about_.trace());
    accumulations_.emplace(about_.trace(), journal_.members(), passing_.signs);
    for (std::size_t index = begin; index < about_.end(); ++index) {
      for (const auto& [stage, part] : commits[index]->stages) sums_.take_commit(stage, part, commits[index]->step);
    }
    const auto& events = about_.trace().events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].event.kind == TraceKind::kDigest) sums_.take_sum(events[i], about_.order_of(i));
    }
    sums_.forget_commits();
    return Done{};
  }

  void take(const TracedEntry& entry) {
    const bool is_next = entry.position.value == before_.value + 1;
    if (!is_next && before_.value != 0) note_gap(before_, entry.position);
    view_.apply(entry, is_next);
    if (entry.kind == EntryKind::kAdd && view_.is_known) expected_[entry.branch] = {entry.step, 0};
    if (entry.kind == EntryKind::kQuarantine) plans_.leave_out(entry);
    if (entry.kind == EntryKind::kCommit) check(entry);
    before_ = entry.position;
  }

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
    const bool is_last = commit.position == journal_.last();
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
    const auto compared = accumulations_->compare(commit, share);
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
  [[nodiscard]] std::string name(Incarnation replica) const { return journal_.members().name_of(replica); }

  // Reports that a commit lacks something; only as a note where the spawner's trace lacks events and so proves nothing.
  void add_absence(Rule rule, std::string text) {
    if (!lacks_events_) return add(rule, std::move(text));
    report_.notes.push_back(std::move(text) + ", in a trace that lacks events");
  }

  const RunTrace& trace_;
  const JournalCheck& journal_;
  const PassingFacts& passing_;
  SumDigests& sums_;
  CheckReport& report_;
  bool lacks_events_;  // true: a spawner's trace does
  EventWindow about_;  // the commits that are checked
  Plans plans_;
  std::map<Vote, JournalPosition> votes_;
  std::optional<Accumulations> accumulations_;
  JournalPosition before_;
  TracedView view_;
  std::map<Branch, NextStep> expected_;
  std::set<std::string> noted_;
  std::string where_;
};

}  // namespace

Status check_commits(const WindowedTrace& trace, const JournalCheck& journal, const PassingFacts& passing,
                     SumDigests& sums, CheckReport& report) {
  CommitCheck check(trace, journal, passing, sums, report);
  CheckMemory entries;
  const auto take = [&](const EventWindow&, const TracedJournal& next) { return check.take(next); };
  const auto walked = walk_journal(trace, take, entries);
  report.memory.events = std::max(report.memory.events, entries.events + check.most_events());
  report.memory.facts = std::max(report.memory.facts, journal.size() + check.size());
  return walked;
}

}  // namespace shoal
