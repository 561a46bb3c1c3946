// Spans of what lasts without being work, one after another: steps, and the phases of sync groups.
// Pure, from the trace and the journal in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/trace/report/run_trace.h"
#include "runtime/trace/report/traced_journal.h"

namespace shoal {

struct StateSpan {
  std::uint32_t actor = 0;  // index in RunTrace::actors
  std::uint32_t life = 0;
  Incarnation incarnation;
  std::string word;  // "preparing", "reducing", "voted"
  Branch branch;
  StepId step;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

// A sync group prepares, reduces and has voted, until the commit, the next order, or its end. While its replicas are
// open there is no span. Ascending by begin; disjoint per group.
[[nodiscard]] std::vector<StateSpan> group_phases(const RunTrace& trace, const TracedJournal& journal);

// The milestones of one step on the common line; those in no trace are absent (0 is never a milestone).
struct StepMilestones {
  std::int64_t planned_ns = 0;    // the data loader sent its first microbatch
  std::int64_t answered_ns = 0;   // and had the last answer
  std::int64_t reducing_ns = 0;   // the last stage was told to reduce
  std::int64_t voted_ns = 0;      // the last stage voted
  std::int64_t committed_ns = 0;  // the entry was durable

  // Takes one of the events about the step, which come in the order of time. When it was committed is known before.
  void take(const TracedEvent& traced);
};

// True where the data loader had the last answer of a step.
[[nodiscard]] bool is_answered(const TraceEvent& event);

// A committed step.
struct StepTimes : StepMilestones {
  Branch branch;
  StepId step;
  std::uint32_t life = 0;       // the spawner's that committed it
  std::int64_t applied_ns = 0;  // the last replica had applied it
  std::uint64_t microbatches = 0;
  std::uint64_t tokens = 0;
  bool is_skipped = false;
};

// Returns steps in the order of the journal. One that was trained again after a roll-back is there once per branch.
[[nodiscard]] std::vector<StepTimes> step_times(const RunTrace& trace, const TracedJournal& journal);

}  // namespace shoal
