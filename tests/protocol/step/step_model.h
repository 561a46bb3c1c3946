// The step protocol as an explorer sees it: where a run begins, what may happen next, what must never be, where it
// ends.
//
// Two stages or three of up to two replicas and a joiner each, their routers, one sync group per stage, the data loader
// and the supervisor with its journal. The moves of each actor stand in a file of its own.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tests/protocol/explore/model.h"
#include "tests/protocol/step/rules.h"
#include "tests/protocol/step/state.h"

namespace shoal::protocol {

// The extent of a search: the size of the run and the faults that may come, in any order and at any moment.
struct Scope {
  int microbatches = 1;
  int steps = 2;
  std::array<int, kStages> replicas = {2, 2, 0};
  int epochs = 3;  // that an incarnation of a group may begin in all
  std::array<Byte, kFaults> budget{};
  [[nodiscard]] int stages() const { return replicas[2] > 0 ? 3 : 2; }
  bool is_lazy = false;  // moves that only enable others are moves too, and not made at once
};

class StepModel {
 public:
  using State = protocol::State;

  StepModel(const Scope& searched, const Rules& kept)
      : scope(searched), rules(kept), is_eager(!searched.is_lazy && removed_rules(kept).empty()) {}

  [[nodiscard]] State initial() const;
  void successors(const State& state, Pace pace, Sink<State>& sink) const;
  // One number for all states that differ by the names of replicas or microbatches only.
  [[nodiscard]] std::uint64_t fingerprint(const State& state) const;

  // All steps are committed, and every living member has applied them.
  [[nodiscard]] bool is_finished(const State& state) const;
  // A stage has nobody left: the run rolls back (P-29), which is not a matter of the step.
  [[nodiscard]] bool is_exempt(const State& state) const;
  // The same state with every message lost and no fault to come.
  [[nodiscard]] State becalmed(const State& state) const;
  // Tells if a move spent one of the faults that may come.
  [[nodiscard]] bool is_fault(const State& before, const State& after) const { return before.budget != after.budget; }
  // Grows towards the end of a run: the order in which a search for the end looks at states.
  [[nodiscard]] int progress(const State& state) const;

  [[nodiscard]] std::string describe(const State& state) const;
  [[nodiscard]] std::string name() const;

  // Returns the microbatches that the step at a position of the journal counts, one bit each.
  [[nodiscard]] int plan_at(const State& state, int position) const {
    return ((1 << scope.microbatches) - 1) & ~state.left_out_at(position);
  }
  // The property that this state breaks, or nullptr: whatever is in flight or answered has somebody who would send it
  // again. Safety is looked at where a replica applies and where the supervisor commits.
  [[nodiscard]] const char* broken_in(const State& state) const;
  // A vote that the journal has overtaken: an entry behind its position changed the stage (P-22).
  [[nodiscard]] bool is_overtaken(const State& state, Message vote) const;

  const Scope scope;
  const Rules rules;
  // Makes moves that only enable others at once: sound with all rules in force, because the set of messages only grows.
  const bool is_eager;
};

}  // namespace shoal::protocol
