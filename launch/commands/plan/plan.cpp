// Options to an order; a run's measured speed.
#include "launch/commands/plan/plan.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include "launch/commands/plan/asked_config.h"
#include "launch/commands/plan/measured.h"
#include "launch/commands/plan/model_cut.h"
#include "launch/say.h"
#include "runtime/base/text/enumerate.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/plan/resources/plan_report.h"

namespace shoal {
namespace {

Failure plan_usage(const std::string& what) { return fail(Error::kUsage, "plan: " + what); }

// A run's replicas computed so many multiply-adds in the time that they measured, all of them together and one on
// average; and the rest of a step that is no computing.
Status take_run(const std::string& directory, PlanOrder& order) {
  const auto run = measured_run(directory);
  if (!run) return run.failure();
  const auto& [config, step, replicas] = *run;
  const auto cut = cut_of(config);
  if (!cut) return cut.failure();
  double cost = 0;
  for (const CutStage& stage : *cut) cost += stage.cost;
  MachineKind kind;
  kind.multiply_adds_s = 3 * cost * static_cast<double>(planned_tokens(config)) / replicas / step.compute_s;
  order.kinds = {kind};
  order.commit_s = step.commit_s;
  say("measured ", step.steps, " steps of ", directory, ": a replica computes ", *kind.multiply_adds_s * 2 / 1e9,
      " GFLOP/s, a step's commit and update take ", step.commit_s * 1e3, " ms");
  return Done{};
}

Status take_speeds(const Options& options, PlanOrder& order) {
  if (options.has("--run") + options.has("--gflops") + options.has("--speed") > 1) {
    return plan_usage("say one of --speed, --gflops and --run");
  }
  if (const auto run = options.value("--run")) return take_run(*run, order);
  const auto gflops = options.number("--gflops", 1e-6);
  if (!gflops) return gflops.failure();
  if (*gflops) {
    MachineKind kind;
    kind.multiply_adds_s = **gflops * 1e9 / 2;
    order.kinds = {kind};
  }
  for (const std::string& text : options.values("--speed")) {
    const auto kind = machine_kind_of(text);
    if (!kind) return kind.failure();
    if (std::ranges::count(order.kinds, kind->name, &MachineKind::name) > 0) {
      return plan_usage("--speed " + text + ": there is a kind of that name already");
    }
    order.kinds.push_back(*kind);
  }
  return Done{};
}

// "X" for every kind, or "NAME=X" for one.
Status take_for_kinds(const Options& options, const char* name, PlanOrder& order,
                      const std::function<Status(const std::string&, MachineKind&)>& take) {
  for (const std::string& text : options.values(name)) {
    const std::size_t equals = text.find('=');
    const std::string kind_name = equals == std::string::npos ? "" : text.substr(0, equals);
    const std::string value = equals == std::string::npos ? text : text.substr(equals + 1);
    bool is_known = kind_name.empty();
    for (MachineKind& kind : order.kinds) {
      if (!kind_name.empty() && kind.name != kind_name) continue;
      is_known = true;
      if (const auto taken = take(value, kind); !taken) return taken;
    }
    if (!is_known) return plan_usage(std::string(name) + " " + text + ": no --speed names that kind");
  }
  return Done{};
}

Status take_price(const std::string& text, MachineKind& kind) {
  std::istringstream number(text);
  double price = 0;
  if (!(number >> price) || !number.eof() || price < 0) {
    return plan_usage("--price " + text + ": expected a price of an hour, as in 1.29");
  }
  kind.price_per_hour = price;
  return Done{};
}

Status take_memory(const Options& options, PlanOrder& order) {
  for (const std::string& text : options.values("--memory")) {
    if (text.find('=') != std::string::npos) continue;
    const auto bytes = bytes_of_text(text);
    if (!bytes) return bytes.failure();
    order.memory_bytes = *bytes;
  }
  return take_for_kinds(options, "--memory", order, [](const std::string& text, MachineKind& kind) -> Status {
    const auto bytes = bytes_of_text(text);
    if (!bytes) return bytes.failure();
    kind.memory_bytes = *bytes;
    return Done{};
  });
}

// CONFIG; without it that of --run's directory, and else the defaults.
Result<AskedConfig> asked_config(const Options& options) {
  const auto run = options.value("--run");
  return !run || options.positional(0) ? config_of(options) : config_of_run(options, *run);
}

// Returns the least of the machines that serve a stage; nothing where none has a limit.
std::optional<std::uint64_t> least_memory(const PlanOrder& order, const PlannedStage& stage) {
  if (stage.machines.empty()) return order.memory_bytes;
  std::optional<std::uint64_t> least;
  for (const MachineKind& machine : stage.machines) {
    const auto own = machine.memory_bytes ? machine.memory_bytes : order.memory_bytes;
    if (own) least = std::min(least.value_or(*own), *own);
  }
  return least;
}

}  // namespace

std::string memory_text(const PlanOrder& order, const RunPlan& plan) {
  bool has_limit = false;
  std::vector<std::string> lacking;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const PlannedStage& stage = plan.stages[i];
    const auto least = least_memory(order, stage);
    has_limit = has_limit || least;
    if (least && stage.on_gpu > *least) lacking.push_back(compose("stage ", i, " (", size_text(stage.on_gpu), ")"));
  }
  if (!has_limit) return {};
  const bool names_settings = !plan.would_fit.empty() || !plan.would_fit_together.empty();
  const std::string settings = names_settings ? ", and so do the settings that are named" : "";
  const std::string verdict =
      lacking.empty() ? "every stage fits" : compose("no GPU of that memory holds ", enumerate(lacking));
  return compose("\n--memory counts as a processor's here: `fits` compares it with `slow behind`", settings,
                 ". If it is a GPU's, `on a GPU` counts: ", verdict, ".\n");
}

Result<PlanOptions> plan_options(const Options& options) {
  auto asked = asked_config(options);
  if (!asked) return asked.failure();
  PlanOptions out;
  out.warning = std::move(asked->warning);
  out.form = options.has("--json") ? OutputForm::kJson : OutputForm::kText;
  out.order.config = std::move(asked->config);
  if (const auto taken = take_speeds(options, out.order); !taken) return taken.failure();
  if (const auto taken = take_memory(options, out.order); !taken) return taken.failure();
  if (out.order.kinds.empty() && options.has("--price"))
    return plan_usage("--price wants a speed: what would it pay for?");
  if (const auto taken = take_for_kinds(options, "--price", out.order, take_price); !taken) return taken.failure();
  const auto mbit_s = options.number("--link-mbit", 0);
  if (!mbit_s) return mbit_s.failure();
  if (mbit_s->value_or(0) > 0) out.order.link_bit_s = **mbit_s * 1e6;
  auto model = cuts_of(out.order.config);
  if (!model) return model.failure();
  out.order.model = std::move(*model);
  return out;
}

Result<int> run_plan(const PlanOptions& options) {
  say_warning(options.warning);
  const auto plan = plan_run(options.order);
  if (!plan) return plan.failure();
  print(options.form == OutputForm::kJson ? json_of(*plan) : text_of(*plan) + memory_text(options.order, *plan));
  return 0;
}

}  // namespace shoal
