// Each method's scenario over the whole grid.
#include "runtime/plan/comparison.h"

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

ComparisonRow row_of(const Scenario& scenario, Method method, const ComparisonOrder& order) {
  ComparisonRow row{method, scenario.schedule, {}, {}, {}};
  for (std::size_t k = 0; k < order.grid.points; ++k) {
    row.curve.push_back(steady_utilisation(with_bandwidth(scenario, gbit_s_at(order.grid, k))).share);
  }
  row.cells = needed_bandwidth(order.grid.points, [&row](std::size_t k) { return row.curve[k]; });
  if (order.gbit_s) row.closely = steady_utilisation(with_bandwidth(scenario, *order.gbit_s));
  return row;
}

}  // namespace

Result<Comparison> compare(const ComparisonOrder& order) {
  Comparison comparison{order, {}};
  for (const Method method : order.methods) {
    const std::size_t fragments = method <= Method::kDiloco ? 1 : order.settings.fragments;
    if (fragments == 0 || fragments > order.settings.H) {
      return fail(Error::kUsage, "more fragments than steps of a round, or none: each has a step of its own");
    }
    const Scenario scenario{order.workload, schedule_of(method, order.settings), order.network};
    if (const auto problem = problem_of(scenario)) return fail(Error::kUsage, *problem);
    comparison.rows.push_back(row_of(scenario, method, order));
  }
  return comparison;
}

Comparison published_comparison(const PublishedModel& model) {
  ComparisonOrder order;
  order.workload = published_workload(model);
  order.settings = published_settings(model);
  order.methods.assign(kMethods.begin(), kMethods.end());
  auto comparison = compare(order);
  ENSURE(comparison.ok(), "the published scenarios can be simulated");
  return std::move(*comparison);
}

}  // namespace shoal
