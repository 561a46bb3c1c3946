// The facts in the lines of metrics.jsonl that sums are made of. A file of a month has a million lines: they are
// searched for the few numbers that count, not parsed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "messages/values/run_events.h"
#include "runtime/base/time/utc_time.h"

namespace shoal {

// The parts of a step line's "bytes": activation, gradient, reduce, state, control, checkpoint (0 in lines of a version
// that counted it as state).
using LineBytes = std::array<std::uint64_t, 6>;

struct StepFacts {
  std::uint64_t step = 0;
  std::uint64_t tokens = 0;
  std::uint64_t retried = 0;
  std::uint64_t lost_tokens = 0;
  std::uint64_t approximated = 0;  // microbatches; 0 without rounds
  double step_ms = 0;              // 0: not known
  bool is_partly_timed = false;    // step_ms is of the rest of it
  double wait_ms = 0;              // idle; 0 where nobody measured
  bool is_of_one_process = false;  // no journal has it
  bool is_filled = false;          // told from the journal after the step's own metrics actor had died
  std::optional<LineBytes> bytes;  // nothing where nobody counted
  std::optional<WallTime> at;
};

struct EventFacts {
  std::optional<RunEventKind> kind;  // nothing for a word that no kind has
  std::string_view subject;          // empty where it has none
  double eval_ms = 0;                // for an evaluation; 0: not known
  std::uint64_t saved_bytes = 0;     // for a checkpoint; 0: not known
  double saved_s = 0;                // how long it took
  std::uint64_t lost_lines = 0;      // for lines that could not be written
  // For a roll-back: the branch that begins with it. Nothing: its words do not say.
  std::optional<std::uint64_t> branch;
  std::optional<WallTime> at;
};

// Holds nothing where the line is torn, or says neither. The texts are parts of the line.
using LineFacts = std::variant<std::monostate, StepFacts, EventFacts>;
[[nodiscard]] LineFacts facts_of(std::string_view line);
// Returns by how many ms the machine's clock was set before this line; 0: the line does not say so.
[[nodiscard]] std::int64_t clock_set_ms(std::string_view line);

}  // namespace shoal
