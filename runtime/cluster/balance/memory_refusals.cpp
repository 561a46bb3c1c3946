// Counts, stage by stage, the workers and the machines that hold it.
#include "runtime/cluster/balance/memory_refusals.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/text/enumerate.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/cluster/balance/host_room.h"

namespace shoal {
namespace {

constexpr const char* kGpuSettings = "a lower pipeline.credits, a smaller batch.microbatch, or pipeline.recompute=true";
constexpr const char* kHostSettings =
    "more pipeline.stages, or sync.backend=nccl, where it is not set: sums stay on the GPUs";
constexpr const char* kProcessorSettings = "a smaller batch.microbatch, or more pipeline.stages";

bool is_on_gpu(const Worker& worker) { return worker.offer.is_gpu; }

// Says whether the stage fits what the worker gives of its own device, whatever the machine beneath it has.
bool fits_device(MachineOffer offer, const StageNeed& need) {
  offer.host_bytes = 0;
  return fits(offer, need);
}

// As an option takes it, not less: "21.4G".
std::string memory_option(std::uint64_t bytes) {
  constexpr double kGiga = 1e9;
  constexpr double kMega = 1e6;
  const auto value = static_cast<double>(bytes);
  const bool is_large = value >= kGiga;
  return compose(number_text(std::ceil(10 * value / (is_large ? kGiga : kMega)) / 10, 1), is_large ? "G" : "M");
}

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
  return can_fill_places(workers, wanted) ? fewer_credits_of(wanted.needs) : std::string();
}

// Names the largest number of replicas, the same for each stage, that these workers have room for; empty: there is
// none.
std::string fewer_replicas(const std::vector<Worker>& workers, PlacesWanted wanted) {
  for (std::uint32_t replicas = std::ranges::max(wanted.replicas) - 1; replicas > 0; --replicas) {
    for (std::uint32_t& one : wanted.replicas) one = std::min(one, replicas);
    if (can_fill_places(workers, wanted)) return compose("pipeline.replicas=", replicas, ", or ");
  }
  return {};
}

// Names settings with which stages need less; `shoal plan` knows nothing of GPUs.
std::string settings_words(const std::vector<Worker>& workers, const PlacesWanted& wanted, std::uint64_t memory) {
  if (std::ranges::all_of(workers, is_on_gpu)) return kGpuSettings;
  return compose("`shoal plan ", wanted.config_file, " --memory ", memory_option(memory),
                 "` says which settings make them fit");
}

// Stages that need as much as each other, and for which too few machines are left by those that need more.
struct Misfit {
  std::vector<std::size_t> stages;
  std::uint64_t need = 0;
  std::size_t have = 0, places = 0;  // workers that give so much; places of these stages and of those that need more
  std::size_t own = 0;               // places of these stages alone
};

std::size_t places_of(const std::vector<std::size_t>& stages, const PlacesWanted& wanted) {
  std::size_t places = 0;
  for (const std::size_t stage : stages) places += wanted.replicas[stage];
  return places;
}

// Returns those that need most first. memories: of workers.
std::vector<Misfit> misfits_of(const std::vector<std::uint64_t>& memories, const PlacesWanted& wanted) {
  std::map<std::uint64_t, std::vector<std::size_t>, std::greater<>> by_need;
  for (std::size_t stage = 0; stage < wanted.replicas.size(); ++stage) {
    by_need[need_of(wanted.needs, stage).memory_bytes].push_back(stage);
  }
  std::vector<Misfit> misfits;
  std::size_t places = 0;
  for (const auto& [need, stages] : by_need) {
    const std::size_t own = places_of(stages, wanted);
    places += own;
    const auto gives = [need = need](std::uint64_t memory) { return memory >= need; };
    const auto have = static_cast<std::size_t>(std::ranges::count_if(memories, gives));
    if (have < places) misfits.push_back({stages, need, have, places, own});
  }
  return misfits;
}

// Says "stages 0 and 1 do not fit: a replica of each needs 60.0 GB".
std::string need_words(const Misfit& misfit) {
  const bool is_one = misfit.stages.size() == 1;
  return compose(enumerate("stage", misfit.stages), is_one ? " does" : " do", " not fit: a replica of ",
                 is_one ? "it" : "each", " needs ", size_text(misfit.need));
}

// Says "4 are needed, 1 for it and 3 for stages that need more".
std::string places_words(const Misfit& misfit) {
  const std::string all = compose(misfit.places, " ", is_or_are(misfit.places), " needed");
  if (misfit.own == misfit.places) return all;
  return compose(all, ", ", misfit.own, " for ", misfit.stages.size() == 1 ? "it" : "them", " and ",
                 misfit.places - misfit.own, " for stages that need more");
}

std::string misfit_words(const Misfit& misfit) {
  return compose(need_words(misfit), ", and ", counted(misfit.have, "worker"), misfit.have == 1 ? " gives" : " give",
                 " so much where ", places_words(misfit), "; ");
}

// Empty: each stage has enough workers that give what it needs of their devices.
std::string device_refusal(const std::vector<Worker>& workers, const PlacesWanted& wanted) {
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
                 "stages that need less: ", settings_words(workers, wanted, memories[misfits.back().places - 1]));
}

