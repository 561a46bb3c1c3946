// Methods side by side on one workload and one network: what the published table does for its models, for any others.
// Every point of the grid is simulated, so that curves can be drawn.
#pragma once

#include <optional>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/plan/bandwidth_table.h"

namespace shoal {

struct ComparisonOrder {
  Workload workload;
  MethodSettings settings;
  Network network;
  std::vector<Method> methods;
  BandwidthGrid grid;
  std::optional<double> gbit_s;  // looked at more closely
};

struct ComparisonRow {
  Method method = Method::kDataParallel;
  SyncSchedule schedule;
  std::vector<double> curve;  // utilisation at each point of the grid
  GridCells cells;
  std::optional<Utilisation> closely;
};

struct Comparison {
  ComparisonOrder order;
  std::vector<ComparisonRow> rows;
};

// Errors: kUsage for a scenario that cannot be simulated.
[[nodiscard]] Result<Comparison> compare(const ComparisonOrder& order);

// Compares the published table's models and network, over its whole grid: what its picture needs.
[[nodiscard]] Comparison published_comparison(const PublishedModel& model);

}  // namespace shoal
