// Which workers could not start a replica, and whether it is of any use to try another.
//
// Three nodes say that nobody can; one node, however many devices it has, says nothing of the others while there are
// some. Where all who are left have failed it is over too, but not at once: what failed may have been passing.
//
// Bounded (S-6): the workers of kNodesMax nodes. Pure values.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "runtime/base/bound.h"

namespace shoal {

class FailedStarts {
 public:
  static inline const Bound kNodesMax{"supervision.nodes_that_cannot_start", 3};
  static inline const Bound kFailuresMax{"supervision.failed_starts", 3};

  void add(const std::string& worker, const std::string& node) {
    workers_.insert(worker);
    nodes_.insert(node);
    ++failures_;
  }
  [[nodiscard]] bool contains(const std::string& worker) const { return workers_.contains(worker); }
  // others: workers that have not failed and could be asked.
  [[nodiscard]] bool are_hopeless(std::size_t others) const {
    return kNodesMax.is_reached_by(nodes_.size()) || (others == 0 && kFailuresMax.is_reached_by(failures_));
  }

 private:
  std::set<std::string> workers_, nodes_;
  std::size_t failures_ = 0;
};

}  // namespace shoal
