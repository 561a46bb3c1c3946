// Decimal units; hours, minutes and seconds.
#include "runtime/trace/metrics/human_units.h"

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iterator>
#include <sstream>

namespace shoal {

std::string human_bytes(double value) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  std::ostringstream out;
  out << std::fixed << std::setprecision(unit == 0 ? 0 : 1) << value << kUnits[unit];
  return out.str();
}

std::string human_seconds(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(0.0, seconds));
  std::ostringstream out;
  if (whole >= 3600) out << whole / 3600 << 'h';
  if (whole >= 60) out << (whole / 60) % 60 << 'm';
  out << whole % 60 << 's';
  return out.str();
}

}  // namespace shoal
