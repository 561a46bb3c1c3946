// Cut, machines, memory, traffic, time, and then the same again with one thing changed.
#include "runtime/plan/resources/run_plan.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/time/units.h"
#include "runtime/cluster/balance/assignment.h"
#include "runtime/cluster/replicas_wanted.h"
#include "runtime/pipeline/schedule.h"
#include "runtime/plan/resources/cut_proposal.h"
#include "runtime/plan/resources/device_fit.h"
#include "runtime/plan/resources/host_need.h"

namespace shoal {
namespace {

// Time of forward and backward of one microbatch.
double microbatch_s(const MachineKind& machine, const CutStage& stage, const Config& config) {
  return kPassesOfTraining * pass_s_of(machine, stage, config);
}

// The stages of a run's replicas in the order in which they are placed at its start (placement.h).
std::vector<std::size_t> places_of(const ReplicasWanted& replicas, std::size_t stages) {
  std::vector<std::size_t> places;
  for (std::uint32_t slot = 0; slot < replicas.most(); ++slot) {
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      if (slot < replicas.of(StageId{stage})) places.push_back(stage);
    }
  }
  return places;
}

// Gives each machine a stage: that of a listed place; otherwise in proportion to cost, or, of paced machines, where
// each stage costs the same.
Status give_machines(const PlanOrder& order, std::vector<PlannedStage>& stages) {
  if (order.kinds.empty()) return Done{};
  const ReplicasWanted replicas = replicas_wanted(order.config.pipeline);
  const auto machines = machines_of(order.kinds, replicas.total(static_cast<std::uint32_t>(stages.size())));
  if (machines.size() < stages.size()) {
    return fail(Error::kUsage, compose("there are ", machines.size(), " machines for ", stages.size(),
                                       " stages; raise a count of --speed or lower pipeline.stages"));
  }
  const bool is_paced =
      std::ranges::any_of(machines, [](const MachineKind& kind) { return kind.forward_s.has_value(); });
  std::vector<double> speeds;
  std::vector<double> loads;
  for (const MachineKind& machine : machines) {
    speeds.push_back(machine.forward_s ? 1 / *machine.forward_s : *machine.multiply_adds_s);
  }
  for (const PlannedStage& stage : stages) loads.push_back(is_paced ? 1 : stage.cut.cost);
  const auto as_listed = places_of(replicas, stages.size());
  const bool is_listed = replicas.is_listed() && machines.size() <= as_listed.size();
  const auto stage_of = is_listed ? as_listed : best_assignment(speeds, loads);
  for (std::size_t i = 0; i < machines.size(); ++i) stages[stage_of[i]].machines.push_back(machines[i]);
  for (PlannedStage& stage : stages) stage.replicas = stage.machines.size();
  return Done{};
}

Status check_kinds(const std::vector<MachineKind>& kinds) {
  const auto is_paced = [](const MachineKind& kind) { return kind.forward_s.has_value(); };
  if (std::ranges::all_of(kinds, is_paced) || std::ranges::none_of(kinds, is_paced)) return Done{};
  return fail(Error::kUsage, "speeds in GFLOP/s and in ms do not compare: give all kinds of machines in one of them");
}

void take_memory(const PlanOrder& order, std::vector<PlannedStage>& stages) {
  std::vector<CutStage> cuts;
  for (const PlannedStage& stage : stages) cuts.push_back(stage.cut);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    PlannedStage& stage = stages[i];
    stage.memory = memory_need(order.config, cuts, i, stage.replicas);
    stage.credits = credit_need(order.config, cuts, i, stage.replicas);
    const DeviceNeed need = device_need(order.config, cuts, i, stage.replicas);
    stage.on_gpu = bytes_at(need, need.held);
    stage.beside_gpu = total_bytes(host_need(order.config, stage.memory, cuts.size(), i, stage.replicas));
    std::optional<std::uint64_t> least = stage.machines.empty() ? order.memory_bytes : std::nullopt;
    for (const MachineKind& machine : stage.machines) {
      const auto own = machine.memory_bytes ? machine.memory_bytes : order.memory_bytes;
      if (own) least = least ? std::min(*least, *own) : *own;
    }
    stage.fits = !least || stage.credits.total_bytes <= *least;
  }
}

