// Remembers which workers could not start a replica, and says when it is of no use to go on with this start.
//
// A state that one worker of a stage has loaded can be loaded: the others of the stage may be exchanged, and nobody
// else ends for them. While none has, three nodes say that nobody can, once they are as many as those that still try:
// of the stage, or of the whole run. One node, however many devices it has, says nothing of the others while there are
// some. Where all who are left have failed it is over too, but not at once: what failed may have been passing. So it is
// beside others of the stage that are ready, where the run does not begin with so few.
// Workers that failed are remembered over all tries from the same state, so that others are asked before them.
//
// Bounded (S-6): kRememberedMax workers. Pure values.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "messages/ids.h"
#include "runtime/base/bound.h"

namespace shoal {

// Tells how far the replicas of a stage are, or those of all stages.
struct StartTally {
  std::size_t ready = 0;
  std::size_t trying = 0;  // on workers that have not failed in this try
  std::size_t needed = 1;  // of a stage: the run does not begin with fewer
};

class FailedStarts {
 public:
  static inline const Bound kNodesMax{"supervision.nodes_that_cannot_start", 3};
  static inline const Bound kFailuresMax{"supervision.failed_starts", 3};
  static inline const Bound kRememberedMax{"supervision.workers_that_could_not_start", 1000};

  // worker: of that node.
  void add(StageId stage, const std::string& worker, const std::string& node) {
    remember(now_, worker);
    remember(ever_, worker);
    remember(nodes_, node);
    remember(nodes_of_[stage], node);
    ++failures_;
  }
  // All start again from the same state.
  void begin_again() {
    FailedStarts next;
    next.ever_ = std::move(ever_);
    *this = std::move(next);
  }
  [[nodiscard]] bool contains(const std::string& worker) const { return ever_.contains(worker); }
  [[nodiscard]] bool has_failed_now(const std::string& worker) const { return now_.contains(worker); }
  // stage: where the last one failed. others: workers that have not failed and could be asked.
  [[nodiscard]] bool are_hopeless(StageId stage, StartTally of_stage, StartTally of_all, std::size_t others) const {
    const auto failed = nodes_of_.find(stage);
    const bool can_nobody = are_too_many(failed == nodes_of_.end() ? 0 : failed->second.size(), of_stage) ||
                            are_too_many(nodes_.size(), of_all);
    const bool is_served = of_stage.ready >= of_stage.needed;
    const bool is_nobody_left = !is_served && others == 0 && of_stage.trying == 0;
    return can_nobody || (is_nobody_left && kFailuresMax.is_reached_by(failures_));
  }

 private:
  static void remember(std::set<std::string>& names, const std::string& name) {
    names.insert(name);
    if (kRememberedMax.is_exceeded_by(names.size())) names.erase(names.begin());
  }
  [[nodiscard]] static bool are_too_many(std::size_t nodes, const StartTally& tally) {
    return tally.ready == 0 && nodes >= tally.trying && kNodesMax.is_reached_by(nodes);
  }

  std::set<std::string> now_, nodes_;  // in this try
  std::map<StageId, std::set<std::string>> nodes_of_;
  std::set<std::string> ever_;  // workers, in all tries from this state
  std::size_t failures_ = 0;    // in this try
};

}  // namespace shoal
