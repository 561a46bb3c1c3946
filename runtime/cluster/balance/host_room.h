// Memory of the machines beneath the devices: what the workers on one take of it together, of whatever nodes (P-25c).
//
// Each worker states the whole of it; where they differ, the least counts, and where none does, there is no bound. A
// worker is named by its place in a list. Pure.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cluster/balance/machine_places.h"

namespace shoal {

// Bytes of a machine's memory that a stage takes, on either kind of worker.
struct HostTake {
  std::uint64_t on_gpu = 0;
  std::uint64_t on_processor = 0;
  friend auto operator<=>(const HostTake&, const HostTake&) = default;
};
[[nodiscard]] inline HostTake host_take(const StageNeed& need) { return {need.on_gpu.host_bytes, need.memory_bytes}; }

class HostRoom {
 public:
  explicit HostRoom(const std::vector<Worker>& workers);

  // Returns what the worker's machine has beside what is taken; the largest number there is: no bound.
  [[nodiscard]] std::uint64_t left(std::size_t worker) const { return left_[machine_of_[worker]]; }
  // Says whether two workers share a machine.
  [[nodiscard]] bool share(std::size_t one, std::size_t other) const { return machine_of_[one] == machine_of_[other]; }
  // Says whether there is room for so much where so much goes.
  [[nodiscard]] bool holds(std::size_t worker, std::uint64_t comes, std::uint64_t goes = 0) const;
  void take(std::size_t worker, std::uint64_t bytes);
  void give_back(std::size_t worker, std::uint64_t bytes);

  // Returns how many of these workers could take a replica at once: at most so many.
  [[nodiscard]] std::size_t takers(const std::vector<std::size_t>& workers, const HostTake& each) const;

 private:
  [[nodiscard]] bool is_bounded(std::size_t worker) const;

  std::vector<std::size_t> machine_of_;
  std::vector<bool> is_gpu_;
  std::vector<std::uint64_t> left_;  // by machine
};

// Names the machine beneath a worker by the nodes on it: "a", "a and b", "a, b and 7 other nodes".
[[nodiscard]] std::string nodes_beside(std::size_t worker, const std::vector<Worker>& workers, const HostRoom& room);

}  // namespace shoal
