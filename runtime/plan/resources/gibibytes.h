// Writes memory as plans and logs say it: in GiB, with so many digits behind the point; exactly() as tests compare it
// with what was measured.
#pragma once

#include <cstdint>
#include <iomanip>
#include <string>

#include "runtime/base/compose.h"

namespace shoal {

[[nodiscard]] inline std::string gibibytes(std::uint64_t bytes, int digits = 1) {
  return compose(std::fixed, std::setprecision(digits), static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
}
[[nodiscard]] inline std::string exactly(std::uint64_t bytes) { return gibibytes(bytes, 3); }

}  // namespace shoal
