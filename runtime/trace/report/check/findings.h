// Findings of a check: violations of invariants, notes on what could not be checked, counts.
//
// Checks of events give them as they go through the trace, in whatever order; they are told in the order of time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/trace/report/traced_journal.h"

namespace shoal {

enum class Rule : std::uint8_t { kExactlyOnce, kOneCommit, kEqualDigests, kView, kBounds, kTrace };

struct Violation {
  Rule rule = Rule::kTrace;
  std::string text;
  friend bool operator==(const Violation&, const Violation&) = default;
};

// A violation by one event.
struct TimedViolation {
  EventOrder order;
  Violation violation;
};

// Appends them in the order of time. Those of one event keep their order.
inline void append_in_order(std::vector<TimedViolation> findings, std::vector<Violation>& out) {
  std::ranges::stable_sort(findings, {}, &TimedViolation::order);
  for (TimedViolation& finding : findings) out.push_back(std::move(finding.violation));
}

struct CheckCounts {
  std::uint64_t commits = 0;
  std::uint64_t branches = 0;
  std::uint64_t contributions = 0;  // (stage, microbatch) counted by commits
  std::uint64_t accumulations_seen = 0;
  std::uint64_t accumulations_excused = 0;  // by a process that was cut off
  std::uint64_t digests_compared = 0;
  std::uint64_t marks = 0;
  friend bool operator==(const CheckCounts&, const CheckCounts&) = default;
};

// The most that a check remembered at once.
struct CheckMemory {
  std::size_t events = 0;  // in windows
  std::size_t states = 0;  // of replicas, one for each part that is compared
  std::size_t facts = 0;   // beyond them: replicas, cuts, quarantines, runs of steps and of epochs
};

struct CheckReport {
  std::vector<Violation> violations;
  std::vector<std::string> notes;  // say what could not be checked, and why
  CheckCounts counts;
  CheckMemory memory;
  [[nodiscard]] bool is_good() const { return violations.empty(); }
};

}  // namespace shoal
