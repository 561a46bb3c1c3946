// Lists in sentences: "node1", "0 and 1", "2, 5 and 11".
// Header only, like its neighbours.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/base/compose.h"

namespace shoal {

template <class Items>
[[nodiscard]] std::string enumerate(const Items& items) {
  std::string text;
  std::size_t left = items.size();
  for (const auto& item : items) {
    --left;
    text += compose(item, left == 0 ? "" : left == 1 ? " and " : ", ");
  }
  return text;
}

// "stage 0", "stages 0 and 1".
template <class Items>
[[nodiscard]] std::string enumerate(const std::string& noun, const Items& items) {
  return compose(noun, items.size() == 1 ? " " : "s ", enumerate(items));
}

}  // namespace shoal
