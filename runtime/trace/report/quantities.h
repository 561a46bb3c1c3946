// Times and sizes as people read them, always with their unit. Exports for programs have their own numbers
// (json_lines.h).
#pragma once

#include <cstdint>
#include <string>

namespace shoal {

[[nodiscard]] std::string seconds_text(std::int64_t ns);  // "4.812 s"
[[nodiscard]] std::string ms_text(std::int64_t ns);       // "0.081 ms"
// Right-aligned, in milliseconds: "     12.345 ms".
[[nodiscard]] std::string padded_ms(std::int64_t ns);
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);  // "16.0 KiB"
[[nodiscard]] std::string percent_text(double share);       // "12.3 %" of 0.123
[[nodiscard]] std::string fixed_text(double value, int digits);

}  // namespace shoal
