// The greedy assignment looks ahead only for memory: a machine is not spent where another one, which fits nowhere else,
// could serve. Stages that need more than a machine gives need more than every smaller machine, too, so counting is
// enough (Hall's theorem for nested sets). Where workers share a machine's memory that does not hold all they could
// serve, counting may allow what is not possible: then places are packed, the largest first, which may miss what only
// trying all would find.
#include "runtime/cluster/balance/machine_places.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <tuple>

#include "runtime/base/ensure.h"
#include "runtime/cluster/balance/host_room.h"

namespace shoal {
namespace {

constexpr double kAlike = 1.5;           // below this ratio measured speeds do not tell machines apart
constexpr double kLeastSwapRise = 1e-9;  // relative; below it rounding would swap machines for ever

std::vector<MachineOffer> offers_of(const std::vector<Worker>& workers) {
  std::vector<MachineOffer> offers;
  for (const Worker& worker : workers) offers.push_back(worker.offer);
  return offers;
}

bool fits_all(const Worker& worker, const std::vector<StageNeed>& needs) {
  return std::ranges::all_of(needs, [&](const StageNeed& need) { return fits(worker.offer, need); });
}

std::size_t total(const std::vector<std::uint32_t>& places) {
  return std::accumulate(places.begin(), places.end(), std::size_t{0});
}

std::uint64_t host_memory_on(const MachineOffer& offer, const StageNeed& need) {
  const HostTake take = host_take(need);
  return offer.is_gpu ? take.on_gpu : take.on_processor;
}

// Says whether the machines have room for any stage on each of their workers.
bool are_hosts_ample(const std::vector<Worker>& workers, const std::vector<StageNeed>& needs) {
  HostRoom room(workers);
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    std::uint64_t most = 0;
    for (const StageNeed& need : needs) most = std::max(most, host_memory_on(workers[worker].offer, need));
    if (!room.holds(worker, most)) return false;
    room.take(worker, most);
  }
  return true;
}

// Whose machine is taken first, of those that have room.
enum class HostOrder : std::uint8_t { kRoomiest, kTightest };

class Places {
 public:
  Places(const std::vector<Worker>& workers, const PlacesWanted& wanted)
      : workers_(workers),
        wanted_(wanted),
        is_alike_(are_alike(offers_of(workers), wanted.needs, wanted.threads)),
        room_(workers),
        are_hosts_ample_(are_hosts_ample(workers, wanted.needs)),
        do_all_fit_(std::ranges::all_of(workers, [&](const Worker& one) { return fits_all(one, wanted.needs); })),
        open_(wanted.replicas),
        capacity_(wanted.replicas.size(), 0),
        members_(wanted.replicas.size()),
        left_(workers.size()) {
    std::iota(left_.begin(), left_.end(), std::size_t{0});
    std::ranges::stable_sort(left_, [&](std::size_t a, std::size_t b) {
      return std::tuple(workers_[a].choice, -rate(a, 0)) < std::tuple(workers_[b].choice, -rate(b, 0));
    });
  }

  // True: where fill() finds nothing there is nothing to be found.
  [[nodiscard]] bool counts_exactly() const { return are_hosts_ample_; }

  // False: some place cannot be filled.
  [[nodiscard]] bool fill() {
    if (!can_fill()) return false;
    std::vector<std::size_t> misfits;  // fit no stage that had a place when it was their turn
    while (std::ranges::any_of(open_, [](std::uint32_t places) { return places > 0; })) {
      ENSURE(!left_.empty() || !are_hosts_ample_, "a machine for each open place");
      if (left_.empty()) return false;
      const std::size_t worker = left_.front();
      left_.erase(left_.begin());
      if (const auto stage = best_stage(worker)) {
        take(worker, *stage);
      } else {
        misfits.push_back(worker);
      }
    }
    left_.insert(left_.begin(), misfits.begin(), misfits.end());
    raise_the_weakest();
    return true;
  }

