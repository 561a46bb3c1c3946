// Bisection over the grid, and the comparison.
#include "runtime/plan/bandwidth_table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <map>
#include <sstream>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

// The distance of a cell from the nearest point that is printed as published.
std::size_t steps_off(const BandwidthGrid& grid, double published, std::size_t k) {
  const std::string wanted = printed_gbit_s(published);
  std::size_t least = grid.points;
  for (std::size_t other = 0; other < grid.points; ++other) {
    if (printed_gbit_s(gbit_s_at(grid, other)) == wanted) least = std::min(least, other > k ? other - k : k - other);
  }
  return least;
}

const PublishedModel& model_named(const std::string& name) {
  const auto found = std::ranges::find(kPublishedModels, name, &PublishedModel::name);
  ENSURE(found != kPublishedModels.end(), "a model of the table");
  return *found;
}

}  // namespace

std::string with_decimals(double value, int digits) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return std::move(out).str();
}

double gbit_s_at(const BandwidthGrid& grid, std::size_t k) {
  const double low = std::log10(grid.low_gbit_s);
  const double decades = std::log10(grid.high_gbit_s) - low;
  return std::pow(10.0, low + decades * static_cast<double>(k) / static_cast<double>(grid.points - 1));
}

Scenario with_bandwidth(Scenario scenario, double gbit_s) {
  scenario.network.bits_per_s = gbit_s * 1e9;
  return scenario;
}

std::string printed_gbit_s(double gbit_s) { return with_decimals(std::nearbyint(gbit_s * 100) / 100, 1); }

GridCells needed_bandwidth(std::size_t points, const std::function<double(std::size_t)>& utilisation) {
  std::map<std::size_t, double> known;
  const auto reaches = [&](std::size_t k, double share) {
    const auto [place, is_first] = known.try_emplace(k);
    if (is_first) place->second = utilisation(k);
    return place->second >= share;
  };
  GridCells cells;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::size_t low = 0;
    std::size_t high = points;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (reaches(middle, kUtilisations[i])) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (low < points) cells[i] = low;
  }
  return cells;
}

GridCells needed_bandwidth(const Scenario& scenario, const BandwidthGrid& grid) {
  const auto share = [&](std::size_t k) {
    return steady_utilisation(with_bandwidth(scenario, gbit_s_at(grid, k))).share;
  };
  return needed_bandwidth(grid.points, share);
}

std::vector<BandwidthRow> published_rows(const BandwidthGrid& grid, double payload_share) {
  std::vector<BandwidthRow> rows;
  for (const Method method : kMethods) {
    for (const PublishedModel& model : kPublishedModels) {
      rows.push_back(
          {method, std::string(model.name), needed_bandwidth(published_scenario(method, model, payload_share), grid)});
    }
  }
  return rows;
}

std::vector<BandwidthRow> cold_eager_rows() {
  constexpr std::uint64_t kRounds = 2;
  std::vector<BandwidthRow> rows;
  for (const PublishedModel& model : kPublishedModels) {
    const Scenario scenario = published_scenario(Method::kEagerOverlapFp4, model);
    const auto share = [&](std::size_t k) {
      return cold_utilisation(with_bandwidth(scenario, gbit_s_at({}, k)), kRounds).share;
    };
    rows.push_back(
        {Method::kEagerOverlapFp4, std::string(model.name), needed_bandwidth(BandwidthGrid{}.points, share)});
  }
  return rows;
}

std::string cell_text(const BandwidthRow& row, std::size_t i) {
  if (!row.cells[i]) return "-";
  const double gbit_s = gbit_s_at({}, *row.cells[i]);
  return row.method == Method::kEagerOverlapFp4 ? with_decimals(gbit_s, 2) : printed_gbit_s(gbit_s);
}

Agreement agreement_with_published(const std::vector<BandwidthRow>& rows, const BandwidthGrid& grid) {
  Agreement agreement;
  for (const BandwidthRow& row : rows) {
    const auto published = published_gbit_s(row.method, model_named(row.model));
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      ++agreement.cells;
      if (!row.cells[i]) continue;
      const std::size_t off = steps_off(grid, published[i], *row.cells[i]);
      agreement.exact += off == 0 ? 1 : 0;
      agreement.within_one += off <= 1 ? 1 : 0;
    }
  }
  return agreement;
}

}  // namespace shoal
