// Optimal string alignment distance; names are shorter than 40 characters, so the quadratic table is cheap.
#include "runtime/base/arithmetic/nearest.h"

#include <algorithm>

namespace shoal {

int edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::vector<int>> distance(from.size() + 1, std::vector<int>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i) distance[i][0] = static_cast<int>(i);
  for (std::size_t j = 0; j <= to.size(); ++j) distance[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const int substitution = from[i - 1] == to[j - 1] ? 0 : 1;
      int best = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, distance[i - 1][j - 1] + substitution});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) best = std::min(best, distance[i - 2][j - 2] + 1);
      distance[i][j] = best;
    }
  }
  return distance[from.size()][to.size()];
}

std::optional<std::string> nearest_name(std::string_view wanted, const std::vector<std::string>& names) {
  const std::string* best = nullptr;
  int best_distance = 0;
  for (const std::string& name : names) {
    const int distance = edit_distance(wanted, name);
    if (best != nullptr && distance >= best_distance) continue;
    best = &name;
    best_distance = distance;
  }
  if (best == nullptr) return std::nullopt;
  const auto shorter = static_cast<int>(std::min(wanted.size(), best->size()));
  if (best_distance > std::max(2, shorter / 2)) return std::nullopt;
  return *best;
}

std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names) {
  const auto name = nearest_name(wanted, names);
  return name ? "; did you mean '" + *name + "'?" : std::string();
}

}  // namespace shoal
