// Numbers as a person reads them: "3 stages", "1 replica", "2.0341", "5.5e28".
// Header only, like its neighbours.
#pragma once

#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include "runtime/base/compose.h"

namespace shoal {

// Says "1 stage", "2 stages", "0 stages", "2 microbatches".
[[nodiscard]] inline std::string counted(std::uint64_t count, std::string_view noun) {
  const bool is_hissing = noun.ends_with('s') || noun.ends_with("ch");
  return compose(count, " ", noun, count == 1 ? "" : is_hissing ? "es" : "s");
}

// Says "is" or "are", for what was counted.
[[nodiscard]] inline std::string_view is_or_are(std::uint64_t count) { return count == 1 ? "is" : "are"; }

// Writes a number below ten million with so many decimals, and beyond it as 5.5e28: a loss that diverges has no use
// for thirty digits.
[[nodiscard]] inline std::string number_text(double value, int decimals) {
  constexpr double kPlainBelow = 1e7;
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  std::ostringstream out;
  if (std::abs(value) < kPlainBelow) {
    out << std::fixed << std::setprecision(decimals) << value;
    return std::move(out).str();
  }
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
  double mantissa = std::round(value / std::pow(10.0, exponent) * 10) / 10;
  const bool is_carried = std::abs(mantissa) >= 10;
  if (is_carried) mantissa /= 10;
  out << std::fixed << std::setprecision(1) << mantissa << 'e' << exponent + (is_carried ? 1 : 0);
  return std::move(out).str();
}

// Writes bytes in units of a thousand: "24.0 GB", "512.0 MB", "9 bytes".
[[nodiscard]] inline std::string size_text(std::uint64_t bytes) {
  constexpr double kUnit = 1000;
  if (static_cast<double>(bytes) < kUnit) return counted(bytes, "byte");
  constexpr std::string_view kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / kUnit;
  std::size_t unit = 0;
  while (value >= kUnit && unit + 1 < std::size(kUnits)) {
    value /= kUnit;
    ++unit;
  }
  return compose(number_text(value, 1), " ", kUnits[unit]);
}

}  // namespace shoal