  // The same whatever the speeds: what takes most of a machine comes first. False: not in this order.
  [[nodiscard]] bool pack(HostOrder order) {
    for (const std::size_t stage : stages_by_need()) {
      const auto cost = [&](std::size_t worker) {
        const std::uint64_t room = room_.left(worker);
        return std::tuple(!fits_stage(worker, stage), workers_[worker].choice,
                          order == HostOrder::kTightest ? room : ~room);
      };
      const auto best = std::ranges::min_element(left_, {}, cost);
      if (best == left_.end() || !fits_stage(*best, stage)) return false;
      const std::size_t worker = *best;
      left_.erase(best);
      take(worker, stage);
    }
    raise_the_weakest();
    return true;
  }

  [[nodiscard]] std::vector<Placement> placements() {
    std::vector<Placement> out;
    for (auto& members : members_) {
      std::ranges::sort(members, {}, [&](std::size_t worker) { return workers_[worker].process; });
    }
    for (std::uint32_t slot = 0; slot < std::ranges::max(wanted_.replicas); ++slot) {
      for (std::uint32_t stage = 0; stage < members_.size(); ++stage) {
        if (slot >= members_[stage].size()) continue;
        out.push_back({StageId{stage}, ReplicaId{slot}, workers_[members_[stage][slot]].process});
      }
    }
    return out;
  }

 private:
  [[nodiscard]] double rate(std::size_t worker, std::size_t stage) const {
    if (is_alike_) return 1;
    return rate_of(workers_[worker].offer, need_of(wanted_.needs, stage), wanted_.threads);
  }
  [[nodiscard]] std::uint64_t host_bytes(std::size_t worker, std::size_t stage) const {
    return host_memory_on(workers_[worker].offer, need_of(wanted_.needs, stage));
  }
  // Says whether it would, if no other worker on its machine served any.
  [[nodiscard]] bool fits_alone(std::size_t worker, std::size_t stage) const {
    return fits(workers_[worker].offer, need_of(wanted_.needs, stage));
  }
  [[nodiscard]] bool fits_stage(std::size_t worker, std::size_t stage) const {
    return fits_alone(worker, stage) && room_.holds(worker, host_bytes(worker, stage));
  }

  // The stage of each place, what needs most first.
  [[nodiscard]] std::vector<std::size_t> stages_by_need() const {
    std::vector<std::size_t> stages;
    for (std::size_t stage = 0; stage < open_.size(); ++stage) stages.insert(stages.end(), open_[stage], stage);
    std::ranges::stable_sort(stages, std::greater<>(), [&](std::size_t stage) {
      const StageNeed need = need_of(wanted_.needs, stage);
      return std::pair(host_take(need), need.memory_bytes);
    });
    return stages;
  }

  // For each stage: the open places of it and of stages that need more are no more than the machines left for them.
  [[nodiscard]] bool can_fill() const {
    if (do_all_fit_) return total(open_) <= left_.size();
    for (std::size_t stage = 0; stage < open_.size(); ++stage) {
      const std::uint64_t need = need_of(wanted_.needs, stage).memory_bytes;
      std::size_t places = 0;
      for (std::size_t other = 0; other < open_.size(); ++other) {
        if (need_of(wanted_.needs, other).memory_bytes >= need) places += open_[other];
      }
      const auto machines = std::ranges::count_if(
          left_, [&](std::size_t worker) { return memory_given(workers_[worker].offer) >= need; });
      if (places > static_cast<std::size_t>(machines)) return false;
    }
    return are_hosts_ample_ || can_hosts_fill();
  }

  // The same of the machines beneath the workers.
  [[nodiscard]] bool can_hosts_fill() const {
    for (std::size_t stage = 0; stage < open_.size(); ++stage) {
      const HostTake take = host_take(need_of(wanted_.needs, stage));
      HostTake least = take;
      std::size_t places = 0;
      for (std::size_t other = 0; other < open_.size(); ++other) {
        const HostTake more = host_take(need_of(wanted_.needs, other));
        if (more < take) continue;
        places += open_[other];
        least = {std::min(least.on_gpu, more.on_gpu), std::min(least.on_processor, more.on_processor)};
      }
      if (places > room_.takers(left_, least)) return false;
    }
    return true;
  }

