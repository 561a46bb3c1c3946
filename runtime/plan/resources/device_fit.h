// Tells before a start whether a replica fits the memory of its device, and if not, how many microbatches would.
//
// A GPU has no memory to lend: what does not fit ends the process in the third step. Derived from memory_need(), less
// what lies on the host (program, images, copies for the wire), with what a device holds besides: activations and
// gradients that its neighbours were given, and temporaries of the update. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/plan/resources/cut_stage.h"

namespace shoal {

struct DeviceNeed {
  std::uint64_t kept = 0;            // weights, averages, sums, mean, and the device's own context
  std::uint64_t computing = 0;       // gradients, logits, letters, and one graph where it is computed again
  std::uint64_t per_microbatch = 0;  // of those in flight
  std::uint64_t reducing = 0;        // in place of these two, between the microbatches and the update
  std::uint64_t held = 0;            // microbatches in flight, at most
};

// stages: the whole cut; replicas: of that stage.
[[nodiscard]] DeviceNeed device_need(const Config& config, const std::vector<CutStage>& stages, std::size_t stage,
                                     std::size_t replicas);

// With so many microbatches in flight.
[[nodiscard]] std::uint64_t bytes_at(const DeviceNeed& need, std::uint64_t held);

// None where it fits. Else e.g. "needs 31.2 GiB at 12 microbatches in flight, the device has 22.0 free; 7 would fit".
[[nodiscard]] std::optional<std::string> lack_on_device(const DeviceNeed& need, std::uint64_t free_bytes);

}  // namespace shoal
