// Keeps how fast each worker computes, measured by what its replicas say of their microbatches.
//
// A worker's speed is the work of its microbatches divided by the time that it computed them in: waiting is no part of
// it, so a fast worker that has little to do is known to be fast. A moving average, for single microbatches are noisy.
// A worker of which nothing is known is as fast as the others on average. Pure. Bounded: one number for each process
// that lives (S-6).
#pragma once

#include <cstdint>
#include <map>

#include "messages/ids.h"

namespace shoal {

// Work that a replica did since it was asked last.
struct MeasuredWork {
  Incarnation replica;
  double computed_ms = 0;
  std::uint32_t microbatches = 0;
};

class MeasuredSpeeds {
 public:
  static constexpr double kNewestWeight = 0.1;  // of a microbatch in the moving average

  // Each of the microbatches was so much work, and was done by this process.
  void hear(ProcessIncarnation process, double load, const MeasuredWork& work);
  void forget(ProcessIncarnation process) { speeds_.erase(process); }

  // Returns work per second; 1 while nobody is measured.
  [[nodiscard]] double of(ProcessIncarnation process) const;

 private:
  std::map<ProcessIncarnation, double> speeds_;
};

}  // namespace shoal
