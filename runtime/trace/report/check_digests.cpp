// S-3: what replicas held after each commit, what they loaded, and the sums that were committed.
#include <map>
#include <set>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/trace/report/trace_check.h"

namespace shoal {
namespace {

// The first digest that a replica reported of something, and which replica: there are some for each step of a run.
struct Reported {
  std::uint64_t digest = 0;
  const TracedEvent* by = nullptr;
};

// The digest of a sum, in the commit of a step.
struct Committed {
  std::uint64_t digest = 0;
  StepId step;
};

// A stage of a model that is cut into so many: other cuts have other tensors in it (state_layout.h).
struct Part {
  std::size_t stage_count = 0;
  StageId stage;
  std::uint64_t layout = 0;
  friend auto operator<=>(const Part&, const Part&) = default;
};

// Steps applied, on a branch.
using Point = std::pair<Branch, std::uint64_t>;

class Digests {
 public:
  Digests(const RunTrace& trace, const TracedJournal& journal, CheckReport& report)
      : trace_(trace), journal_(journal), report_(report) {
    for (const TracedEntry* commit : journal.commits()) {
      for (const auto& [stage, part] : commit->stages) {
        sums_[{stage, part.epoch}] = {part.digest, commit->step};
      }
    }
    for (const auto& [position, entry] : journal.entries()) {
      if (entry.kind == EntryKind::kAdd) begins_.try_emplace(entry.branch, entry.step.value);
    }
  }

  void take(const TracedEvent& traced) {
    const TraceEvent& event = traced.event;
    const StageId stage{event.cause.hop};
    if (event.detail_text() == "state") {
      compare({event.cause.branch, event.cause.step.value + 1}, traced);
    } else if (event.detail_text() == "loaded") {
      compare({event.cause.branch, event.cause.step.value}, traced);
    } else if (event.detail_text() == "sum") {
      const auto sum = sums_.find({stage, Epoch{Incarnation{event.subject}, event.cause.attempt}});
      if (sum == sums_.end() || !differs(sum->second.digest, traced)) return;
      tell(compose("the sum of epoch ", sum->first.second), compose("the commit of step ", sum->second.step),
           sum->second.digest, traced);
    }
  }

  void note_what_is_missing() {
    if (never_added_.empty()) return;
    report_.notes.push_back(compose("no journal entry adds ", counted(never_added_.size(), "replica"),
                                    " that reported what is held there: it was not compared"));
  }

 private:
  void compare(const Point& point, const TracedEvent& traced) {
    const auto stage_count = journal_.stage_count_of(traced.event.incarnation);
    if (!stage_count) {
      never_added_.insert(traced.event.incarnation);
      return;
    }
    const Part part{*stage_count, StageId{traced.event.cause.hop}, traced.event.subject};
    const auto [known, is_first] = states_[point].try_emplace(part);
    const auto& [branch, applied] = point;
    if (is_first) {
      known->second = {traced.event.bytes, &traced};
      const Reported* before = on_older_branch(point, part);
      if (before == nullptr || !differs(before->digest, traced)) return;
      return tell(compose("the state after ", applied, " steps, which branch ", branch, " begins with"),
                  name(*before->by), before->digest, traced);
    }
    if (!differs(known->second.digest, traced)) return;
    tell(compose("the state after ", applied, " steps of branch ", branch), name(*known->second.by),
         known->second.digest, traced);
  }

  // A branch goes on from a state of the newest branch before it that had come so far. What it makes of the steps that
  // follow may be something else.
  [[nodiscard]] const Reported* on_older_branch(Point point, const Part& part) const {
    const auto begin = begins_.find(point.first);
    if (begin == begins_.end() || begin->second != point.second) return nullptr;
    while (point.first.value > 0) {
      --point.first.value;
      const auto found = states_.find(point);
      if (found == states_.end()) continue;
      const auto known = found->second.find(part);
      return known == found->second.end() ? nullptr : &known->second;
    }
    return nullptr;
  }

  [[nodiscard]] bool differs(std::uint64_t known, const TracedEvent& traced) {
    ++report_.counts.digests_compared;
    return known != traced.event.bytes;
  }
  void tell(const std::string& what, const std::string& who, std::uint64_t known, const TracedEvent& traced) {
    report_.violations.push_back(
        {Rule::kEqualDigests, compose("stage ", traced.event.cause.hop, ", ", what, ": ", who, " has digest ", std::hex,
                                      known, ", ", name(traced), " has ", traced.event.bytes)});
  }

  [[nodiscard]] std::string name(const TracedEvent& traced) const {
    return compose(journal_.name_of(traced.event.incarnation), " in ", trace_.life_of(traced).name);
  }

  const RunTrace& trace_;
  const TracedJournal& journal_;
  CheckReport& report_;
  std::map<Point, std::map<Part, Reported>> states_;
  std::map<std::pair<StageId, Epoch>, Committed> sums_;
  std::map<Branch, std::uint64_t> begins_;  // with so many steps applied
  std::set<Incarnation> never_added_;
};

}  // namespace

void check_digests(const RunTrace& trace, const TracedJournal& journal, CheckReport& report) {
  Digests digests(trace, journal, report);
  for (const TracedEvent& traced : trace.events) {
    if (traced.event.kind == TraceKind::kDigest) digests.take(traced);
  }
  digests.note_what_is_missing();
}

}  // namespace shoal
