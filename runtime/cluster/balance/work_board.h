// Carries what replicas computed from the data loader, which reads it in the trails of answers, to the supervisor of
// the same process: both write and read whole values, nobody waits for the other.
//
// Bounded by the members of the run: one sum for each replica since it was read last (S-6).
#pragma once

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "messages/pipeline.h"
#include "runtime/cluster/balance/measured_speeds.h"

namespace shoal {

class WorkBoard {
 public:
  void add(const Backward& answer) {
    if (answer.purpose != Purpose::kTrain) return;
    const std::lock_guard lock(mutex_);
    for (const Hop& hop : answer.trail) {
      MeasuredWork& work = sums_.try_emplace(hop.replica, MeasuredWork{hop.replica, 0, 0}).first->second;
      work.computed_ms += static_cast<double>(hop.compute_ms);
      ++work.microbatches;
    }
  }
  // Returns what came since the last call.
  [[nodiscard]] std::vector<MeasuredWork> take() {
    std::map<Incarnation, MeasuredWork> sums;
    {
      const std::lock_guard lock(mutex_);
      sums = std::exchange(sums_, {});
    }
    std::vector<MeasuredWork> all;
    for (const auto& [replica, work] : sums) all.push_back(work);
    return all;
  }

 private:
  std::mutex mutex_;
  std::map<Incarnation, MeasuredWork> sums_;
};

}  // namespace shoal
