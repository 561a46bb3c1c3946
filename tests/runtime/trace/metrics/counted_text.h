// A file in memory that counts what is read of it: a test says how much of a long one somebody reads, and how much of
// that at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/file.h"

namespace shoal {

// May change between two reads.
struct CountedText {
  std::string text;
  std::uint64_t most_at_once = 0;
  std::uint64_t all = 0;

  [[nodiscard]] InputFile input() {
    const auto read_at = [this](std::uint64_t at, std::span<char> into) -> Result<std::size_t> {
      const auto part = std::string_view(text).substr(std::min<std::size_t>(at, text.size()));
      most_at_once = std::max<std::uint64_t>(most_at_once, into.size());
      all += std::min(part.size(), into.size());
      return part.copy(into.data(), into.size());
    };
    return {text.size(), read_at};
  }
};

}  // namespace shoal
