// Narrows the question, stage by stage.
#include "runtime/cluster/recovery/fitting_replacement.h"

#include <algorithm>

namespace shoal {
namespace {

constexpr double kNearlyAsFast = 1.5;  // as in are_alike()

bool are_machines_alike(const FittingQuestion& asked) {
  std::vector<MachineOffer> offers;
  std::vector<StageNeed> needs;
  for (const ServedStage& stage : asked.stages) {
    offers.insert(offers.end(), stage.offers.begin(), stage.offers.end());
    needs.push_back(stage.need);
  }
  for (const FreeWorker& free : asked.question.free) offers.push_back(free.worker.offer);
  return are_alike(offers, needs, asked.threads);
}

double capacity_of(const ServedStage& stage, std::uint32_t threads) {
  double capacity = 0;
  for (const MachineOffer& offer : stage.offers) capacity += rate_of(offer, stage.need, threads);
  return capacity;
}

bool lacks_replicas(const FittingQuestion& asked, std::size_t stage) {
  return asked.stages[stage].offers.size() < asked.question.replicas.of(StageId{static_cast<std::uint32_t>(stage)});
}

// Leaves the weakest stage alone open, where none lacks a replica.
void close_but_the_weakest(const FittingQuestion& asked, ReplacementQuestion& narrowed) {
  std::size_t weakest = asked.stages.size();
  for (std::size_t stage = 0; stage < asked.stages.size(); ++stage) {
    if (lacks_replicas(asked, stage)) return;
    const bool is_closed = narrowed.closed.contains(StageId{static_cast<std::uint32_t>(stage)});
    const bool is_weaker = weakest == asked.stages.size() || capacity_of(asked.stages[stage], asked.threads) <
                                                                 capacity_of(asked.stages[weakest], asked.threads);
    if (!is_closed && is_weaker) weakest = stage;
  }
  for (std::uint32_t stage = 0; stage < asked.stages.size(); ++stage) {
    if (stage != weakest) narrowed.closed.insert(StageId{stage});
  }
}

// Says whether the worker may serve the stage at all.
bool is_fit(const FreeWorker& free, StageId stage, const StageNeed& need) {
  return fits(free.worker.offer, need) && !free.out_of_reach.contains(stage);
}

// Leaves those that the stage fits; of unequal ones those that are nearly as fast as the fastest.
std::vector<FreeWorker> narrowed_workers(const FittingQuestion& asked, StageId stage, bool is_alike) {
  const StageNeed& need = asked.stages[stage.value].need;
  std::vector<FreeWorker> workers = asked.question.free;
  std::erase_if(workers, [&](const FreeWorker& free) { return !is_fit(free, stage, need); });
  if (is_alike || workers.empty()) return workers;
  const auto rate = [&](const FreeWorker& free) { return rate_of(free.worker.offer, need, asked.threads); };
  const double fastest = rate(*std::ranges::max_element(workers, {}, rate));
  std::erase_if(workers, [&](const FreeWorker& free) { return rate(free) * kNearlyAsFast <= fastest; });
  return workers;
}

const FreeWorker& chosen(const ReplacementQuestion& question, const Replacement& one) {
  return *std::ranges::find(question.free, one.placement.process,
                            [](const FreeWorker& free) { return free.worker.process; });
}

bool served_before(const ReplacementQuestion& question, const Replacement& one) {
  const auto last = question.last_worker.find({one.placement.stage, one.placement.slot});
  return last != question.last_worker.end() && last->second == chosen(question, one).name;
}

}  // namespace

std::optional<Replacement> plan_fitting_replacement(const FittingQuestion& asked) {
  const bool is_alike = are_machines_alike(asked);
  ReplacementQuestion question = asked.question;
  if (!is_alike) {
    for (const ServedStage& stage : asked.stages) question.strengths.push_back(capacity_of(stage, asked.threads));
  }
  while (true) {
    ReplacementQuestion narrowed = question;
    if (!is_alike && question.capacities.empty()) close_but_the_weakest(asked, narrowed);
    const auto next = plan_replacement(narrowed);
    if (!next || next->placement.stage.value >= asked.stages.size()) return next;
    const StageId stage = next->placement.stage;
    const FreeWorker& worker = chosen(question, *next);
    const bool may_serve = is_fit(worker, stage, asked.stages[stage.value].need);
    const bool is_mover = question.destinations.contains(worker.worker.process);
    if (may_serve && (is_alike || is_mover || served_before(question, *next))) return next;
    if (is_mover) {
      question.destinations.erase(worker.worker.process);
      continue;
    }
    narrowed.free = narrowed_workers(asked, stage, is_alike);
    if (const auto better = plan_replacement(narrowed)) return better;
    question.closed.insert(stage);
  }
}

}  // namespace shoal
