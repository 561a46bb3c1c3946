// S-3: what replicas held after each commit, what they loaded, and the sums that were committed.
//
// Compares digests that come together, all states of a number of steps, all sums of an epoch, and keeps nothing of them
// after that.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/trace/report/check/findings.h"
#include "runtime/trace/report/even_runs.h"
#include "runtime/trace/report/run_trace.h"

namespace shoal {

// Digests that are compared, and what differs.
struct DigestFindings {
  std::uint64_t compared = 0;
  std::vector<TimedViolation> differences;
};

// Compares the states of replicas after as many steps as each other. The states of one number of steps, of all
// branches, come in the order of time, and before forget_states().
class StateDigests {
 public:
  // `begins`: with how many steps applied each branch begins.
  StateDigests(const RunTrace& frame, const TracedMembers& members, std::map<Branch, std::uint64_t> begins)
      : frame_(frame), members_(members), begins_(std::move(begins)) {}

  // Takes what is held after a step or was loaded; ignores other events. The event outlives the next forget_states().
  void take_state(const TracedEvent& traced, const EventOrder& order);
  void forget_states();
  // The most that it ever had between two of these.
  [[nodiscard]] std::size_t most_states() const { return most_states_; }

  [[nodiscard]] DigestFindings& findings() { return findings_; }
  // How many replicas reported a state and were added by no entry: theirs are not compared.
  [[nodiscard]] std::size_t never_added_count() const { return never_added_.size(); }

 private:
  // The first digest that a replica reported of something, and which replica.
  struct Reported {
    std::uint64_t digest = 0;
    const TracedEvent* by = nullptr;
  };
  // A stage of a model that is cut into so many: other cuts have other tensors in it (state_layout.h).
  struct Part {
    std::size_t stage_count = 0;
    StageId stage;
    std::uint64_t layout = 0;
    friend auto operator<=>(const Part&, const Part&) = default;
  };
  using Point = std::pair<Branch, std::uint64_t>;  // steps applied, on a branch

  void compare(const Point& point, const TracedEvent& traced, const EventOrder& order);
  [[nodiscard]] const Reported* on_older_branch(Point point, const Part& part) const;
  void compare_with(const Reported& known, const std::string& what, const TracedEvent& traced, const EventOrder& order);

  const RunTrace& frame_;
  const TracedMembers& members_;
  std::map<Branch, std::uint64_t> begins_;
  std::map<Point, std::map<Part, Reported>> states_;
  std::size_t most_states_ = 0;
  std::set<Incarnation> never_added_;
  DigestFindings findings_;
};

// Compares sums with what the commits of their epochs say; the last commit of an epoch counts, and there should be no
// other.
class SumDigests {
 public:
  SumDigests(const RunTrace& frame, const TracedMembers& members) : frame_(frame), members_(members) {}

  // Takes a part of the next commit, in the order of the journal, and then the sums of its epoch.
  void take_commit(StageId stage, const TracedStage& part, StepId step);
  void take_sum(const TracedEvent& traced, const EventOrder& order);
  // Forgets the commits so far, but not that they were.
  void forget_commits();

  [[nodiscard]] DigestFindings& findings() { return findings_; }
  // How many runs of epochs are kept.
  [[nodiscard]] std::size_t run_count() const;

 private:
  struct Committed {
    std::uint64_t digest = 0;
    StepId step;
  };

  const RunTrace& frame_;
  const TracedMembers& members_;
  std::map<std::pair<StageId, Epoch>, Committed> sums_;
  std::map<std::pair<StageId, Incarnation>, EvenRuns> before_;  // counters of the epochs of commits that were forgotten
  DigestFindings findings_;
};

}  // namespace shoal
