// JSON in one line, of any of the library's types, whatever bytes its texts hold: a name that a person typed, or a path
// in a reason, may be no UTF-8. What is none is replaced (U+FFFD) instead of thrown about.
#pragma once

#include <string>

namespace shoal {

template <class Json>
[[nodiscard]] std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace shoal
