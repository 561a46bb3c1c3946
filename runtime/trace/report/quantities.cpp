// Units.
#include "runtime/trace/report/quantities.h"

#include <iomanip>
#include <sstream>

namespace shoal {

std::string fixed_text(double value, int digits) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return std::move(out).str();
}

std::string seconds_text(std::int64_t ns) { return fixed_text(static_cast<double>(ns) / 1e9, 3) + " s"; }

std::string ms_text(std::int64_t ns) { return fixed_text(static_cast<double>(ns) / 1e6, 3) + " ms"; }

std::string padded_ms(std::int64_t ns) {
  std::ostringstream out;
  out << std::setw(14) << ms_text(ns);
  return std::move(out).str();
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return fixed_text(value, unit == 0 ? 0 : 1) + " " + kUnits[unit];
}

std::string percent_text(double share) { return fixed_text(share * 100, 1) + " %"; }

}  // namespace shoal