  // The stage that has least, of those that it fits and after which all others can still be filled; of equal ones the
  // one that its node serves least. Nothing: the rest is better off without it.
  [[nodiscard]] std::optional<std::size_t> best_stage(std::size_t worker) {
    std::optional<std::tuple<double, std::int64_t, std::size_t>> best;
    for (std::size_t stage = 0; stage < open_.size(); ++stage) {
      if (open_[stage] == 0 || !fits_stage(worker, stage)) continue;
      --open_[stage];
      room_.take(worker, host_bytes(worker, stage));
      const bool can = can_fill();
      room_.give_back(worker, host_bytes(worker, stage));
      ++open_[stage];
      if (!can) continue;
      const auto beside = std::ranges::count_if(
          members_[stage], [&](std::size_t member) { return workers_[member].node == workers_[worker].node; });
      const std::tuple candidate(capacity_[stage], static_cast<std::int64_t>(beside), stage);
      if (!best || candidate < *best) best = candidate;
    }
    return best ? std::optional(std::get<2>(*best)) : std::nullopt;
  }

  void take(std::size_t worker, std::size_t stage) {
    --open_[stage];
    room_.take(worker, host_bytes(worker, stage));
    capacity_[stage] += rate(worker, stage);
    members_[stage].push_back(worker);
  }

  void raise_the_weakest() {
    for (std::size_t i = 0; i < workers_.size() && swap_with_weakest(); ++i) {
    }
  }

  // Exchanges a machine of the weakest stage with one of another stage, or with a spare, so that the weaker of both
  // rises most. False: no exchange raises it.
  [[nodiscard]] bool swap_with_weakest() {
    const auto weak = static_cast<std::size_t>(std::ranges::min_element(capacity_) - capacity_.begin());
    struct Swap {
      std::size_t *own = nullptr, *other = nullptr;
      std::optional<std::size_t> stage;  // of the other one; none: it is a spare
    };
    Swap best;
    double least = capacity_[weak] * (1 + kLeastSwapRise);
    for (std::size_t& own : members_[weak]) {
      const auto consider = [&](std::size_t& other, std::optional<std::size_t> stage) {
        const double after = least_after(weak, own, other, stage);
        if (after <= least) return;
        least = after;
        best = {&own, &other, stage};
      };
      for (std::size_t stage = 0; stage < members_.size(); ++stage) {
        if (stage == weak) continue;
        for (std::size_t& other : members_[stage]) consider(other, stage);
      }
      for (std::size_t& spare : left_) {
        if (workers_[spare].choice <= workers_[own].choice) consider(spare, std::nullopt);
      }
    }
    if (best.own == nullptr) return false;
    capacity_[weak] += rate(*best.other, weak) - rate(*best.own, weak);
    if (best.stage) capacity_[*best.stage] += rate(*best.own, *best.stage) - rate(*best.other, *best.stage);
    room_.give_back(*best.own, host_bytes(*best.own, weak));
    if (best.stage) room_.give_back(*best.other, host_bytes(*best.other, *best.stage));
    room_.take(*best.other, host_bytes(*best.other, weak));
    if (best.stage) room_.take(*best.own, host_bytes(*best.own, *best.stage));
    std::swap(*best.own, *best.other);
    return true;
  }

  // Says whether the machines beneath both hold what they would serve after the exchange.
  [[nodiscard]] bool hold_after(std::size_t weak, std::size_t own, std::size_t other,
                                std::optional<std::size_t> stage) const {
    const std::uint64_t own_goes = host_bytes(own, weak);
    const std::uint64_t own_comes = stage ? host_bytes(own, *stage) : 0;
    const std::uint64_t other_goes = stage ? host_bytes(other, *stage) : 0;
    const std::uint64_t other_comes = host_bytes(other, weak);
    if (room_.share(own, other)) return room_.holds(own, own_comes + other_comes, own_goes + other_goes);
    return room_.holds(own, own_comes, own_goes) && room_.holds(other, other_comes, other_goes);
  }

  // The lesser capacity of the stages after the exchange; 0 where a machine would not fit.
  [[nodiscard]] double least_after(std::size_t weak, std::size_t own, std::size_t other,
                                   std::optional<std::size_t> stage) const {
    if (!fits_alone(other, weak) || (stage && !fits_alone(own, *stage))) return 0;
    if (!are_hosts_ample_ && !hold_after(weak, own, other, stage)) return 0;
    const double after = capacity_[weak] + rate(other, weak) - rate(own, weak);
    return stage ? std::min(after, capacity_[*stage] + rate(own, *stage) - rate(other, *stage)) : after;
  }

