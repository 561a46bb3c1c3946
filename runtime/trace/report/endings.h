// How the lives in a trace ended, as far as the trace tells.
//
// A process writes that it ends in order; from another machine that word may not arrive. Then the spawner's word
// counts: it notes the nodes that left ("left node2"), and how the run ended.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/trace/report/run_trace.h"

namespace shoal {

// Between a process's last event and what others see of its end.
inline constexpr std::int64_t kPartingNs = 250'000'000;

enum class LifeEnd : std::uint8_t {
  kCutOff,   // killed, or crashed: nothing more was heard of it
  kInOrder,  // with the run, or to be started again
  kLeft,     // a person had asked it to leave
  kNotTold,  // its trace had no more room, and nobody else says
};

// True for an end that is known, and known to be no fault.
[[nodiscard]] constexpr bool is_orderly(LifeEnd end) { return end == LifeEnd::kInOrder || end == LifeEnd::kLeft; }

// Gathers what the events of a run say of how its lives ended, in any order. The lives outlive it.
class LifeEndings {
 public:
  explicit LifeEndings(const RunTrace& frame) : frame_(&frame), is_left_(frame.lives.size(), false) {}
  void take(const TracedEvent& traced);
  // Returns one for each life.
  [[nodiscard]] std::vector<LifeEnd> ends() const;

 private:
  const RunTrace* frame_;
  std::vector<bool> is_left_;              // by life: the spawner noted that it left
  std::optional<std::int64_t> finish_ns_;  // when the end of the run was recorded last
};

// One for each of the trace's lives.
[[nodiscard]] std::vector<LifeEnd> life_ends(const RunTrace& trace);

}  // namespace shoal
