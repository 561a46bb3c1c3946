// Checks from a run's trace alone that it kept its invariants (DESIGN.md §10: S-1, S-2, S-3, S-4, S-6).
//
// Manifests in commit records are authoritative: what a commit counted is what they say. What the replicas recorded
// must agree with them; an accumulation may be missing only for a replica whose process was cut off, and only when it
// can have happened in the last 200 ms of which there is a sign of life, which a killed process had not written yet.
// At level `lifecycle` replicas record no accumulations: the report says what therefore was not checked.
// Pure. Every violation names the rule, the step, the stage, the replica and what is wrong there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/trace/report/run_trace.h"
#include "runtime/trace/report/traced_journal.h"

namespace shoal {

inline constexpr std::int64_t kLastWordsNs = 200'000'000;  // a killed process may not have written so much of its end

enum class Rule : std::uint8_t { kExactlyOnce, kOneCommit, kEqualDigests, kView, kBounds, kTrace };

struct Violation {
  Rule rule = Rule::kTrace;
  std::string text;
  friend bool operator==(const Violation&, const Violation&) = default;
};

struct CheckCounts {
  std::uint64_t commits = 0;
  std::uint64_t branches = 0;
  std::uint64_t contributions = 0;  // (stage, microbatch) counted by commits
  std::uint64_t accumulations_seen = 0;
  std::uint64_t accumulations_excused = 0;  // by a process that was cut off
  std::uint64_t digests_compared = 0;
  std::uint64_t marks = 0;
};

struct CheckReport {
  std::vector<Violation> violations;
  std::vector<std::string> notes;  // say what could not be checked, and why
  CheckCounts counts;
  [[nodiscard]] bool is_good() const { return violations.empty(); }
};

[[nodiscard]] CheckReport check_trace(const RunTrace& trace);

// "S-1"; "trace" for a trace that cannot be a whole one.
[[nodiscard]] std::string_view name_of(Rule rule);
// "S-1 every planned microbatch is accumulated exactly once per stage in each committed step".
[[nodiscard]] std::string_view text_of(Rule rule);

// The parts of check_trace, each with a file of its own.
void check_commits(const RunTrace& trace, const TracedJournal& journal, CheckReport& report);  // S-1, S-4
void check_copies(const RunTrace& trace, const TracedJournal& journal, CheckReport& report);   // S-2, S-4
void check_digests(const RunTrace& trace, const TracedJournal& journal, CheckReport& report);  // S-3
void check_marks(const RunTrace& trace, CheckReport& report);                                  // S-6

}  // namespace shoal
