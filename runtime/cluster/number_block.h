// Incarnations that were reserved durably ahead of time (P-4): taken one after the other, none of them twice. Whoever
// takes reserves the next block while this one still has some.
#pragma once

#include <algorithm>
#include <cstdint>

#include "messages/ids.h"
#include "runtime/base/bound.h"
#include "runtime/base/ensure.h"

namespace shoal {

class NumberBlock {
 public:
  NumberBlock() = default;
  NumberBlock(std::uint64_t first, std::uint64_t count) : next_(first), end_(first + count) {}

  [[nodiscard]] std::uint64_t left() const { return end_ - next_; }
  // The one that take() gives.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  std::uint64_t take() {
    ENSURE(left() > 0, "incarnations are reserved ahead");
    return next_++;
  }

 private:
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
};

enum class NumberKind : std::uint8_t { kProcess, kActor };

// The numbers that one term of a spawner gives: to processes that join, and to the actors that it has started.
class ReservedNumbers {
 public:
  static inline const Bound kLeftMin{"supervision.numbers_left", 128};

  void reserved(NumberKind kind, std::uint64_t first, std::uint64_t count) {
    const bool is_process = kind == NumberKind::kProcess;
    if (is_process && first_process_ == 0) first_process_ = first;
    (is_process ? processes_ : actors_) = NumberBlock(first, count);
  }
  // So few are left that the next block is to be reserved now: fewer than may be taken before it is there.
  [[nodiscard]] bool is_low(NumberKind kind, std::uint64_t at_once) const {
    const std::uint64_t left = (kind == NumberKind::kProcess ? processes_ : actors_).left();
    return kLeftMin.reached_if(left < std::max<std::uint64_t>(kLeftMin, at_once));
  }

  // The one that take_process() gives.
  [[nodiscard]] ProcessIncarnation next_process() const { return ProcessIncarnation{processes_.next()}; }
  ProcessIncarnation take_process() { return ProcessIncarnation{processes_.take()}; }
  [[nodiscard]] Incarnation take_actor() { return Incarnation{actors_.take()}; }

  // An earlier term gave it.
  [[nodiscard]] bool is_of_earlier_term(ProcessIncarnation process) const { return process.value < first_process_; }

 private:
  NumberBlock processes_, actors_;
  std::uint64_t first_process_ = 0;  // the lowest that this term may give
};

}  // namespace shoal
