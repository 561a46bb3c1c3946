// Options to a plan, the plan to a scene; results to stdout.
#include "launch/commands/plan/simulate_step.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "launch/commands/plan/asked_config.h"
#include "launch/commands/plan/model_cut.h"
#include "launch/say.h"
#include "runtime/plan/step/step_report.h"

namespace shoal {
namespace {

constexpr std::uint64_t kStepsMax = 1000;
constexpr std::string_view kSpawner = "spawner";

Failure simulate_step_usage(const std::string& what) { return fail(Error::kUsage, "simulate step: " + what); }

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  return is_whole && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

Result<RunPlan> planned(const Options& options, Config config) {
  PlanOrder order;
  auto model = cuts_of(config);
  if (!model) return model.failure();
  order.config = std::move(config);
  order.model = std::move(*model);
  for (const std::string& text : options.values("--speed")) {
    const auto kind = machine_kind_of(text);
    if (!kind) return kind.failure();
    if (std::ranges::count(order.kinds, kind->name, &MachineKind::name) > 0 || kind->name == kSpawner) {
      return simulate_step_usage("--speed " + text + ": there is a process of that name already");
    }
    order.kinds.push_back(*kind);
  }
  if (order.kinds.empty())
    return simulate_step_usage("say how fast machines are, as in --speed fast=150msx2 --speed slow=450ms");
  return plan_run(order);
}

// Calls `take` for whoever NAME is, a kind, a machine or the spawner; without one, for everybody.
using Take = std::function<void(StepMachine*, StepLink&)>;
Status for_those(const std::string& option, const std::string& name, StepScene& scene, const Take& take) {
  bool is_known = false;
  for (StepMachine& machine : scene.machines) {
    if (!name.empty() && machine.name != name && machine.name.substr(0, machine.name.find('.')) != name) continue;
    is_known = true;
    take(&machine, machine.link);
  }
  if (name.empty() || name == kSpawner) is_known = true, take(nullptr, scene.spawner);
  return is_known ? Status(Done{}) : Status(simulate_step_usage(option + " " + name + ": no --speed names it"));
}

// "X" for all, or "NAME=X".
Status take_links(const Options& options, const char* option, StepScene& scene,
                  const std::function<void(StepLink&, double)>& set) {
  for (const std::string& text : options.values(option)) {
    const std::size_t equals = text.find('=');
    const auto value = number_of(equals == std::string::npos ? text : text.substr(equals + 1));
    if (!value) return simulate_step_usage(std::string(option) + " " + text + ": expected a number, or NAME=NUMBER");
    const std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
    const auto taken = for_those(option, name, scene, [&](StepMachine*, StepLink& link) { set(link, *value); });
    if (!taken) return taken;
  }
  return Done{};
}

// "NAME=MS@S": a pass takes MS milliseconds from S seconds on.
Status take_paces(const Options& options, StepScene& scene) {
  for (const std::string& text : options.values("--pace")) {
    const std::size_t equals = text.find('=');
    const std::size_t at = text.find('@');
    const bool has_parts = equals != std::string::npos && at != std::string::npos && equals < at;
    const auto ms = has_parts ? number_of(text.substr(equals + 1, at - equals - 1)) : std::nullopt;
    const auto from_s = has_parts ? number_of(text.substr(at + 1)) : std::nullopt;
    if (!ms || !from_s || !(*ms > 0))
      return simulate_step_usage("--pace " + text + ": expected NAME=MS@S, as in slow=450@30");
    const auto take = [&](StepMachine* machine, StepLink&) {
      if (machine != nullptr) machine->passes.push_back({*from_s, *ms / 1e3});
    };
    if (const auto taken = for_those("--pace", text.substr(0, equals), scene, take); !taken) return taken;
  }
  for (StepMachine& machine : scene.machines) std::ranges::stable_sort(machine.passes, {}, &PassTime::from_s);
  return Done{};
}

}  // namespace

Result<SimulateStepOptions> simulate_step_options(const Options& options) {
  auto asked = config_of(options);
  if (!asked) return asked.failure();
  const auto plan = planned(options, std::move(asked->config));
  if (!plan) return plan.failure();
  SimulateStepOptions out;
  out.warning = std::move(asked->warning);
  out.form = options.has("--json") ? OutputForm::kJson : OutputForm::kText;
  out.scene = scene_of(*plan);
  const auto steps = options.count("--steps", 1, kStepsMax);
  if (!steps) return steps.failure();
  out.scene.steps = static_cast<std::size_t>(steps->value_or(out.scene.steps));
  const auto set_rate = [](StepLink& link, double mbit_s) {
    link.bit_s = mbit_s > 0 ? std::max(mbit_s, 1e-3) * 1e6 : StepLink{}.bit_s;
  };
  const auto set_latency = [](StepLink& link, double ms) { link.latency_s = ms / 1e3; };
  for (const Status& taken :
       {take_links(options, "--link-mbit", out.scene, set_rate),
        take_links(options, "--latency-ms", out.scene, set_latency), take_paces(options, out.scene)}) {
    if (!taken) return taken.failure();
  }
  return out;
}

Result<int> run_simulate_step(const SimulateStepOptions& options) {
  say_warning(options.warning);
  const StepReport report{&options.scene, simulate_steps(options.scene)};
  print(options.form == OutputForm::kJson ? json_of(report) : text_of(report));
  return 0;
}

}  // namespace shoal