  const std::vector<Worker>& workers_;
  const PlacesWanted& wanted_;
  bool is_alike_;
  HostRoom room_;  // beside those that are placed
  bool are_hosts_ample_;
  bool do_all_fit_;
  std::vector<std::uint32_t> open_;  // places of each stage
  std::vector<double> capacity_;
  std::vector<std::vector<std::size_t>> members_;  // index of the worker
  std::vector<std::size_t> left_;                  // fastest first
};

// Nothing: some place cannot be filled, or no way was found.
std::optional<Places> filled_places(const std::vector<Worker>& workers, const PlacesWanted& wanted) {
  Places by_speed(workers, wanted);
  if (by_speed.fill()) return by_speed;
  if (by_speed.counts_exactly()) return std::nullopt;
  for (const HostOrder order : {HostOrder::kRoomiest, HostOrder::kTightest}) {
    Places packed(workers, wanted);
    if (packed.pack(order)) return packed;
  }
  return std::nullopt;
}

// Says whether the machines hold all of these.
bool do_hosts_hold(const std::vector<Placement>& placed, const std::vector<Worker>& workers,
                   const PlacesWanted& wanted) {
  HostRoom room(workers);
  for (const Placement& one : placed) {
    const auto found = std::ranges::find(workers, one.process, &Worker::process);
    const auto worker = static_cast<std::size_t>(found - workers.begin());
    const std::uint64_t bytes = host_memory_on(found->offer, need_of(wanted.needs, one.stage.value));
    if (!room.holds(worker, bytes)) return false;
    room.take(worker, bytes);
  }
  return true;
}

}  // namespace

StageNeed need_of(const std::vector<StageNeed>& needs, std::size_t stage) {
  return stage < needs.size() ? needs[stage] : StageNeed{};
}

bool fits(const MachineOffer& offer, const StageNeed& need) { return fits_together(offer, {need}); }

std::uint64_t memory_of(const std::vector<StageNeed>& needs) {
  std::uint64_t own = 0;
  std::uint64_t shared = 0;
  for (const StageNeed& need : needs) {
    own += need.memory_bytes - need.shared_bytes;
    shared = std::max(shared, need.shared_bytes);
  }
  return own + shared;
}

bool fits_together(const MachineOffer& offer, const std::vector<StageNeed>& needs) {
  std::vector<StageNeed> there;
  for (const StageNeed& need : needs) there.push_back(need_on(offer, need));
  return memory_of(there) <= memory_given(offer) && host_memory_of(offer, needs) <= host_memory_given(offer);
}

std::uint64_t host_memory_of(const MachineOffer& offer, const std::vector<StageNeed>& needs) {
  std::vector<StageNeed> there;
  for (const StageNeed& need : needs) {
    StageNeed& one = there.emplace_back();
    one.memory_bytes = host_memory_on(offer, need);
    one.shared_bytes = offer.is_gpu ? need.on_gpu.host_shared_bytes : need.shared_bytes;
  }
  return memory_of(there);
}

StageNeed need_on(const MachineOffer& offer, StageNeed need) {
  if (!offer.is_gpu || need.on_gpu.memory_bytes == 0) return need;
  need.memory_bytes = need.on_gpu.memory_bytes;
  need.shared_bytes = need.on_gpu.shared_bytes;
  need.bounded_bytes = need.on_gpu.bounded_bytes;
  return need;
}

PlacesWanted wanted_on(const std::vector<Worker>& workers, PlacesWanted wanted) {
  const auto is_gpu = [](const Worker& worker) { return worker.offer.is_gpu; };
  const bool has_gpus = std::ranges::any_of(workers, is_gpu);
  const bool has_others = !std::ranges::all_of(workers, is_gpu);
  for (StageNeed& need : wanted.needs) {
    const StageNeed on_gpu = need_on(MachineOffer{.is_gpu = true}, need);
    if (has_gpus && (!has_others || on_gpu.memory_bytes > need.memory_bytes)) need = on_gpu;
    need.on_gpu = {0, 0, 0, need.on_gpu.host_bytes, need.on_gpu.host_shared_bytes};
    if (!has_gpus) need.on_gpu = {};
  }
  return wanted;
}

