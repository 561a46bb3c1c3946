// Tells what befell the processes of a run: faults, restarts, links that were lost, roll-backs, things dropped.
// Keeps the first forty lines, and how many there are.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/trace/report/endings.h"
#include "runtime/trace/report/run_trace.h"

namespace shoal {

class Happenings {
 public:
  // The lives outlive it; `ends` has one for each.
  Happenings(const RunTrace& frame, std::vector<LifeEnd> ends) : frame_(frame), ends_(std::move(ends)) {}

  // Takes the events in the order of time.
  void take(const TracedEvent& traced);
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] bool is_parting(const TracedEvent& traced) const;

  const RunTrace& frame_;
  std::vector<LifeEnd> ends_;
  std::map<std::string, std::uint64_t> counts_;  // by kind
  std::vector<std::string> lines_;               // the first ones
  std::uint64_t line_count_ = 0;
  std::set<Branch> left_;
};

}  // namespace shoal
