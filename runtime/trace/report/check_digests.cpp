// S-3: what replicas held after each commit, what they loaded, and the sums that were committed.
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "runtime/base/compose.h"
#include "runtime/trace/report/trace_check.h"

namespace shoal {
namespace {

// The first digest that anybody reported of something, and who.
struct Reported {
  std::uint64_t digest = 0;
  std::string who;
};

// Steps applied, of a stage, on a branch.
using State = std::tuple<Branch, std::uint64_t, StageId>;

class Digests {
 public:
  Digests(const RunTrace& trace, const TracedJournal& journal, CheckReport& report)
      : trace_(trace), journal_(journal), report_(report) {
    for (const TracedEntry* commit : journal.commits()) {
      for (const auto& [stage, part] : commit->stages) {
        sums_[{stage, part.epoch}] = {part.digest, compose("the commit of step ", commit->step)};
        stage_counts_[commit->branch] = commit->stages.size();
      }
    }
  }

  void take(const TracedEvent& traced) {
    const TraceEvent& event = traced.event;
    const StageId stage{event.cause.hop};
    if (event.detail_text() == "state") {
      compare({event.cause.branch, event.cause.step.value + 1, stage}, traced);
    } else if (event.detail_text() == "loaded") {
      compare({event.cause.branch, event.cause.step.value, stage}, traced);
    } else if (event.detail_text() == "sum") {
      const auto sum = sums_.find({stage, Epoch{Incarnation{event.subject}, event.cause.attempt}});
      if (sum != sums_.end()) judge(sum->second, traced, compose("the sum of epoch ", sum->first.second));
    }
  }

 private:
  void compare(const State& state, const TracedEvent& traced) {
    const auto [known, is_first] = states_.try_emplace(state);
    const auto& [branch, applied, stage] = state;
    if (is_first) {
      known->second = {traced.event.bytes, name(traced)};
      const Reported* before = on_older_branch(branch, applied, stage);
      if (before == nullptr) return;
      return judge(*before, traced,
                   compose("the state after ", applied, " steps, which branch ", branch, " begins with"));
    }
    judge(known->second, traced, compose("the state after ", applied, " steps of branch ", branch));
  }

  // A branch goes on from a state of the newest branch before it that had come so far.
  [[nodiscard]] const Reported* on_older_branch(Branch branch, std::uint64_t applied, StageId stage) const {
    while (branch.value > 0) {
      --branch.value;
      const auto found = states_.find({branch, applied, stage});
      if (found == states_.end()) continue;
      const auto counts = [this](Branch of) {
        const auto known = stage_counts_.find(of);
        return known == stage_counts_.end() ? 0 : known->second;
      };
      return counts(branch) == counts(Branch{branch.value + 1}) ? &found->second : nullptr;
    }
    return nullptr;
  }

  void judge(const Reported& known, const TracedEvent& traced, const std::string& what) {
    ++report_.counts.digests_compared;
    if (known.digest == traced.event.bytes) return;
    report_.violations.push_back(
        {Rule::kEqualDigests, compose("stage ", traced.event.cause.hop, ", ", what, ": ", known.who, " has digest ",
                                      std::hex, known.digest, ", ", name(traced), " has ", traced.event.bytes)});
  }

  [[nodiscard]] std::string name(const TracedEvent& traced) const {
    return compose(journal_.name_of(traced.event.incarnation), " in ", trace_.life_of(traced).name);
  }

  const RunTrace& trace_;
  const TracedJournal& journal_;
  CheckReport& report_;
  std::map<State, Reported> states_;
  std::map<std::pair<StageId, Epoch>, Reported> sums_;
  std::map<Branch, std::size_t> stage_counts_;
};

}  // namespace

void check_digests(const RunTrace& trace, const TracedJournal& journal, CheckReport& report) {
  Digests digests(trace, journal, report);
  for (const TracedEvent& traced : trace.events) {
    if (traced.event.kind == TraceKind::kDigest) digests.take(traced);
  }
}

}  // namespace shoal
