// Random pauses, so that processes that were stopped together do not all come back at once.
//
// Of a seed: the same seed draws the same numbers (counter_random.h).
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/base/clock.h"
#include "runtime/base/counter_random.h"

namespace shoal {

class Jitter {
 public:
  explicit Jitter(std::uint64_t seed) : seed_(seed) {}

  // The pause times a factor of [least, most), each equally likely.
  [[nodiscard]] Duration spread(Duration pause, double least, double most) {
    const auto words = philox4x32(philox_counter(draws_++, stream_of("jitter")), philox_key(seed_));
    const double factor = least + (most - least) * uniform01(words[0], words[1]);
    return std::chrono::duration_cast<Duration>(pause * factor);
  }

 private:
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
};

}  // namespace shoal
