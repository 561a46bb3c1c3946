// Sizes and times as a person reads them, in the units that suit them. The JSON has bytes and seconds instead.
// Pure.
#pragma once

#include <string>

namespace shoal {

// Names decimal units: "950B", "1.5MB".
[[nodiscard]] std::string human_bytes(double bytes);
// Names whole seconds: "4m55s".
[[nodiscard]] std::string human_seconds(double seconds);

}  // namespace shoal
