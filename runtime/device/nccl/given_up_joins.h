// Counts the communicators of a process that were begun and never came together.
//
// NCCL leaves a thread and three files behind for each (cuda/FACTS.md), whoever aborts it. So a process begins no more
// once kGivenUpJoinsMax of them are open or given up: its members say so, and their stages sum over the ring until the
// process is started again. Bounded (S-6). Thread-safe: each stage of a process has a thread that makes communicators.
#pragma once

#include <cstdint>
#include <mutex>

namespace shoal {

inline constexpr std::uint32_t kGivenUpJoinsMax = 64;

class GivenUpJoins {
 public:
  // False: there were too many, and none is begun.
  [[nodiscard]] bool begin() {
    const std::lock_guard lock(mutex_);
    if (begun_ >= kGivenUpJoinsMax) return false;
    ++begun_;
    return true;
  }
  // One that was begun has all its members.
  void came_together() {
    const std::lock_guard lock(mutex_);
    if (begun_ > 0) --begun_;
  }

 private:
  std::mutex mutex_;
  std::uint32_t begun_ = 0;  // and not together
};

}  // namespace shoal