std::uint64_t memory_given(const MachineOffer& offer) {
  return offer.memory_bytes == 0 ? std::numeric_limits<std::uint64_t>::max() : offer.memory_bytes;
}

std::uint64_t host_memory_given(const MachineOffer& offer) {
  return offer.host_bytes == 0 ? std::numeric_limits<std::uint64_t>::max() : offer.host_bytes;
}

MachineName machine_beneath(const std::string& node, const MachineOffer& offer) {
  return {offer.machine, offer.machine == 0 ? node : std::string()};
}

namespace {

double computing_rate(const MachineOffer& offer, const StageNeed& need, std::uint32_t threads) {
  if (offer.forward_us > 0) return 1e6 / static_cast<double>(offer.forward_us);
  if (offer.multiply_adds_s == 0 || need.multiply_adds <= 0) return 0;
  const double used = offer.threads > 0 ? offer.threads : threads;
  return static_cast<double>(offer.multiply_adds_s) * used / need.multiply_adds;
}

// Counts forwards, as rates of computing do: a microbatch that is trained on takes as long as several.
double link_rate(std::uint64_t bit_s, double bytes) {
  if (bit_s == 0 || bytes <= 0) return std::numeric_limits<double>::infinity();
  return kPassesOfTraining * static_cast<double>(bit_s) / (8 * bytes);
}

}  // namespace

double rate_of(const MachineOffer& offer, const StageNeed& need, std::uint32_t threads) {
  return std::min({computing_rate(offer, need, threads), link_rate(offer.up_bit_s, need.up_bytes),
                   link_rate(offer.down_bit_s, need.down_bytes)});
}

bool are_alike(const std::vector<MachineOffer>& offers, const std::vector<StageNeed>& needs, std::uint32_t threads) {
  for (std::size_t stage = 0; stage < std::max<std::size_t>(needs.size(), 1); ++stage) {
    double least = 0;
    double most = 0;
    for (const MachineOffer& offer : offers) {
      const double rate = rate_of(offer, need_of(needs, stage), threads);
      if (rate <= 0) return true;
      least = least == 0 ? rate : std::min(least, rate);
      most = std::max(most, rate);
    }
    if (most >= kAlike * least && most > 0) return false;
  }
  return true;
}

namespace {

std::optional<std::vector<Placement>> place_alike(const std::vector<Worker>& workers, const PlacesWanted& asked) {
  const PlacesWanted wanted = wanted_on(workers, asked);
  const bool do_all_fit =
      std::ranges::all_of(workers, [&](const Worker& worker) { return fits_all(worker, wanted.needs); });
  const bool is_equal = do_all_fit && are_alike(offers_of(workers), wanted.needs, wanted.threads);
  if (is_equal) {
    auto placed = place(workers, static_cast<std::uint32_t>(wanted.replicas.size()), ReplicasWanted(wanted.replicas));
    if (!placed || do_hosts_hold(*placed, workers, wanted)) return placed;
  }
  auto places = filled_places(workers, wanted);
  return places ? std::optional(places->placements()) : std::nullopt;
}

}  // namespace

bool can_fill_places(const std::vector<Worker>& workers, const PlacesWanted& wanted) {
  return filled_places(workers, wanted).has_value();
}

std::optional<std::vector<Placement>> place_machines(const std::vector<Worker>& workers, const PlacesWanted& wanted) {
  auto placed = place_alike(workers, wanted);
  for (const bool is_gpu : {true, false}) {  // of both kinds: one of them alone may do
    std::vector<Worker> of_kind;
    std::ranges::copy_if(workers, std::back_inserter(of_kind),
                         [&](const Worker& worker) { return worker.offer.is_gpu == is_gpu; });
    if (!placed && !of_kind.empty() && of_kind.size() < workers.size()) placed = place_alike(of_kind, wanted);
  }
  return placed;
}

}  // namespace shoal
