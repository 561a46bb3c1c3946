// Parts are of equally many points.
#include "runtime/trace/curves/thinned.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace shoal {
namespace {

void add_extremes(std::span<const ChartPoint> part, std::vector<ChartPoint>& out) {
  const ChartPoint* low = nullptr;
  const ChartPoint* high = nullptr;
  const ChartPoint* gap = nullptr;
  for (const ChartPoint& point : part) {
    if (std::isnan(point.y)) {
      gap = &point;
      continue;
    }
    if (low == nullptr || point.y < low->y) low = &point;
    if (high == nullptr || point.y > high->y) high = &point;
  }
  std::vector<const ChartPoint*> kept;
  for (const ChartPoint* point : {low, high, gap}) {
    if (point != nullptr && std::ranges::find(kept, point) == kept.end()) kept.push_back(point);
  }
  std::ranges::sort(kept);
  for (const ChartPoint* point : kept) out.push_back(*point);
}

}  // namespace

std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t bins) {
  if (points.size() <= 3 * bins) return points;
  std::vector<ChartPoint> out;
  const std::span all(points);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::size_t begin = bin * points.size() / bins;
    add_extremes(all.subspan(begin, (bin + 1) * points.size() / bins - begin), out);
  }
  return out;
}

}  // namespace shoal
