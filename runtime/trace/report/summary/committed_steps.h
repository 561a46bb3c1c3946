// The steps that a run committed, as its trace tells, and the parts of the time from one commit to the next.
//
// Keeps 72 bytes for each entry of the journal, nearly all of which are commits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/trace/report/even_runs.h"
#include "runtime/trace/report/run_trace.h"
#include "runtime/trace/report/state_spans.h"

namespace shoal {

// All events are noted, in the order of their numbers (event_pieces.h). Then the commits are chosen; then the events
// about steps are taken, in the order of time.
class CommittedSteps {
 public:
  void note(const RunTrace& frame, const TracedEvent& traced);
  void choose();
  void take(const TracedEvent& traced);

  // How many steps there are. One that was trained again after a roll-back is there once per branch.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // True where an event says that a step had all answers: level `all`. Without any, no event need be taken.
  [[nodiscard]] bool has_answers() const { return has_answers_; }
  // Returns the table of the parts of a step.
  [[nodiscard]] std::string text() const;

 private:
  struct Entry {
    StepMilestones times;        // those of its step; committed_ns: of its earliest record
    std::int64_t record_ns = 0;  // of the record that counts
    StepId step;
    Branch branch;
    std::uint32_t life = 0;
    std::uint8_t place = 0;  // in its block
    bool is_from_spawner = false;
    bool is_commit = false;  // after choose(): the commit of its step
  };
  static_assert(sizeof(Entry) <= 72);
  static constexpr std::uint64_t kBlock = 256;
  using Block = std::vector<Entry>;  // entries of as many positions at most, in their order

  void record(const RunTrace& frame, const TracedEvent& traced);

  std::map<std::uint64_t, Block> blocks_;
  StepPlaces positions_;  // of the commits
  std::uint64_t count_ = 0;
  bool has_answers_ = false;
};

}  // namespace shoal
