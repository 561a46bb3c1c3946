// Uses the calendar of the standard library, which knows no time zones here.
#include "runtime/base/time/utc_time.h"

#include <charconv>
#include <cstdint>
#include <iomanip>
#include <sstream>

namespace shoal {
namespace {

constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd.dddZ";

bool has_shape(std::string_view text) {
  if (text.size() != kShape.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !is_digit : text[i] != kShape[i]) return false;
  }
  return true;
}

// Reads digits only.
int number_in(std::string_view text, std::size_t begin, std::size_t count) {
  int value = 0;
  (void)std::from_chars(text.data() + begin, text.data() + begin + count, value);
  return value;
}

}  // namespace

std::string utc_ms_text(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::milliseconds>(time - day));
  std::ostringstream out;
  out << std::setfill('0') << std::setw(4) << static_cast<int>(date.year()) << '-' << std::setw(2)
      << static_cast<unsigned>(date.month()) << '-' << std::setw(2) << static_cast<unsigned>(date.day()) << 'T'
      << std::setw(2) << clock.hours().count() << ':' << std::setw(2) << clock.minutes().count() << ':' << std::setw(2)
      << clock.seconds().count() << '.' << std::setw(3) << clock.subseconds().count() << 'Z';
  return std::move(out).str();
}

std::optional<WallTime> parse_utc_ms(std::string_view text) {
  if (!has_shape(text)) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(number_in(text, 0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number_in(text, 5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number_in(text, 8, 2))));
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(number_in(text, 11, 2)) +
         std::chrono::minutes(number_in(text, 14, 2)) + std::chrono::seconds(number_in(text, 17, 2)) +
         std::chrono::milliseconds(number_in(text, 20, 3));
}

}  // namespace shoal
