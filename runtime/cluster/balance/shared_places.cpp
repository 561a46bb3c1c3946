// Even runs of stages first; where they do not fit, places are packed one by one, in three orders: this is a search
// that may miss what only trying all would find.
#include "runtime/cluster/balance/shared_places.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/cluster/balance/host_room.h"

namespace shoal {
namespace {

enum class Packing : std::uint8_t {
  kEven,      // slot by slot, each place to the worker with the fewest stages
  kRoomiest,  // what needs most first, to the worker that has most memory left
  kTightest   // what needs most first, to the worker that it fits most closely
};

struct Load {
  Worker worker;
  std::size_t number = 0;  // the worker's, for the room that its machine has
  std::set<std::size_t> stages{};
};

std::vector<Load> loads_of(const std::vector<Worker>& workers) {
  std::vector<Load> loads;
  for (const Worker& worker : workers) loads.push_back({worker, loads.size()});
  return loads;
}

std::vector<StageNeed> needs_of(const PlacesWanted& wanted, const std::set<std::size_t>& stages) {
  std::vector<StageNeed> needs;
  for (const std::size_t stage : stages) needs.push_back(need_of(wanted.needs, stage));
  return needs;
}

// Bytes that these stages take of the machine beneath the worker.
std::uint64_t host_memory(const Load& load, const std::set<std::size_t>& stages, const PlacesWanted& wanted) {
  return host_memory_of(load.worker.offer, needs_of(wanted, stages));
}

// hosts: beside all that is placed.
bool has_room(const Load& load, std::size_t stage, const PlacesWanted& wanted, const HostRoom& hosts) {
  if (load.stages.contains(stage)) return false;
  std::set<std::size_t> with = load.stages;
  with.insert(stage);
  const std::uint64_t comes = host_memory(load, with, wanted);
  return fits_together(load.worker.offer, needs_of(wanted, with)) &&
         hosts.holds(load.number, comes, host_memory(load, load.stages, wanted));
}

void put(std::size_t stage, Load& load, const PlacesWanted& wanted, HostRoom& hosts) {
  hosts.give_back(load.number, host_memory(load, load.stages, wanted));
  load.stages.insert(stage);
  hosts.take(load.number, host_memory(load, load.stages, wanted));
}

std::uint64_t memory_left(const Load& load, const PlacesWanted& wanted) {
  std::vector<StageNeed> needs;
  for (const StageNeed& need : needs_of(wanted, load.stages)) needs.push_back(need_on(load.worker.offer, need));
  return memory_given(load.worker.offer) - memory_of(needs);
}

// (stage, slot) in the order in which they are placed.
std::vector<std::pair<std::size_t, std::uint32_t>> places_in_order(const PlacesWanted& wanted, Packing packing) {
  std::vector<std::pair<std::size_t, std::uint32_t>> places;
  for (std::uint32_t slot = 0; slot < std::ranges::max(wanted.replicas); ++slot) {
    for (std::size_t stage = 0; stage < wanted.replicas.size(); ++stage) {
      if (slot < wanted.replicas[stage]) places.emplace_back(stage, slot);
    }
  }
  if (packing == Packing::kEven) return places;
  std::ranges::stable_sort(places, std::greater<>(),
                           [&](const auto& place) { return need_of(wanted.needs, place.first).memory_bytes; });
  return places;
}

std::optional<std::vector<Placement>> pack(const std::vector<Worker>& workers, const PlacesWanted& wanted,
                                           Packing packing) {
  std::vector<Load> loads = loads_of(workers);
  HostRoom hosts(workers);
  const auto cost = [&](const Load& load) {
    if (packing == Packing::kEven) return static_cast<std::uint64_t>(load.stages.size());
    const std::uint64_t left = std::min(memory_left(load, wanted), hosts.left(load.number));
    return packing == Packing::kTightest ? left : ~left;
  };
  std::vector<Placement> placed;
  for (const auto& [stage, slot] : places_in_order(wanted, packing)) {
    Load* best = nullptr;
    for (Load& load : loads) {
      const bool is_better = has_room(load, stage, wanted, hosts) && (best == nullptr || cost(load) < cost(*best));
      if (is_better) best = &load;
    }
    if (best == nullptr) return std::nullopt;
    put(stage, *best, wanted, hosts);
    placed.push_back({StageId{static_cast<std::uint32_t>(stage)}, ReplicaId{slot}, best->worker.process});
  }
  std::ranges::sort(placed, {}, [](const Placement& one) { return std::pair(one.slot, one.stage); });
  return placed;
}

// Cuts one list of all places, slot by slot, into as many pieces as there are workers: a piece is never longer than one
// slot, so it has no stage twice. Workers of one node get neighbouring pieces, and so different stages.
std::optional<std::vector<Placement>> place_in_runs(const std::vector<Worker>& workers, const PlacesWanted& wanted) {
  const std::size_t stages = wanted.replicas.size();
  const std::size_t places = stages * wanted.replicas.front();
  std::vector<Load> loads = loads_of(workers);
  HostRoom hosts(workers);
  std::vector<Placement> placed;
  for (std::size_t place = 0; place < places; ++place) {
    Load& load = loads[workers.size() >= places ? place : place * workers.size() / places];
    if (!has_room(load, place % stages, wanted, hosts)) return std::nullopt;
    put(place % stages, load, wanted, hosts);
    placed.push_back({StageId{static_cast<std::uint32_t>(place % stages)},
                      ReplicaId{static_cast<std::uint32_t>(place / stages)}, load.worker.process});
  }
  return placed;
}

PlacesWanted with_at_most(PlacesWanted wanted, std::uint32_t replicas) {
  for (std::uint32_t& one : wanted.replicas) one = std::min(one, replicas);
  return wanted;
}

std::optional<std::vector<Placement>> place_so_many(const std::vector<Worker>& workers, const PlacesWanted& wanted) {
  const auto [least, most] = std::ranges::minmax(wanted.replicas);
  auto placed = least == most ? place_in_runs(workers, wanted) : std::nullopt;
  for (const Packing packing : {Packing::kEven, Packing::kRoomiest, Packing::kTightest}) {
    if (!placed) placed = pack(workers, wanted, packing);
  }
  return placed;
}

// Puts workers of one node beside each other.
void sort_by_node(std::vector<Worker>& workers) {
  std::map<std::string, ProcessIncarnation> first_of_node;
  for (const Worker& worker : workers) {
    auto& first = first_of_node.try_emplace(worker.node, worker.process).first->second;
    first = std::min(first, worker.process);
  }
  std::ranges::sort(workers, {}, [&](const Worker& one) { return std::pair(first_of_node.at(one.node), one.process); });
}

}  // namespace

std::optional<std::vector<Placement>> place_shared(std::vector<Worker> workers, const PlacesWanted& asked) {
  if (workers.empty()) return std::nullopt;
  const PlacesWanted wanted = wanted_on(workers, asked);
  sort_by_node(workers);
  const std::uint32_t most = std::min(std::ranges::max(wanted.replicas), static_cast<std::uint32_t>(workers.size()));
  for (std::uint32_t replicas = most; replicas > 0; --replicas) {
    if (auto placed = place_so_many(workers, with_at_most(wanted, replicas))) return placed;
  }
  return std::nullopt;
}

namespace {

// Says what the machines beneath the workers lack; empty: their devices alone would not do.
std::string host_refusal_of_sharing(const std::vector<Worker>& workers, const PlacesWanted& wanted) {
  std::vector<Worker> alone = workers;
  for (Worker& worker : alone) worker.offer.host_bytes = 0;
  if (!place_shared(alone, wanted)) return {};
  std::map<MachineName, std::pair<std::uint64_t, std::size_t>> given;  // and a worker there
  const HostRoom hosts(workers);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Worker& worker = workers[i];
    if (worker.offer.host_bytes > 0) given.try_emplace(machine_beneath(worker.node, worker.offer), hosts.left(i), i);
  }
  const auto [bytes, on] =
      std::ranges::max_element(given, {}, [](const auto& one) { return one.second.first; })->second;
  const std::string has = compose("that of ", nodes_beside(on, workers, hosts), " has ", size_text(bytes));
  return compose("the stages do not fit into the host memory of ", counted(given.size(), "machine"),
                 ": one replica of ", "each needs ", size_text(host_memory_of(workers.front().offer, wanted.needs)),
                 " of it, ", has, given.size() == 1 ? "" : ", the largest",
                 "; a node on another machine, or more pipeline.stages, help");
}

}  // namespace

std::string sharing_refusal(const std::vector<Worker>& workers, const PlacesWanted& asked) {
  if (workers.empty()) return {};
  const PlacesWanted wanted = wanted_on(workers, asked);
  if (const std::string of_hosts = host_refusal_of_sharing(workers, wanted); !of_hosts.empty()) return of_hosts;
  const auto largest = std::ranges::max_element(wanted.needs, {}, &StageNeed::memory_bytes);
  std::uint64_t all = 0;
  std::uint64_t most = 0;
  for (const Worker& worker : workers) {
    all += memory_given(worker.offer);
    most = std::max(most, memory_given(worker.offer));
  }
  const std::string given = workers.size() == 1 ? compose("1 worker, which gives ", size_text(all))
                                                : compose(workers.size(), " workers, which give ", size_text(all), ", ",
                                                          size_text(most), " the largest of them");
  return compose("the stages do not fit into ", given, ": one replica of each needs ",
                 size_text(memory_of(wanted.needs)), ", ", size_text(largest->memory_bytes), " of it stage ",
                 largest - wanted.needs.begin(), "; more memory (`shoal node --memory`), another node, ",
                 "or settings with which a stage needs less (pipeline.credits, batch.microbatch) help");
}

}  // namespace shoal
