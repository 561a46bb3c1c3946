// The greedy assignment looks ahead only for memory: a machine is not spent where another one, which fits nowhere else,
// could serve. Stages that need more than a machine gives need more than every smaller machine, too, so counting is
// enough (Hall's theorem for nested sets).
#include "runtime/cluster/balance/machine_places.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/text/enumerate.h"
#include "runtime/base/text/quantity_words.h"

namespace shoal {
namespace {

constexpr double kAlike = 1.5;           // below this ratio measured speeds do not tell machines apart
constexpr double kLeastSwapRise = 1e-9;  // relative; below it rounding would swap machines for ever
constexpr std::uint64_t kEndless = ~std::uint64_t{0};
constexpr const char* kGpuSettings = "a lower pipeline.credits, a smaller batch.microbatch, or pipeline.recompute=true";

StageNeed need_of(const std::vector<StageNeed>& needs, std::size_t stage) {
  return stage < needs.size() ? needs[stage] : StageNeed{};
}

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

// As an option takes it, not less: "21.4G".
std::string memory_option(std::uint64_t bytes) {
  constexpr double kGiga = 1e9;
  constexpr double kMega = 1e6;
  const auto value = static_cast<double>(bytes);
  const bool is_large = value >= kGiga;
  return compose(number_text(std::ceil(10 * value / (is_large ? kGiga : kMega)) / 10, 1), is_large ? "G" : "M");
}

class Places {
 public:
  Places(const std::vector<Worker>& workers, const PlacesWanted& wanted)
      : workers_(workers),
        wanted_(wanted),
        is_alike_(are_alike(offers_of(workers), wanted.needs, wanted.threads)),
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

  // False: some place cannot be filled.
  [[nodiscard]] bool fill() {
    if (!can_fill()) return false;
    std::vector<std::size_t> misfits;  // fit no stage that had a place when it was their turn
    while (std::ranges::any_of(open_, [](std::uint32_t places) { return places > 0; })) {
      ENSURE(!left_.empty(), "a machine for each open place");
      const std::size_t worker = left_.front();
      left_.erase(left_.begin());
      if (const auto stage = best_stage(worker)) {
        take(worker, *stage);
      } else {
        misfits.push_back(worker);
      }
    }
    left_.insert(left_.begin(), misfits.begin(), misfits.end());
    for (std::size_t i = 0; i < workers_.size() && swap_with_weakest(); ++i) {
    }
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
  [[nodiscard]] bool fits_stage(std::size_t worker, std::size_t stage) const {
    return fits(workers_[worker].offer, need_of(wanted_.needs, stage));
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
    return true;
  }

  // The stage that has least, of those that it fits and after which all others can still be filled; of equal ones the
  // one that its node serves least. Nothing: the rest is better off without it.
  [[nodiscard]] std::optional<std::size_t> best_stage(std::size_t worker) {
    std::optional<std::tuple<double, std::int64_t, std::size_t>> best;
    for (std::size_t stage = 0; stage < open_.size(); ++stage) {
      if (open_[stage] == 0 || !fits_stage(worker, stage)) continue;
      --open_[stage];
      const bool can = can_fill();
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
    capacity_[stage] += rate(worker, stage);
    members_[stage].push_back(worker);
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
    std::swap(*best.own, *best.other);
    return true;
  }

  // The lesser capacity of the stages after the exchange; 0 where a machine would not fit.
  [[nodiscard]] double least_after(std::size_t weak, std::size_t own, std::size_t other,
                                   std::optional<std::size_t> stage) const {
    if (!fits_stage(other, weak) || (stage && !fits_stage(own, *stage))) return 0;
    const double after = capacity_[weak] + rate(other, weak) - rate(own, weak);
    return stage ? std::min(after, capacity_[*stage] + rate(own, *stage) - rate(other, *stage)) : after;
  }

  const std::vector<Worker>& workers_;
  const PlacesWanted& wanted_;
  bool is_alike_;
  bool do_all_fit_;
  std::vector<std::uint32_t> open_;  // places of each stage
  std::vector<double> capacity_;
  std::vector<std::vector<std::size_t>> members_;  // index of the worker
  std::vector<std::size_t> left_;                  // fastest first
};

}  // namespace

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
  return memory_of(there) <= memory_given(offer);
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
    need.on_gpu = {};
  }
  return wanted;
}

std::uint64_t memory_given(const MachineOffer& offer) {
  return offer.memory_bytes == 0 ? kEndless : offer.memory_bytes;
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
    return place(workers, static_cast<std::uint32_t>(wanted.replicas.size()), ReplicasWanted(wanted.replicas));
  }
  Places places(workers, wanted);
  if (!places.fill()) return std::nullopt;
  return places.placements();
}

}  // namespace

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

