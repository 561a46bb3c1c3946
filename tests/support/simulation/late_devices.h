// Devices of a simulated swarm that end their jobs later, in order, at times drawn from the seed; and keep to
// themselves what they compute: activations and gradients are resident, ready some time after they were given away.
//
// One actor has the time for all devices, and copies for all routers. A device that is gone tells nobody anything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "messages/actor_types.h"
#include "runtime/pipeline/job_runner.h"
#include "tests/support/simulation/clockwork.h"

namespace shoal {

struct LateCounts {
  std::uint64_t late_ends = 0;  // jobs that ended after the call that began them
  std::uint64_t most_under_way = 0;
  std::uint64_t copies = 0;  // tensors that left a process
};

class LateDevices {
 public:
  explicit LateDevices(SimulationClockwork& clockwork);
  ~LateDevices();
  LateDevices(const LateDevices&) = delete;
  LateDevices& operator=(const LateDevices&) = delete;

  // Passes take so long from now on, one after the other, and none ends at once.
  void take_in_passes(Duration pass) { pass_takes_ = pass; }
  // Makes the device of one stage.
  [[nodiscard]] std::unique_ptr<JobRunner> make_runner(std::unique_ptr<StageExecutor> executor, TellJobEnd tell);
  // For RouterConfig.
  [[nodiscard]] const caf::actor& copier() const { return actor_; }
  [[nodiscard]] const LateCounts& counts() const { return counts_; }

  // For devices.
  [[nodiscard]] LateCounts& counts() { return counts_; }
  [[nodiscard]] std::uint64_t draw(std::uint64_t bound) { return clockwork_->draw(bound); }
  [[nodiscard]] Duration pass_takes() const { return pass_takes_; }
  // Calls it within the next milliseconds.
  void later(std::function<void()> call) {
    after(std::chrono::microseconds(draw(kLongestMicroseconds)), std::move(call));
  }
  void after(Duration wait, std::function<void()> call);

 private:
  [[nodiscard]] caf::behavior behaviour();
  void copy(const CopyToHost& order);
  void call_those_due();

  static constexpr std::uint64_t kLongestMicroseconds = 6'000;

  SimulationClockwork* clockwork_;
  Duration pass_takes_{};  // zero: as drawn
  LateCounts counts_;
  std::multimap<Instant, std::function<void()>> due_;
  caf::actor actor_;
};

}  // namespace shoal
