// More points than a picture has pixels, as few as it can show.
// Pure. A mean would hide a spike, which may be what a person looks for: extremes are kept instead.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/drawing/axis.h"

namespace shoal {

// Returns the lowest and the highest of each of `bins` equal parts of the points, in their order, so that no extreme is
// lost; a gap (a value that is no number) stays one. At most 3 x bins points; fewer than that are given as they are.
[[nodiscard]] std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t bins);

}  // namespace shoal
