// Loads are counted anew for each question: a handful of stages and workers.
#include "runtime/cluster/recovery/shared_devices.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "runtime/base/compose.h"

namespace shoal {

namespace {

using Loads = std::map<ProcessIncarnation, std::set<StageId>>;

[[nodiscard]] Loads loads_of(const ReplacementQuestion& question) {
  Loads loads;
  for (const TakenSlot& taken : question.taken) loads[taken.process].insert(taken.stage);
  return loads;
}

// Whoever of these may have the stage's next place.
[[nodiscard]] std::vector<FreeWorker> candidates_for(StageId stage, const ReplacementQuestion& question, Doubling who) {
  std::vector<FreeWorker> candidates = question.sharing;
  const auto last = question.last_worker.find({stage, lowest_free_slot(question, stage)});
  const auto had_it = [&](const FreeWorker& one) {
    return last != question.last_worker.end() && last->second == one.name;
  };
  if (who == Doubling::kWhoHadIt) std::erase_if(candidates, [&](const FreeWorker& one) { return !had_it(one); });
  return candidates;
}

[[nodiscard]] std::map<StageId, std::uint32_t> counts_of(const Loads& loads, std::uint32_t stages) {
  std::map<StageId, std::uint32_t> counts;
  for (std::uint32_t stage = 0; stage < stages; ++stage) counts[StageId{stage}] = 0;
  for (const auto& [process, served] : loads) {
    for (const StageId stage : served) ++counts[stage];
  }
  return counts;
}

[[nodiscard]] bool may_serve(const FreeWorker& worker, std::set<StageId> stages, StageId more,
                             const ReplacementQuestion& question) {
  if (worker.out_of_reach.contains(more)) return false;
  stages.insert(more);
  std::vector<StageNeed> needs;
  for (const StageId stage : stages) {
    if (stage.value < question.needs.size()) needs.push_back(question.needs[stage.value]);
  }
  return fits_together(worker.worker.offer, needs);
}

// The worker with the fewest stages of those that do not serve this one and have room for it; then one whose node
// serves it least, then the first of the list. Nothing: none.
[[nodiscard]] std::optional<FreeWorker> least_loaded(const std::vector<FreeWorker>& workers, StageId stage,
                                                     const Loads& loads, const ReplacementQuestion& question) {
  std::optional<FreeWorker> best;
  std::optional<std::pair<std::size_t, std::ptrdiff_t>> least;
  for (const FreeWorker& candidate : workers) {
    const auto served = loads.find(candidate.worker.process);
    const auto stages = served == loads.end() ? std::set<StageId>() : served->second;
    if (stages.contains(stage) || !may_serve(candidate, stages, stage, question)) continue;
    const auto on_node = std::ranges::count_if(question.taken, [&](const TakenSlot& taken) {
      return taken.stage == stage && taken.node == candidate.worker.node;
    });
    const std::pair cost(stages.size(), on_node);
    if (least && *least <= cost) continue;
    least = cost;
    best = candidate;
  }
  return best;
}

// True while a stage has somebody too many: whoever is to give way has not gone yet.
[[nodiscard]] bool is_under_way(const Loads& loads, const std::map<StageId, std::uint32_t>& counts,
                                const ReplicasWanted& replicas) {
  return std::ranges::any_of(loads, [&](const auto& load) {
    const auto is_too_many = [&](StageId stage) { return counts.at(stage) > replicas.of(stage); };
    return load.second.size() > 1 && std::ranges::any_of(load.second, is_too_many);
  });
}

}  // namespace

std::optional<Replacement> plan_doubling(const ReplacementQuestion& question, Doubling who) {
  const Loads loads = loads_of(question);
  const auto is_anybody_free = [&](StageId stage) {
    return std::ranges::any_of(question.free,
                               [&](const FreeWorker& one) { return may_serve(one, {}, stage, question); });
  };
  std::optional<std::tuple<std::uint32_t, StageId, FreeWorker>> neediest;
  for (const auto& [stage, count] : counts_of(loads, question.stages)) {
    const bool is_needier = count < question.replicas.of(stage) && (!neediest || count < std::get<0>(*neediest));
    if (!is_needier || is_anybody_free(stage)) continue;
    const auto worker = least_loaded(candidates_for(stage, question, who), stage, loads, question);
    if (worker) neediest.emplace(count, stage, *worker);
  }
  if (!neediest) return std::nullopt;
  const auto& [count, stage, worker] = *neediest;
  return Replacement{{stage, lowest_free_slot(question, stage), worker.worker.process},
                     compose("stage ", stage, " has ", count, " of ", question.replicas.of(stage),
                             " replicas, and nobody is free; ", worker.name, " takes it in addition")};
}

// Of the stages of the busiest the last one goes first: what stays is a run of stages.
std::optional<Replacement> plan_take_over(const ReplacementQuestion& question) {
  const Loads loads = loads_of(question);
  if (is_under_way(loads, counts_of(loads, question.stages), question.replicas)) return std::nullopt;
  std::vector<FreeWorker> takers = question.free;
  takers.insert(takers.end(), question.sharing.begin(), question.sharing.end());
  const auto load_of = [&](ProcessIncarnation process) {
    const auto found = loads.find(process);
    return found == loads.end() ? std::size_t{0} : found->second.size();
  };
  const auto busiest = std::ranges::max_element(loads, {}, [](const auto& load) { return load.second.size(); });
  if (busiest == loads.end()) return std::nullopt;
  for (auto stage = busiest->second.rbegin(); stage != busiest->second.rend(); ++stage) {
    const auto taker = least_loaded(takers, *stage, loads, question);
    if (!taker || load_of(taker->worker.process) + 2 > busiest->second.size()) continue;
    return Replacement{{*stage, lowest_free_slot(question, *stage), taker->worker.process},
                       compose("a worker serves ", busiest->second.size(), " stages; ", taker->name, " takes stage ",
                               *stage, " over")};
  }
  return std::nullopt;
}

std::optional<SharedMember> find_superfluous(const std::vector<SharedMember>& members, const ReplicasWanted& replicas) {
  std::map<ProcessIncarnation, std::size_t> loads;
  std::map<StageId, std::size_t> counts;
  for (const SharedMember& member : members) ++loads[member.process], ++counts[member.stage];
  std::optional<SharedMember> found;
  for (const SharedMember& member : members) {
    if (loads[member.process] < 2 || counts[member.stage] <= replicas.of(member.stage)) continue;
    if (!found || loads[member.process] > loads[found->process]) found = member;
  }
  return found;
}

}  // namespace shoal
