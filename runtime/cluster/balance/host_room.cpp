// Machines are numbered as they come.
#include "runtime/cluster/balance/host_room.h"

#include <algorithm>
#include <map>

#include "runtime/base/compose.h"
#include "runtime/base/text/enumerate.h"

namespace shoal {
namespace {

constexpr std::uint64_t kEndless = ~std::uint64_t{0};

}  // namespace

HostRoom::HostRoom(const std::vector<Worker>& workers) {
  std::map<MachineName, std::size_t> numbers;
  for (const Worker& worker : workers) {
    const MachineName name = machine_beneath(worker.node, worker.offer);
    const std::size_t machine = numbers.try_emplace(name, numbers.size()).first->second;
    if (machine == left_.size()) left_.push_back(kEndless);
    left_[machine] = std::min(left_[machine], host_memory_given(worker.offer));
    machine_of_.push_back(machine);
    is_gpu_.push_back(worker.offer.is_gpu);
  }
}

bool HostRoom::is_bounded(std::size_t worker) const { return left(worker) != kEndless; }

bool HostRoom::holds(std::size_t worker, std::uint64_t comes, std::uint64_t goes) const {
  return !is_bounded(worker) || comes <= left(worker) + goes;
}

void HostRoom::take(std::size_t worker, std::uint64_t bytes) {
  if (is_bounded(worker)) left_[machine_of_[worker]] -= bytes;
}

void HostRoom::give_back(std::size_t worker, std::uint64_t bytes) {
  if (is_bounded(worker)) left_[machine_of_[worker]] += bytes;
}

// Counts those on a machine first that take less.
std::size_t HostRoom::takers(const std::vector<std::size_t>& workers, const HostTake& each) const {
  std::vector<std::uint64_t> left = left_;
  std::size_t count = 0;
  const bool are_gpus_first = each.on_gpu <= each.on_processor;
  for (const bool is_gpu : {are_gpus_first, !are_gpus_first}) {
    const std::uint64_t bytes = is_gpu ? each.on_gpu : each.on_processor;
    for (const std::size_t worker : workers) {
      std::uint64_t& of_machine = left[machine_of_[worker]];
      if (is_gpu_[worker] != is_gpu || bytes > of_machine) continue;
      if (of_machine != kEndless) of_machine -= bytes;
      ++count;
    }
  }
  return count;
}

std::string nodes_beside(std::size_t worker, const std::vector<Worker>& workers, const HostRoom& room) {
  constexpr std::size_t kNamed = 3;  // of more, one fewer is named
  std::vector<std::string> nodes;
  for (std::size_t other = 0; other < workers.size(); ++other) {
    const std::string& node = workers[other].node;
    const bool is_new = std::ranges::find(nodes, node) == nodes.end();
    if (is_new && room.share(worker, other)) nodes.push_back(node);
  }
  if (nodes.size() > kNamed) {
    const std::string others = compose(nodes.size() - (kNamed - 1), " other nodes");
    nodes.resize(kNamed - 1);
    nodes.push_back(others);
  }
  return enumerate(nodes);
}

}  // namespace shoal