StepTime time_of(const PlanOrder& order, const RunPlan& plan) {
  StepTiming timing;
  timing.microbatches = static_cast<std::uint64_t>(microbatches_per_step(order.config));
  timing.commit_s = order.commit_s;
  for (const PlannedStage& stage : plan.stages) {
    std::vector<double> own;
    for (const MachineKind& machine : stage.machines) own.push_back(microbatch_s(machine, stage.cut, order.config));
    timing.microbatch_s.push_back(std::move(own));
  }
  if (!order.link_bit_s) return step_time(timing);
  const double byte_s = 8 / *order.link_bit_s;
  for (std::size_t i = 0; i < plan.traffic.borders.size(); ++i) {
    // A link carries what its machine's share of the microbatches is; both directions at once.
    const auto links = static_cast<double>(std::min(plan.stages[i].replicas, plan.stages[i + 1].replicas));
    const auto& border = plan.traffic.borders[i];
    const auto bytes = static_cast<double>(std::max(border.activation, border.gradient));
    timing.link_s.push_back(bytes * byte_s / static_cast<double>(timing.microbatches) / links);
  }
  for (const std::uint64_t bytes : plan.traffic.reduce_per_member) {
    timing.reduce_s = std::max(timing.reduce_s, static_cast<double>(bytes) * byte_s);
  }
  return step_time(timing);
}

void take_time(const PlanOrder& order, RunPlan& plan) {
  if (order.kinds.empty()) return;
  plan.time = time_of(order, plan);
  plan.tokens_per_s = static_cast<double>(planned_tokens(order.config)) / plan.time->total_s;
  double price_per_hour = 0;
  for (const PlannedStage& stage : plan.stages) {
    for (const MachineKind& machine : stage.machines) {
      if (!machine.price_per_hour) return;
      price_per_hour += *machine.price_per_hour;
    }
  }
  plan.price_per_billion_tokens = price_per_hour * 1e9 / (*plan.tokens_per_s * kSecondsPerHour);
}

// Stages with their machines and memory, which is all that fitting depends on.
Result<std::vector<PlannedStage>> placed_stages(const PlanOrder& order) {
  const auto cut = stages_of(order.model, order.config.pipeline);
  if (!cut) return cut.failure();
  std::vector<PlannedStage> stages;
  const ReplicasWanted replicas = replicas_wanted(order.config.pipeline);
  for (const CutStage& stage : *cut) {
    const StageId at{static_cast<std::uint32_t>(stages.size())};
    stages.push_back({stage, {}, replicas.of(at), {}, {}, 0, true});
  }
  if (const auto given = give_machines(order, stages); !given) return given.failure();
  if (std::ranges::count(stages, 0U, &PlannedStage::replicas) > 0) {
    return fail(Error::kUsage, "a stage would have no machine");
  }
  take_memory(order, stages);
  return stages;
}

// Everything but what other orders would bring.
Result<RunPlan> plan_alone(const PlanOrder& order) {
  auto stages = placed_stages(order);
  if (!stages) return stages.failure();
  RunPlan plan;
  plan.config = order.config;
  plan.stages = std::move(*stages);
  std::vector<CutStage> cut;
  std::vector<std::size_t> counts;
  for (const PlannedStage& stage : plan.stages) {
    cut.push_back(stage.cut);
    counts.push_back(stage.replicas);
  }
  plan.traffic = step_traffic(order.config, cut, counts);
  take_time(order, plan);
  plan.fits = std::ranges::all_of(plan.stages, &PlannedStage::fits);
  return plan;
}

// Counts, so that one more can be added to them.
std::vector<MachineKind> counted_kinds(const PlanOrder& order) {
  const PipelineConfig& pipeline = order.config.pipeline;
  const std::size_t needed = replicas_wanted(pipeline).total(static_cast<std::uint32_t>(pipeline.stages));
  const auto machines = machines_of(order.kinds, needed);
  std::vector<MachineKind> kinds = order.kinds;
  for (MachineKind& kind : kinds) {
    kind.count = static_cast<std::uint64_t>(std::ranges::count(machines, kind.name, &MachineKind::name));
  }
  return kinds;
}

std::vector<OneMore> one_more_of_each(const PlanOrder& order, const RunPlan& plan) {
  std::vector<OneMore> out;
  for (std::size_t i = 0; i < order.kinds.size(); ++i) {
    PlanOrder larger = order;
    larger.kinds = counted_kinds(order);
    ++*larger.kinds[i].count;
    const auto with = plan_alone(larger);
    if (!with) continue;
    OneMore more{order.kinds[i].name, *with->tokens_per_s, 0};
    for (std::size_t stage = 0; stage < with->stages.size(); ++stage) {
      if (with->stages[stage].replicas > plan.stages[stage].replicas) more.stage = stage;
    }
    out.push_back(std::move(more));
  }
  return out;
}

