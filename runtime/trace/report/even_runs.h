// Numbers that rise by one, each with a value that rises evenly: steps of a branch with the journal positions of their
// commits. A million of them is a few runs, and each place where values leap, or a number is left out, begins another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "messages/ids.h"

namespace shoal {

class EvenRuns {
 public:
  // Returns the value of a number; nothing: it is not there.
  [[nodiscard]] std::optional<std::uint64_t> find(std::uint64_t number) const;
  // Adds a number that is not there.
  void add(std::uint64_t number, std::uint64_t value);
  // How many runs are kept.
  [[nodiscard]] std::size_t size() const { return runs_.size(); }

 private:
  struct Run {
    std::uint64_t count = 1;
    std::uint64_t value = 0;   // of its first number
    std::uint64_t stride = 0;  // from one value to the next; modulo 2^64
  };

  std::map<std::uint64_t, Run> runs_;  // by their first number
};

// Steps of branches, each with a place in the order in which they were committed.
class StepPlaces {
 public:
  // Returns false where the step has a place: the first one counts.
  bool add(Branch branch, StepId step, std::uint64_t place);
  [[nodiscard]] std::optional<std::uint64_t> find(Branch branch, StepId step) const;

 private:
  std::map<Branch, EvenRuns> by_branch_;
};

}  // namespace shoal
