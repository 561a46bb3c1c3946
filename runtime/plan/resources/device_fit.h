// Tells before a start whether a replica fits the memory of its device, and if not, how many microbatches would.
//
// A GPU has no memory to lend: what does not fit ends the process in the third step. Derived from memory_need(), less
// what lies on the host (program, images, copies for the wire), with what a device holds besides: activations and
// gradients that its neighbours were given, logits as its kernels take them, and temporaries of the update. Recorded
// graphs keep more. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/plan/resources/cut_stage.h"
#include "runtime/plan/resources/memory_need.h"

namespace shoal {

// NCCL's memory on a device for one communicator, of which a stage has one at a time. With one member, which has nobody
// to buffer for: 388 MiB, measured on an H100 (runtime/device/cuda/FACTS.md).
inline constexpr std::uint64_t kLoneCommunicatorBytes = std::uint64_t{400} << 20U;
// With several, besides: buffers of its channels for the ring and for the tree, to receive in (10 MiB: 4 of its
// protocol "simple", 0.5 of "LL", 4.7 of "LL128") and to send from (2 MiB). It takes so many channels between GPUs that
// NVLink connects, and fewer elsewhere. Read (NVIDIA/nccl on GitHub, issues 986 and 1685; NCCL_BUFFSIZE, 4 MiB), and
// not measured between GPUs: an upper bound.
inline constexpr std::uint64_t kCommunicatorChannels = 32;
inline constexpr std::uint64_t kCommunicatorBuffers = kCommunicatorChannels * 2 * (std::uint64_t{12} << 20U);

struct DeviceNeed {
  std::uint64_t kept = 0;            // weights and their copies, averages, sums, mean, and what is `beside`
  std::uint64_t beside = 0;          // what torch does not allocate: the device's own context, and the communicator
  std::uint64_t communicator = 0;    // of these: NCCL's, where sums are made by it
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

// Says what the need is made of: "3.200 GiB: weights 0.460, averages 0.930, ...".
[[nodiscard]] std::string parts_of_need(const DeviceNeed& need, const MemoryNeed& of_replica);

// Holds what a process took of its device at most, to stand beside what was planned. Bytes; the context is the driver's
// and the libraries', NCCL's buffers among them, and counts apart, for others on the device have theirs.
struct DeviceTake {
  std::uint64_t tensors = 0;
  std::uint64_t reserved = 0;
  std::uint64_t beside = 0;  // in use on the device now, and not reserved by this process
};
// "at most 2.500 GiB used (2.400 by tensors), 2.600 planned; 0.739 beside it, 0.745 planned".
[[nodiscard]] std::string use_text(const DeviceTake& use, const DeviceNeed& need);

}  // namespace shoal
