// The least bandwidth that a utilisation needs, searched on a grid, and the published table made again on its own.
// A cell is a point of the grid; how it is printed is part of the table.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/published_table.h"
#include "runtime/plan/utilisation.h"

namespace shoal {

// Bandwidths at equal ratios. As published: 50 from 0.1 to 1000 Gbit/s, 10^(-1 + 4k/49).
struct BandwidthGrid {
  double low_gbit_s = 0.1;
  double high_gbit_s = 1000;
  std::size_t points = 50;  // at least two
};
[[nodiscard]] double gbit_s_at(const BandwidthGrid& grid, std::size_t k);
[[nodiscard]] std::string with_decimals(double value, int digits);
// Formats as the papers print: rounded to two decimals, and what that gives in binary to one.
[[nodiscard]] std::string printed_gbit_s(double gbit_s);

// A point of the grid per utilisation; nothing where even its last one does not do.
using GridCells = std::array<std::optional<std::size_t>, kUtilisations.size()>;

// utilisation: of a point of the grid; does not fall with bandwidth.
[[nodiscard]] GridCells needed_bandwidth(std::size_t points, const std::function<double(std::size_t)>& utilisation);
// Returns the least bandwidths in the steady state of that scenario, whatever bandwidth it states.
[[nodiscard]] GridCells needed_bandwidth(const Scenario& scenario, const BandwidthGrid& grid);
[[nodiscard]] Scenario with_bandwidth(Scenario scenario, double gbit_s);

struct BandwidthRow {
  Method method = Method::kDataParallel;
  std::string model;
  GridCells cells;
};

// 18 rows, method by method, of the steady state.
// Other assumptions show what hangs on them.
[[nodiscard]] std::vector<BandwidthRow> published_rows(const BandwidthGrid& grid = {},
                                                       double payload_share = kPayloadShare);
// The eager rows of a start from nothing that ends after two rounds: so the published ones come about.
[[nodiscard]] std::vector<BandwidthRow> cold_eager_rows();

// Counts cells that are printed as published, or would be with a neighbour on the grid.
struct Agreement {
  std::size_t cells = 0;
  std::size_t exact = 0;
  std::size_t within_one = 0;
};
[[nodiscard]] Agreement agreement_with_published(const std::vector<BandwidthRow>& rows, const BandwidthGrid& grid = {});

// Returns the table's text for a cell: one decimal, two for eager rows, which one would not tell apart.
[[nodiscard]] std::string cell_text(const BandwidthRow& row, std::size_t i);

}  // namespace shoal
