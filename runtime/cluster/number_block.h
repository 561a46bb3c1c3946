// Incarnations that were reserved durably ahead of time (P-4): taken one after the other, none of them twice. Whoever
// takes reserves the next block while this one still has some.
#pragma once

#include <cstdint>

#include "runtime/base/check.h"

namespace shoal {

class NumberBlock {
 public:
  NumberBlock() = default;
  NumberBlock(std::uint64_t first, std::uint64_t count) : next_(first), end_(first + count) {}

  [[nodiscard]] std::uint64_t left() const { return end_ - next_; }
  // The one that take() gives.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  std::uint64_t take() {
    CHECK(left() > 0, "incarnations are reserved ahead");
    return next_++;
  }

 private:
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace shoal
