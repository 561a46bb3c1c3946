// Reads from a run's metrics.jsonl how it ended: its evaluations, and whether it finished.
//
// Broken lines and lines of other kinds are skipped: the file of a run that was killed reads as far as it got.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shoal {

struct RunEvaluation {
  std::uint64_t step = 0;  // steps applied
  double loss = 0;         // nats per token, of the validation text
  double bits_per_byte = 0;
  bool is_final = false;  // made on other text than the periodic ones: no point of their curve
};

struct RunOutcome {
  std::vector<RunEvaluation> evaluations;      // by step; of a step evaluated twice in one way the later one
  std::optional<std::uint64_t> finished_step;  // set when the last line says `finished`
  std::uint64_t tokens = 0;                    // trained on and kept
  std::uint64_t rounds = 0;                    // rounds (sync.mode = diloco) that the first stage has had
};

// Takes the file line by line.
class OutcomeReader {
 public:
  void add(std::string_view line);
  [[nodiscard]] const RunOutcome& outcome() const { return outcome_; }

 private:
  RunOutcome outcome_;
  std::set<std::string> rounds_;  // subjects of events: a resumed run repeats some
};

}  // namespace shoal
