// The table and comparisons for people, for programs and as a picture.
//
// JSON: {"rows":[{"method","model","gbit_s":[at 50, 80, 90, 95, 99 %]}]}, null where the grid ends before; beside
// "rows": "assumptions", and of the table "cold_eager_rows", "published_rows", of a comparison "curves".
#pragma once

#include <string>
#include <vector>

#include "runtime/drawing/chart.h"
#include "runtime/plan/comparison.h"

namespace shoal {

struct PublishedTable {
  std::vector<BandwidthRow> rows;        // steady state
  std::vector<BandwidthRow> cold_eager;  // how the published eager rows come about
};
[[nodiscard]] PublishedTable make_published_table();

[[nodiscard]] std::string text_of(const PublishedTable& table);
[[nodiscard]] std::string json_of(const PublishedTable& table);

[[nodiscard]] std::string text_of(const Comparison& comparison);
[[nodiscard]] std::string json_of(const Comparison& comparison);
[[nodiscard]] std::vector<std::string> assumptions_of(const Comparison& comparison);

// Utilisation against bandwidth, a panel each.
[[nodiscard]] Chart chart_of(const std::vector<Comparison>& comparisons);

}  // namespace shoal
