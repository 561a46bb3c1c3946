// One sentence per kind of event that is worth one.
#include "runtime/trace/picture/moments.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "runtime/base/compose.h"
#include "runtime/trace/report/endings.h"
#include "runtime/trace/run_event_detail.h"

namespace shoal {
namespace {

constexpr std::size_t kMomentsMax = 12;

// Returns a caption for what the supervisor and the sync groups tell people; empty for what is left out.
std::string sentence_of(const TracedRunEvent& told) {
  static const std::map<RunEventKind, std::string> kSentences = {
      {RunEventKind::kProcessLost, "the spawner notices that a process is gone:"},
      {RunEventKind::kProcessLeft, "a process leaves, as it was asked to:"},
      {RunEventKind::kStageEnded, "a replica ends:"},
      {RunEventKind::kStageLost, "a stage has no replica left:"},
      {RunEventKind::kJoined, "a process joins:"},
      {RunEventKind::kReturned, "a process comes back:"},
      {RunEventKind::kMoving, "a replica is to move to a stage that needs it more:"},
      {RunEventKind::kMoved, "a replica that has moved serves:"},
      {RunEventKind::kRolledBack, "the run goes back to its newest checkpoint"},
      {RunEventKind::kResumed, "the run goes on"},
      {RunEventKind::kTraining, "all replicas are ready: training goes on"},
      {RunEventKind::kRestarted, "the supervisor starts an actor again:"},
      {RunEventKind::kMicrobatchMissing,
       "microbatches that only the dead replica had counted are asked for again, stage"},
      {RunEventKind::kMicrobatchTwice, "a microbatch was computed twice: the stage is zeroed and replayed, stage"},
      {RunEventKind::kCheckpoint, "a checkpoint is on disk:"}};
  const auto found = kSentences.find(told.kind);
  if (found == kSentences.end()) return {};
  return found->second.ends_with(':') ? compose(found->second, " ", told.subject) : found->second;
}

class Moments {
 public:
  Moments(const RunTrace& trace, const TracedJournal& journal) : trace_(trace), journal_(journal) {}

  void add_deaths() {
    std::int64_t end_ns = 0;
    for (const ProcessLife& life : trace_.lives) end_ns = std::max(end_ns, life.end_ns);
    const auto ends = life_ends(trace_);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const ProcessLife& life = trace_.lives[i];
      if (ends[i] != LifeEnd::kCutOff || life.end_ns == end_ns) continue;
      add(life.end_ns, life.name + " is killed: nothing more is heard of it", true);
      faults_.push_back(life.end_ns);
    }
  }
  void add_told() {
    for (const TracedEvent& traced : trace_.events) {
      const TraceEvent& event = traced.event;
      const bool is_told = event.kind == TraceKind::kFault || event.kind == TraceKind::kNote ||
                           event.kind == TraceKind::kRestart || event.kind == TraceKind::kRollBack;
      const auto told = run_event_of(event.detail_text());
      if (!is_told || !told) continue;
      std::string text = sentence_of(*told);
      if (text.ends_with("stage")) text += compose(" ", event.cause.hop);
      const bool is_fault = told->kind == RunEventKind::kStageEnded;  // by itself; with its process, that one is lost
      if (is_fault) faults_.push_back(traced.time_ns);
      if (!text.empty()) add(traced.time_ns, text, is_fault);
    }
  }
  void add_views() {
    for (const auto& [position, entry] : journal_.entries()) {
      const std::string replica = journal_.name_of(Incarnation{entry.subject});
      if (entry.kind == EntryKind::kRemove) {
        add(entry.time_ns, compose(replica, " leaves the view (journal position ", position, ")"), false);
      } else if (entry.kind == EntryKind::kAdd) {
        add(entry.time_ns, compose(replica, " is in the view, at version ", entry.step, " (position ", position, ")"),
            false);
      }
    }
  }
  // The first commit after each fault, and what it took.
  void add_recoveries() {
    const auto commits = journal_.commits();
    std::set<const TracedEntry*> told;
    std::ranges::sort(faults_);
    for (const std::int64_t fault : faults_) {
      const auto commit = std::ranges::find_if(commits, [&](const TracedEntry* one) { return one->time_ns > fault; });
      if (commit == commits.end() || !told.insert(*commit).second) continue;
      add((*commit)->time_ns, compose("step ", (*commit)->step, " is committed: every microbatch counted exactly once"),
          false);
    }
  }
  [[nodiscard]] std::vector<SceneMoment> take(std::int64_t begin_ns, std::int64_t end_ns) && {
    // The begin of a run is not its story, unless nothing happened to it.
    if (!faults_.empty()) begin_ns = std::max(begin_ns, *std::ranges::min_element(faults_));
    std::erase_if(moments_,
                  [&](const SceneMoment& moment) { return moment.time_ns < begin_ns || moment.time_ns > end_ns; });
    std::ranges::stable_sort(moments_, {}, &SceneMoment::time_ns);
    if (moments_.size() > kMomentsMax) moments_.resize(kMomentsMax);
    return std::move(moments_);
  }

 private:
  void add(std::int64_t time_ns, std::string text, bool is_fault) {
    moments_.push_back({time_ns, std::move(text), is_fault});
  }

  const RunTrace& trace_;
  const TracedJournal& journal_;
  std::vector<std::int64_t> faults_;  // deaths of processes, and replicas that end in one that lives
  std::vector<SceneMoment> moments_;
};

}  // namespace

std::vector<SceneMoment> moments_of(const RunTrace& trace, const TracedJournal& journal, std::int64_t begin_ns,
                                    std::int64_t end_ns) {
  Moments moments(trace, journal);
  moments.add_deaths();
  moments.add_told();
  moments.add_views();
  moments.add_recoveries();
  return std::move(moments).take(begin_ns, end_ns);
}

}  // namespace shoal
