// Times as a person reads them: "less than 0.1 s", "0.3 s", "12.3 s", "84 s".
// Header only, like its neighbours. The supervisor looks at its clock ten times a second: less is not known there.
#pragma once

#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"

namespace shoal {

[[nodiscard]] inline std::string duration_text(Duration duration) {
  constexpr double kLeast = 0.1;
  constexpr double kWholeFrom = 60;
  const double seconds = milliseconds(duration) / 1000;
  if (seconds < kLeast) return "less than 0.1 s";
  return compose(number_text(seconds, seconds < kWholeFrom ? 1 : 0), " s");
}

}  // namespace shoal