// The same of the machines beneath the workers, which those on one share.
std::vector<Misfit> host_misfits_of(const std::vector<Worker>& workers, const PlacesWanted& wanted) {
  const bool has_gpus = std::ranges::any_of(workers, is_on_gpu);
  const bool has_processors = !std::ranges::all_of(workers, is_on_gpu);
  std::map<HostTake, std::vector<std::size_t>, std::greater<>> by_need;
  for (std::size_t stage = 0; stage < wanted.replicas.size(); ++stage) {
    const HostTake take = host_take(need_of(wanted.needs, stage));
    by_need[{has_gpus ? take.on_gpu : 0, has_processors ? take.on_processor : 0}].push_back(stage);
  }
  const HostRoom room(workers);
  std::vector<std::size_t> all(workers.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<Misfit> misfits;
  HostTake least{~std::uint64_t{0}, ~std::uint64_t{0}};
  std::size_t places = 0;
  for (const auto& [take, stages] : by_need) {
    const std::size_t own = places_of(stages, wanted);
    places += own;
    least = {std::min(least.on_gpu, take.on_gpu), std::min(least.on_processor, take.on_processor)};
    const std::size_t have = room.takers(all, least);
    if (have < places) misfits.push_back({stages, has_gpus ? take.on_gpu : take.on_processor, have, places, own});
  }
  return misfits;
}

// The machine with most room, of those that have a bound: by a worker that states it.
struct Roomiest {
  std::string nodes;
  std::uint64_t bytes = 0;
  std::size_t workers = 0;
};
Roomiest roomiest_machine(const std::vector<Worker>& workers) {
  const HostRoom room(workers);
  std::optional<std::size_t> most;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (workers[i].offer.host_bytes > 0 && (!most || room.left(i) > room.left(*most))) most = i;
  }
  ENSURE(most, "a machine that holds too little has a bound");
  Roomiest found{nodes_beside(*most, workers, room), room.left(*most), 0};
  for (std::size_t i = 0; i < workers.size(); ++i) found.workers += room.share(i, *most) ? 1 : 0;
  return found;
}

// Adds to what is said of the needs what the machines have, and what would do.
std::string host_refusal(const std::string& needs, const std::vector<Worker>& workers, const PlacesWanted& wanted) {
  const Roomiest most = roomiest_machine(workers);
  const bool has_gpus = std::ranges::any_of(workers, is_on_gpu);
  return compose(
      needs, " (the machine of ", most.nodes, " has ", size_text(most.bytes), " for ", counted(most.workers, "worker"),
      "); a node on another machine would do, or ", fewer_replicas(workers, wanted),
      "stages that need less: ", has_gpus ? kHostSettings : settings_words(workers, wanted, most.bytes / most.workers));
}

