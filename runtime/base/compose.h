// compose(parts...): the text of its parts, joined by operator<<.
// For messages to people; not for formats that programs read.
#pragma once

#include <sstream>
#include <string>

namespace shoal {

template <class... Parts>
[[nodiscard]] std::string compose(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

}  // namespace shoal
