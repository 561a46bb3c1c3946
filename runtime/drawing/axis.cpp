// Places and ticks.
#include "runtime/drawing/axis.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace shoal {

double placed(const ChartAxis& axis, double value) {
  const bool is_logarithmic = axis.scale == AxisScale::kLogarithmic;
  const auto scaled = [&](double v) { return is_logarithmic ? std::log10(v) : v; };
  const double inside = std::clamp(value, axis.low, axis.high);
  return (scaled(inside) - scaled(axis.low)) / (scaled(axis.high) - scaled(axis.low));
}

std::string tick_text(double value) {
  std::array<char, 32> digits{};
  return {digits.data(),
          std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::general, 6).ptr};
}

std::vector<double> ticks_of(const ChartAxis& axis) {
  std::vector<double> ticks;
  if (axis.scale == AxisScale::kLogarithmic) {
    for (double power = std::ceil(std::log10(axis.low) - 1e-9); power <= std::log10(axis.high) + 1e-9; ++power) {
      ticks.push_back(std::pow(10.0, power));
    }
    return ticks;
  }
  double step = std::pow(10.0, std::floor(std::log10(axis.high - axis.low)));
  if ((axis.high - axis.low) / step < 5) step /= (axis.high - axis.low) / step < 2.5 ? 5 : 2;
  const double first = std::ceil(axis.low / step - 1e-9);
  for (double i = first; i * step <= axis.high + step * 1e-9; ++i) ticks.push_back(i * step + 0.0);  // no -0
  return ticks;
}

}  // namespace shoal
