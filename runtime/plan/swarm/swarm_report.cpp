// Columns, JSON, curves.
#include "runtime/plan/swarm/swarm_report.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/base/time/units.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMinutesOfPoint = 10;  // mean of so many minutes is one point of a curve

std::string policy_word(const SwarmPolicyResult& policy) {
  return policy.rebalance_s ? compose(*policy.rebalance_s) : "none";
}

std::string fixed(double value) { return number_text(value, 1); }

double rounded(double value) { return std::round(value * 100) / 100; }

std::size_t seeds_of(const SwarmComparison& comparison) { return comparison.order.trace ? 1 : comparison.order.seeds; }

std::string newcomers_words(NewcomerRule rule) {
  return rule == NewcomerRule::kCount ? "newcomers go to the stage with the fewest replicas"
                                      : "newcomers go to the stage that gains most";
}

ChartCurve curve_of(const SwarmPolicyResult& policy) {
  ChartCurve curve{policy.rebalance_s ? compose("every ", *policy.rebalance_s, " s") : "no rebalancing", {}, false};
  for (std::size_t i = 0; i < policy.percent.size(); i += kMinutesOfPoint) {
    const std::size_t end = std::min(i + kMinutesOfPoint, policy.percent.size());
    double sum = 0;
    for (std::size_t k = i; k < end; ++k) sum += policy.percent[k].value;
    curve.points.push_back({policy.percent[i].at_s / kSecondsPerHour, sum / static_cast<double>(end - i)});
  }
  return curve;
}

}  // namespace

std::string text_of(const SwarmComparison& comparison) {
  std::string text =
      compose(std::setprecision(4), comparison.nodes, " machines on average in ", comparison.stages, " stages, ",
              comparison.hours, " hours, ", counted(seeds_of(comparison), comparison.order.trace ? "trace" : "seed"),
              "; ", newcomers_words(comparison.order.run.newcomers), "\n\n");
  text += "rebalance   % of optimal   first hour   last hour   worst seed   moves\n";
  for (const SwarmPolicyResult& policy : comparison.policies) {
    text += compose(std::left, std::setw(9), policy_word(policy), std::right, std::setw(15),
                    fixed(policy.percent_of_optimal), std::setw(13), fixed(policy.first_hour), std::setw(12),
                    fixed(policy.last_hour), std::setw(13), fixed(policy.worst_seed), std::setw(8),
                    std::llround(policy.moves), "\n");
  }
  return text;
}

std::string json_of(const SwarmComparison& comparison) {
  Json json;
  json["policies"] = Json::array();
  for (const SwarmPolicyResult& policy : comparison.policies) {
    json["policies"].push_back({{"rebalance", policy_word(policy)},
                                {"percent_of_optimal", rounded(policy.percent_of_optimal)},
                                {"moves", std::llround(policy.moves)},
                                {"first_hour", rounded(policy.first_hour)},
                                {"last_hour", rounded(policy.last_hour)},
                                {"worst_seed", rounded(policy.worst_seed)}});
  }
  json["nodes"] =
      std::llround(comparison.order.trace ? comparison.nodes : static_cast<double>(comparison.order.model.nodes));
  json["hours"] = comparison.hours;
  json["seeds"] = seeds_of(comparison);
  json["stages"] = comparison.stages;
  json["nodes_mean"] = rounded(comparison.nodes);
  return json.dump() + "\n";
}

Chart chart_of(const SwarmComparison& comparison) {
  ChartPanel panel;
  panel.title = compose(std::setprecision(4), comparison.nodes, " machines in ", comparison.stages, " stages");
  panel.x = {"hours", 0, std::max(comparison.hours, 1e-3), AxisScale::kLinear};
  panel.y = {"throughput, % of the optimum", 60, 100, AxisScale::kLinear};
  for (const SwarmPolicyResult& policy : comparison.policies) panel.curves.push_back(curve_of(policy));
  return {"What rebalancing keeps of a swarm that comes and goes",
          newcomers_words(comparison.order.run.newcomers),
          {panel}};
}

}  // namespace shoal
