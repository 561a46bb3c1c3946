// A library of collectives for simulated swarms: it sums between the devices of a swarm's stages, at times drawn from
// the seed, and does now and then what such a library does at its worst.
//
//   a member leaves, by a drop or by its death ──▶ the communicator is broken: sums under way on it fail, or are never
//   heard of again; some members may have had theirs before
//
// Ensures what would hang or mix up a real library: members of one communicator disagree on the sum that it makes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "actors/stage.h"
#include "runtime/sync/collective/collective.h"
#include "tests/support/simulation/late_devices.h"

namespace shoal {

struct CollectiveCounts {
  std::uint64_t communicators = 0;
  std::uint64_t sums = 0;    // that a member was given
  std::uint64_t broken = 0;  // communicators that a member left in the middle of a sum
  std::uint64_t silent = 0;  // sums that nobody hears of
};

class SimulatedCommunicator;

class SimulatedCollectives {
 public:
  explicit SimulatedCollectives(SimulationClockwork& clockwork) : time_(clockwork) {}

  // Most stages are offered a library and a device of their own; some sum by their connections alone.
  void wire(StageSettings& settings, const std::string& process);
  [[nodiscard]] const CollectiveCounts& counts() const { return counts_; }

  // For members.
  [[nodiscard]] CollectiveCounts& counts() { return counts_; }
  [[nodiscard]] LateDevices& time() { return time_; }
  // Returns the id of a new communicator.
  [[nodiscard]] std::string make(std::uint32_t size);
  // None: there is none of that id.
  [[nodiscard]] std::shared_ptr<SimulatedCommunicator> find(const std::string& id) const;

 private:
  CollectiveCounts counts_;
  LateDevices time_;
  std::map<std::string, std::shared_ptr<SimulatedCommunicator>> communicators_;
};

}  // namespace shoal
