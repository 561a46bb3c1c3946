// Takes apart what a plan has as sums.
#include "runtime/plan/step/step_scene.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/plan/resources/step_time.h"

namespace shoal {

double pass_s_at(const StepMachine& machine, double now_s) {
  double pass_s = machine.passes.front().pass_s;
  for (const PassTime& pass : machine.passes) {
    if (pass.from_s <= now_s) pass_s = pass.pass_s;
  }
  return pass_s;
}

double best_split_s(const StepScene& scene, double now_s) {
  std::map<std::size_t, std::vector<double>> microbatch_s;
  for (const StepMachine& machine : scene.machines) {
    microbatch_s[machine.stage].push_back(kPassesOfTraining * pass_s_at(machine, now_s) * scene.loads[machine.stage]);
  }
  const auto microbatches = static_cast<std::uint64_t>(microbatches_per_step(scene.config));
  double slowest_s = 0;
  for (const auto& [stage, of_it] : microbatch_s) {
    slowest_s = std::max(slowest_s, best_split(of_it, microbatches).takes_s);
  }
  return slowest_s;
}

namespace {

// Each member sends all that it contributes but its own part, and as much again as sums.
double contribution_bytes(const RunPlan& plan, std::size_t stage) {
  const auto members = static_cast<double>(plan.stages[stage].machines.size());
  return static_cast<double>(plan.traffic.reduce_per_member[stage]) * members / std::max(2 * (members - 1), 1.0);
}

}  // namespace

StepScene scene_of(const RunPlan& plan) {
  StepScene scene;
  scene.config = plan.config;
  const auto microbatches = static_cast<std::uint64_t>(microbatches_per_step(plan.config));
  for (const BorderTraffic& border : plan.traffic.borders) {
    scene.borders.push_back({border.activation / microbatches, border.gradient / microbatches});
  }
  scene.token_bytes = 2.0 * sizeof(std::int32_t) * plan.config.batch.microbatch * plan.config.model.context;
  scene.answer_bytes = static_cast<double>(plan.traffic.answers / microbatches);
  for (const std::uint64_t bytes : plan.traffic.state_copy) scene.state_bytes.push_back(static_cast<double>(bytes));
  std::map<std::string, int> count;
  for (const PlannedStage& stage : plan.stages) {
    for (const MachineKind& kind : stage.machines) ++count[kind.name];
  }
  std::map<std::string, int> number;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const auto& [cut, machines] = std::tie(plan.stages[i].cut, plan.stages[i].machines);
    ENSURE(!machines.empty(), "a scene has machines of known speed");
    scene.loads.push_back(machines.front().forward_s ? 1 : cut.cost);
    scene.sum_bytes.push_back(contribution_bytes(plan, i));
    for (const MachineKind& kind : machines) {
      const std::string name = count[kind.name] > 1 ? compose(kind.name, ".", ++number[kind.name]) : kind.name;
      scene.machines.push_back({name, i, {{0, pass_s_of(kind, cut, plan.config) / scene.loads.back()}}, {}});
    }
  }
  return scene;
}

}  // namespace shoal
