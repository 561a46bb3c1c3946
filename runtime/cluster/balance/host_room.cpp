// Nodes are numbered as they come.
#include "runtime/cluster/balance/host_room.h"

#include <map>

namespace shoal {
namespace {

constexpr std::uint64_t kEndless = ~std::uint64_t{0};

}  // namespace

HostRoom::HostRoom(const std::vector<Worker>& workers) {
  std::map<std::string, std::size_t> numbers;
  for (const Worker& worker : workers) {
    const std::size_t node = numbers.try_emplace(worker.node, numbers.size()).first->second;
    if (node == left_.size()) left_.push_back(kEndless);
    left_[node] = std::min(left_[node], host_memory_given(worker.offer));
    node_of_.push_back(node);
    is_gpu_.push_back(worker.offer.is_gpu);
  }
}

bool HostRoom::is_bounded(std::size_t worker) const { return left(worker) != kEndless; }

bool HostRoom::holds(std::size_t worker, std::uint64_t comes, std::uint64_t goes) const {
  return !is_bounded(worker) || comes <= left(worker) + goes;
}

void HostRoom::take(std::size_t worker, std::uint64_t bytes) {
  if (is_bounded(worker)) left_[node_of_[worker]] -= bytes;
}

void HostRoom::give_back(std::size_t worker, std::uint64_t bytes) {
  if (is_bounded(worker)) left_[node_of_[worker]] += bytes;
}

// Counts those of a node first that take less.
std::size_t HostRoom::takers(const std::vector<std::size_t>& workers, const HostTake& each) const {
  std::vector<std::uint64_t> left = left_;
  std::size_t count = 0;
  const bool are_gpus_first = each.on_gpu <= each.on_processor;
  for (const bool is_gpu : {are_gpus_first, !are_gpus_first}) {
    const std::uint64_t bytes = is_gpu ? each.on_gpu : each.on_processor;
    for (const std::size_t worker : workers) {
      std::uint64_t& of_node = left[node_of_[worker]];
      if (is_gpu_[worker] != is_gpu || bytes > of_node) continue;
      if (of_node != kEndless) of_node -= bytes;
      ++count;
    }
  }
  return count;
}

}  // namespace shoal
