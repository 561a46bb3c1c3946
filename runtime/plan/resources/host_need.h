// What a replica on a GPU holds of its machine's memory, beside the GPU's own (device_fit.h).
//
// A stage that does not fit there swaps, or its process is killed: the spawner places it where the node's machine has
// it, for all workers of the node together (P-25c); the plan and the worker's log say it. Derived from memory_need():
// the second copy of the state (runtime/device/queue/device_state.h), what other processes are sent, and memory that
// the GPU reaches. The driver's own is not in it: it was not measured. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/config.h"
#include "runtime/plan/resources/memory_need.h"

namespace shoal {

struct HostNeed {
  std::uint64_t state = 0;    // weights, averages and what rounds keep: images are made of it
  std::uint64_t image = 0;    // a copy of the state while it is saved or given, at most
  std::uint64_t letters = 0;  // activations and gradients that are kept to be sent again until the commit
  std::uint64_t sums = 0;     // contribution, sum and parts of a reduction over connections; of rounds as well
  std::uint64_t pinned = 0;   // memory that the GPU copies from and to; torch takes it in powers of two, and keeps it
  std::uint64_t program = 0;  // code and libraries, CUDA's among them
};

// of_replica: memory_need() of the same stage; stages: how many there are; replicas: of that stage.
[[nodiscard]] HostNeed host_need(const Config& config, const MemoryNeed& of_replica, std::size_t stages,
                                 std::size_t stage, std::size_t replicas);

[[nodiscard]] std::uint64_t total_bytes(const HostNeed& need);

// "3.200 GiB of the machine's memory: state 1.400, image 1.400, ...".
[[nodiscard]] std::string parts_of_need(const HostNeed& need);

}  // namespace shoal
