// Options to an order; results to stdout.
#include "launch/commands/plan/simulate_swarm.h"

#include <cmath>
#include <sstream>

#include "launch/say.h"
#include "runtime/base/file.h"
#include "runtime/cluster/balance/rebalance_control.h"
#include "runtime/plan/swarm/swarm_report.h"

namespace shoal {
namespace {

constexpr std::uint64_t kNodesMax = 20'000;
constexpr std::uint64_t kStagesMax = 1000;
constexpr std::uint64_t kSeedsMax = 1000;
constexpr double kHoursMax = 10'000;

Failure simulate_swarm_usage(const std::string& what) { return fail(Error::kUsage, "simulate swarm: " + what); }

// "0.5,1,2": numbers above zero.
std::optional<std::vector<double>> numbers_in(const std::string& text) {
  std::vector<double> out;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    std::istringstream number(word);
    double value = 0;
    if (!(number >> value) || !number.eof() || !(value > 0) || !std::isfinite(value)) return std::nullopt;
    out.push_back(value);
  }
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

// "none,300,60".
Status take_policies(const std::string& text, SwarmOrder& order) {
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto period = numbers_in(word);
    if (word != "none" && !period)
      return simulate_swarm_usage("--rebalance " + text + ": expected none or seconds, as in none,300,60");
    order.rebalance_s.push_back(period ? std::optional(period->front()) : std::nullopt);
  }
  return order.rebalance_s.empty() ? Status(simulate_swarm_usage("--rebalance is empty")) : Status(Done{});
}

Status take_counts(const Options& options, SwarmOrder& order) {
  const auto nodes = options.count("--nodes", 2, kNodesMax);
  if (!nodes) return nodes.failure();
  const auto stages = options.count("--stages", 1, kStagesMax);
  if (!stages) return stages.failure();
  const auto seeds = options.count("--seeds", 1, kSeedsMax);
  if (!seeds) return seeds.failure();
  const auto hours = options.number("--hours", 0.01, kHoursMax);
  if (!hours) return hours.failure();
  order.model.nodes = static_cast<std::size_t>(nodes->value_or(order.model.nodes));
  order.stages = static_cast<std::size_t>(stages->value_or(0));
  order.seeds = static_cast<std::size_t>(seeds->value_or(order.seeds));
  order.model.hours = hours->value_or(order.model.hours);
  return Done{};
}

Status take_machines(const Options& options, SwarmOrder& order) {
  const auto lifetime = options.number("--lifetime-hours", 1e-3);
  if (!lifetime) return lifetime.failure();
  order.model.lifetime_h = lifetime->value_or(order.model.lifetime_h);
  if (const auto text = options.value("--speeds")) {
    const auto speeds = numbers_in(*text);
    if (!speeds) return simulate_swarm_usage("--speeds " + *text + ": expected speeds above 0, as in 0.5,1,2");
    order.model.speeds = *speeds;
  }
  if (const auto text = options.value("--links")) {
    const auto rates = numbers_in(*text);
    if (!rates || rates->size() != 2 || rates->front() > rates->back()) {
      return simulate_swarm_usage("--links " + *text +
                                  ": expected the least and the highest rate in Mbit/s, as in 50,500");
    }
    order.model.link_low_bit_s = rates->front() * 1e6;
    order.model.link_high_bit_s = rates->back() * 1e6;
  }
  return Done{};
}

Status take_rule(const Options& options, SwarmOrder& order) {
  const auto state_mb = options.number("--state-mb", 0);
  if (!state_mb) return state_mb.failure();
  if (*state_mb) order.run.state_bits = **state_mb * 8e6;
  const auto warm_up = options.seconds("--warm-up", 0);
  if (!warm_up) return warm_up.failure();
  const auto least_gain = options.number("--least-gain", 0, 1);
  if (!least_gain) return least_gain.failure();
  order.run.rule.warm_up_s = warm_up->value_or(order.run.rule.warm_up_s);
  order.run.rule.least_gain = least_gain->value_or(order.run.rule.least_gain);
  const std::string newcomers = options.value("--newcomers").value_or("count");
  if (newcomers != "count" && newcomers != "gain")
    return simulate_swarm_usage("--newcomers " + newcomers + ": expected count or gain");
  order.run.newcomers = newcomers == "count" ? NewcomerRule::kCount : NewcomerRule::kGain;
  return Done{};
}

Result<bool> is_off(const Options& options, const std::string& name, const std::string& word) {
  const auto text = options.value(name);
  if (text && *text != word) return simulate_swarm_usage(name + " " + *text + ": expected " + word);
  return text.has_value();
}

Status take_controls(const Options& options, SwarmOrder& order) {
  const auto hysteresis = is_off(options, "--hysteresis", "off");
  if (!hysteresis) return hysteresis.failure();
  const auto costs = is_off(options, "--move-cost", "ignored");
  if (!costs) return costs.failure();
  const auto error = options.number("--speed-error", 0, 1);
  if (!error) return error.failure();
  if (*hysteresis && options.has("--least-gain"))
    return simulate_swarm_usage("--hysteresis off is a least gain of 0; leave --least-gain away");
  RebalanceRule& rule = order.run.rule;
  if (*hysteresis) rule = without(RebalanceControl::kWithoutHysteresis, rule);
  if (*costs) rule = without(RebalanceControl::kWithoutCost, rule);
  order.run.speed_error = error->value_or(0);
  return Done{};
}

Status take_trace(const Options& options, SwarmOrder& order) {
  const auto path = options.value("--trace");
  if (!path) return Done{};
  for (const char* name : {"--nodes", "--hours", "--seeds", "--speeds", "--lifetime-hours", "--links"}) {
    if (options.has(name))
      return simulate_swarm_usage(std::string(name) + " is of drawn traces; --trace has its own machines");
  }
  const auto text = read_file(*path);
  if (!text) return text.failure();
  auto trace = trace_of_text(*text);
  if (!trace) return fail(trace.failure().error, *path + ", " + trace.failure().message);
  order.trace = std::move(*trace);
  return Done{};
}

}  // namespace

Result<SimulateSwarmOptions> simulate_swarm_options(const Options& options) {
  SimulateSwarmOptions out;
  out.form = options.has("--json") ? OutputForm::kJson : OutputForm::kText;
  out.svg = options.value("--svg");
  out.trace_out = options.value("--write-trace");
  SwarmOrder& order = out.order;
  for (const Status& taken : {take_policies(options.value("--rebalance").value_or("none,300,60"), order),
                              take_counts(options, order), take_machines(options, order), take_rule(options, order),
                              take_controls(options, order), take_trace(options, order)}) {
    if (!taken) return taken.failure();
  }
  const std::size_t nodes = order.trace ? order.trace->machines.size() : order.model.nodes;
  if (stages_of(order) > nodes) return simulate_swarm_usage("--stages: there are more of them than machines");
  return out;
}

Result<int> run_simulate_swarm(const SimulateSwarmOptions& options) {
  if (options.trace_out) {
    const SwarmTrace trace = options.order.trace ? *options.order.trace : draw_trace(options.order.model, 1);
    if (const auto written = replace_file(*options.trace_out, text_of(trace)); !written) return written.failure();
    say("wrote ", *options.trace_out);
  }
  const SwarmComparison comparison = compare(options.order);
  print(options.form == OutputForm::kJson ? json_of(comparison) : text_of(comparison));
  if (!options.svg) return 0;
  if (const auto written = replace_file(*options.svg, draw(chart_of(comparison))); !written) return written.failure();
  say("wrote ", *options.svg);
  return 0;
}

}  // namespace shoal