// Machines of equal speed have the best cut by cost already; so do paced ones, for which all stages are alike. Another
// cut may bring other machines to a stage, which then want another cut: a few turns settle that.
std::optional<ProposedCut> better_cut(const PlanOrder& order, const RunPlan& plan) {
  constexpr int kTurns = 4;
  constexpr double kNoticeable = 1.02;
  const auto speed = [](const MachineKind& kind) { return kind.multiply_adds_s.value_or(0); };
  const bool are_equal = std::ranges::all_of(
      order.kinds, [&](const MachineKind& kind) { return speed(kind) == speed(order.kinds.front()); });
  if (are_equal || plan.stages.size() < 2) return std::nullopt;
  std::vector<double> costs;
  for (const CutStage& layer : order.model.layers) costs.push_back(layer.cost);
  std::optional<ProposedCut> best;
  PlanOrder other = order;
  other.config.pipeline.cut = Cut::kListed;
  RunPlan now = plan;
  for (int turn = 0; turn < kTurns; ++turn) {
    std::vector<double> speeds;
    for (const PlannedStage& stage : now.stages) {
      speeds.push_back(0);
      for (const MachineKind& machine : stage.machines) speeds.back() += speed(machine);
    }
    other.config.pipeline.cut_listed = cut_for(costs, speeds);
    const auto next = plan_alone(other);
    if (!next) break;
    const double least = best ? best->tokens_per_s : kNoticeable * *plan.tokens_per_s;
    const bool may_be = next->fits || !plan.fits;
    if (may_be && *next->tokens_per_s > least) best = {other.config.pipeline.cut_listed, *next->tokens_per_s};
    now = *next;
  }
  return best;
}

bool would_fit(PlanOrder order, const std::function<void(Config&)>& change) {
  change(order.config);
  const auto stages = placed_stages(order);
  return stages && std::ranges::all_of(*stages, &PlannedStage::fits);
}

void cut_into(Config& config, int stages) {
  if (config.pipeline.stages == stages) return;
  config.pipeline.stages = stages;
  if (config.pipeline.cut == Cut::kListed) config.pipeline.cut = Cut::kAuto;
}

// The least change of each kind with which everything fits.
std::vector<std::string> what_would_fit(const PlanOrder& order) {
  std::vector<std::string> out;
  if (would_fit(order, [](Config& config) { config.pipeline.recompute = true; })) {
    out.emplace_back("pipeline.recompute=true");
  }
  for (int credits = static_cast<int>(credits_per_first_replica(order.config)); credits > 0; --credits) {
    if (!would_fit(order, [credits](Config& config) { config.pipeline.credits = credits; })) continue;
    out.push_back(compose("pipeline.credits=", credits));
    break;
  }
  for (int size = order.config.batch.microbatch / 2; size > 0; size /= 2) {
    const bool divides = order.config.batch.sequences % size == 0;
    if (!divides || !would_fit(order, [size](Config& config) { config.batch.microbatch = size; })) continue;
    out.push_back(compose("batch.microbatch=", size));
    break;
  }
  for (int stages = order.config.pipeline.stages + 1; stages <= order.config.model.layers; ++stages) {
    if (!would_fit(order, [stages](Config& config) { cut_into(config, stages); })) continue;
    out.push_back(compose("pipeline.stages=", stages));
    break;
  }
  return out;
}

// Finds settings that fit together, for when no change alone is enough: in the fewest stages, with the largest
// microbatch.
std::vector<std::string> what_would_fit_together(const PlanOrder& order) {
  for (int stages = order.config.pipeline.stages; stages <= order.config.model.layers; ++stages) {
    for (int size = order.config.batch.microbatch; size > 0; size /= 2) {
      const auto least = [stages, size](Config& config) {
        cut_into(config, stages);
        config.pipeline.recompute = true;
        config.pipeline.credits = 1;
        config.batch.microbatch = size;
      };
      if (order.config.batch.sequences % size != 0 || !would_fit(order, least)) continue;
      std::vector<std::string> settings{"pipeline.recompute=true", "pipeline.credits=1",
                                        compose("batch.microbatch=", size)};
      if (stages != order.config.pipeline.stages) settings.push_back(compose("pipeline.stages=", stages));
      return settings;
    }
  }
  return {};
}

}  // namespace

double pass_s_of(const MachineKind& machine, const CutStage& stage, const Config& config) {
  if (machine.forward_s) return *machine.forward_s;
  ENSURE(machine.multiply_adds_s.has_value(), "the speed is known");
  return stage.cost * static_cast<double>(tokens_of_microbatch(config)) / *machine.multiply_adds_s;
}

Result<RunPlan> plan_run(const PlanOrder& order) {
  if (const auto checked = check_kinds(order.kinds); !checked) return checked.failure();
  auto plan = plan_alone(order);
  if (!plan) return plan;
  if (plan->time) {
    plan->one_more = one_more_of_each(order, *plan);
    plan->better_cut = better_cut(order, *plan);
  }
  if (!plan->fits) plan->would_fit = what_would_fit(order);
  if (!plan->fits && plan->would_fit.empty()) plan->would_fit_together = what_would_fit_together(order);
  return plan;
}

}  // namespace shoal
