// The steps that the weights went through, with the tokens and the time that each took: a step that is trained again
// replaces itself and all later ones before.
//
// Successive steps of equally many tokens are kept together, and so is their time: of a part of them, the mean counts.
// That bounds the memory of a run of months.
#pragma once

#include <cstdint>
#include <vector>

namespace shoal {

struct HistorySum {
  std::uint64_t steps = 0;
  std::uint64_t tokens = 0;
  double ms = 0;
};

class StepHistory {
 public:
  void add(std::uint64_t step, std::uint64_t tokens, double ms = 0);
  // Returns the sum over the first so many steps, as far as they were added.
  [[nodiscard]] HistorySum up_to(std::uint64_t steps) const;

 private:
  struct Stretch {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;     // the first step beyond
    std::uint64_t tokens = 0;  // per step
    double ms = 0;             // for all steps
    // Returns the part without the steps from `step` on.
    [[nodiscard]] Stretch before(std::uint64_t step) const;
  };

  std::vector<Stretch> stretches_;  // ascending
};

}  // namespace shoal
