// Takes spaces and tabs away that stand around a text.
// Header only, like its neighbours.
#pragma once

#include <string_view>

namespace shoal {

[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace shoal
