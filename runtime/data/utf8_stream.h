// Bytes as they come, out as whole characters: what tokens stand for may begin or end within one.
//
// What is no part of UTF-8 comes out as U+FFFD, one for each ill-formed part as Unicode recommends (the standard's
// §3.9, "maximal subpart"), so that all that came out is valid UTF-8. At most 3 bytes are kept.
#pragma once

#include <string>
#include <string_view>

namespace shoal {

// Returns the character that these bytes end with; empty: they end with none, or within one.
[[nodiscard]] std::string_view last_character(std::string_view bytes);

class Utf8Stream {
 public:
  // The characters that these bytes complete.
  [[nodiscard]] std::string add(std::string_view bytes);
  // Returns what is left at the end: a part of a character, as U+FFFD, or nothing.
  [[nodiscard]] std::string finish();

 private:
  std::string pending_;  // the beginning of a character
};

// For a terminal, which obeys control characters: each but line ends and tabs becomes U+FFFD, and carriage
// returns go. UTF-8 in and out.
[[nodiscard]] std::string without_controls(std::string_view text);

}  // namespace shoal
