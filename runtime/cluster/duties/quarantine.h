// Leaves out of its step the microbatch that ends whoever computes it (P-20a): the entry first, then whatever the loss
// brings about.
//
// Hears of an end before everybody else: what follows from it may send all replicas back to the same samples.
#pragma once

#include "runtime/cluster/recovery/poison.h"
#include "runtime/cluster/truth/truth.h"

namespace shoal {

class QuarantineDuty {
 public:
  explicit QuarantineDuty(const Truth& truth) : truth_(truth), poison_(truth.config.microbatches) {}

  [[nodiscard]] Answers on(const StageEnded& ended, Instant now);
  [[nodiscard]] Answers on(const Commit& commit, Instant now);

 private:
  const Truth& truth_;
  PoisonWatch poison_;
};

}  // namespace shoal