std::string host_misfit_words(const std::vector<Misfit>& misfits) {
  std::string text;
  for (const Misfit& misfit : misfits) {
    text += compose(text.empty() ? "" : "; ", need_words(misfit), " of host memory, and the machines have room for ",
                    misfit.have, " where ", places_words(misfit));
  }
  return text;
}

// Says that each stage alone has room for its replicas, and all of them together have not.
std::string host_sum_words(const std::vector<Worker>& workers, const PlacesWanted& wanted) {
  std::uint64_t sum = 0;
  for (std::size_t stage = 0; stage < wanted.replicas.size(); ++stage) {
    sum += wanted.replicas[stage] * host_memory_of(workers.front().offer, {need_of(wanted.needs, stage)});
  }
  return compose("the replicas together need ", size_text(sum), " of host memory, and do not fit into the machines");
}

}  // namespace

std::string memory_refusal(const std::vector<Worker>& workers, const PlacesWanted& asked) {
  const PlacesWanted wanted = wanted_on(workers, asked);
  const auto places = std::accumulate(wanted.replicas.begin(), wanted.replicas.end(), std::size_t{0});
  if (workers.size() < places) return {};
  const std::string of_devices = device_refusal(workers, wanted);
  const std::vector<Misfit> misfits = host_misfits_of(workers, wanted);
  if (!misfits.empty()) {
    const std::string of_hosts = host_refusal(host_misfit_words(misfits), workers, wanted);
    return of_devices.empty() ? of_hosts : compose(of_devices, "; and ", of_hosts);
  }
  const bool are_bounded = std::ranges::any_of(workers, [](const Worker& one) { return one.offer.host_bytes > 0; });
  if (!of_devices.empty() || !are_bounded || can_fill_places(workers, wanted)) return of_devices;
  return host_refusal(host_sum_words(workers, wanted), workers, wanted);
}

namespace {

// Names the stage that takes least, of those that fit the device.
std::string host_fits_nowhere(const std::string& name, const MachineOffer& offer, const std::vector<StageNeed>& needs) {
  std::optional<std::pair<std::uint64_t, std::size_t>> least;
  for (std::size_t stage = 0; stage < needs.size(); ++stage) {
    if (!fits_device(offer, needs[stage])) continue;
    const std::pair candidate(host_memory_of(offer, {needs[stage]}), stage);
    if (!least || candidate < *least) least = candidate;
  }
  return compose(name, ": no stage fits: stage ", least->second, " needs ", size_text(least->first),
                 " of host memory, its machine has ", size_text(offer.host_bytes),
                 "; a node on another machine would do, or ",
                 "stages that need less: ", offer.is_gpu ? kHostSettings : kProcessorSettings);
}

}  // namespace

std::string fits_nowhere(const std::string& name, const MachineOffer& offer, const std::vector<StageNeed>& needs,
                         const std::string& config_file) {
  if (needs.empty() || std::ranges::any_of(needs, [&](const StageNeed& need) { return fits(offer, need); })) return {};
  const auto fits_one = [&](const StageNeed& need) { return fits_device(offer, need); };
  if (std::ranges::any_of(needs, fits_one)) return host_fits_nowhere(name, offer, needs);
  const auto bytes_there = [&](const StageNeed& need) { return need_on(offer, need).memory_bytes; };
  const auto least = std::ranges::min_element(needs, {}, bytes_there);
  const bool would_fit = std::ranges::any_of(bounded(needs), [&](const StageNeed& need) { return fits(offer, need); });
  const std::string smaller =
      offer.is_gpu ? compose("by ", kGpuSettings)
                   : compose("as `shoal plan ", config_file, " --memory ", memory_option(offer.memory_bytes), "` says");
  return compose(name, " gives ", size_text(offer.memory_bytes), " and no stage fits: stage ", least - needs.begin(),
                 " needs least, ", size_text(bytes_there(*least)), "; ",
                 would_fit ? fewer_credits_of(needs) : std::string(),
                 "give the node more (memory, or --memory where that bounds it), or make stages smaller, ", smaller);
}

}  // namespace shoal