namespace {

// Needs with the credits of the schedule alone.
std::vector<StageNeed> bounded(std::vector<StageNeed> needs) {
  for (StageNeed& need : needs) {
    if (need.bounded_bytes > 0) need.memory_bytes = need.bounded_bytes;
    if (need.on_gpu.bounded_bytes > 0) need.on_gpu.memory_bytes = need.on_gpu.bounded_bytes;
  }
  return needs;
}

std::string fewer_credits_of(const std::vector<StageNeed>& needs) {
  return needs.empty() ? std::string() : compose("pipeline.credits=", needs.front().credits, " would do; or ");
}

// Names the setting where these workers would do then.
std::string fewer_credits(const std::vector<Worker>& workers, PlacesWanted wanted) {
  wanted.needs = bounded(std::move(wanted.needs));
  return Places(workers, wanted).fill() ? fewer_credits_of(wanted.needs) : std::string();
}

// Names the largest number of replicas, the same for each stage, that these workers have room for; empty: there is
// none.
std::string fewer_replicas(const std::vector<Worker>& workers, PlacesWanted wanted) {
  for (std::uint32_t replicas = std::ranges::max(wanted.replicas) - 1; replicas > 0; --replicas) {
    for (std::uint32_t& one : wanted.replicas) one = std::min(one, replicas);
    if (Places(workers, wanted).fill()) return compose("pipeline.replicas=", replicas, ", or ");
  }
  return {};
}

// Names settings with which stages need less; `shoal plan` knows nothing of GPUs.
std::string settings_words(const std::vector<Worker>& workers, std::uint64_t memory) {
  const bool is_on_gpus = std::ranges::all_of(workers, [](const Worker& worker) { return worker.offer.is_gpu; });
  if (is_on_gpus) return kGpuSettings;
  return compose("`shoal plan RUN/config.toml --memory ", memory_option(memory), "` says which settings make them fit");
}

// Stages that need as much as each other, and for which too few machines are left by those that need more.
struct Misfit {
  std::vector<std::size_t> stages;
  std::uint64_t need = 0;
  std::size_t have = 0, places = 0;  // workers that give so much; places of these stages and of those that need more
};

// Returns those that need most first. memories: of workers.
std::vector<Misfit> misfits_of(const std::vector<std::uint64_t>& memories, const PlacesWanted& wanted) {
  std::map<std::uint64_t, std::vector<std::size_t>, std::greater<>> by_need;
  for (std::size_t stage = 0; stage < wanted.replicas.size(); ++stage) {
    by_need[need_of(wanted.needs, stage).memory_bytes].push_back(stage);
  }
  std::vector<Misfit> misfits;
  std::size_t places = 0;
  for (const auto& [need, stages] : by_need) {
    for (const std::size_t stage : stages) places += wanted.replicas[stage];
    const auto gives = [need = need](std::uint64_t memory) { return memory >= need; };
    const auto have = static_cast<std::size_t>(std::ranges::count_if(memories, gives));
    if (have < places) misfits.push_back({stages, need, have, places});
  }
  return misfits;
}

std::string misfit_words(const Misfit& misfit) {
  const bool is_one = misfit.stages.size() == 1;
  return compose(enumerate("stage", misfit.stages), is_one ? " does" : " do", " not fit: a replica of ",
                 is_one ? "it" : "each", " needs ", size_text(misfit.need), ", and ", counted(misfit.have, "worker"),
                 misfit.have == 1 ? " gives" : " give", " so much where ", misfit.places, " ", is_or_are(misfit.places),
                 " needed; ");
}

}  // namespace

std::string memory_refusal(const std::vector<Worker>& workers, const PlacesWanted& asked) {
  const PlacesWanted wanted = wanted_on(workers, asked);
  if (workers.size() < total(wanted.replicas)) return {};
  std::vector<std::uint64_t> memories;
  for (const Worker& worker : workers) memories.push_back(memory_given(worker.offer));
  std::ranges::sort(memories, std::greater<>());
  const std::vector<Misfit> misfits = misfits_of(memories, wanted);
  if (misfits.empty()) return {};
  std::string text;
  std::size_t missing = 0;
  for (const Misfit& misfit : misfits) {
    text += misfit_words(misfit);
    missing = std::max(missing, misfit.places - misfit.have);
  }
  return compose(text, fewer_credits(workers, wanted), counted(missing, "more worker"), " with --memory ",
                 memory_option(misfits.front().need), " or more would do, or ", fewer_replicas(workers, wanted),
                 "stages that need less: ", settings_words(workers, memories[misfits.back().places - 1]));
}

std::string fits_nowhere(const std::string& name, const MachineOffer& offer, const std::vector<StageNeed>& needs) {
  if (needs.empty() || std::ranges::any_of(needs, [&](const StageNeed& need) { return fits(offer, need); })) return {};
  const auto bytes_there = [&](const StageNeed& need) { return need_on(offer, need).memory_bytes; };
  const auto least = std::ranges::min_element(needs, {}, bytes_there);
  const bool would_fit = std::ranges::any_of(bounded(needs), [&](const StageNeed& need) { return fits(offer, need); });
  const std::string smaller =
      offer.is_gpu ? compose("by ", kGpuSettings)
                   : compose("as `shoal plan RUN/config.toml --memory ", memory_option(offer.memory_bytes), "` says");
  return compose(name, " gives ", size_text(offer.memory_bytes), " and no stage fits: stage ", least - needs.begin(),
                 " needs least, ", size_text(bytes_there(*least)), "; ",
                 would_fit ? fewer_credits_of(needs) : std::string(),
                 "give the node more (memory, or --memory where that bounds it), or make stages smaller, ", smaller);
}

}  // namespace shoal
