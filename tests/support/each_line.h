// Gives a test's text line by line, as those who follow a file give it to its readers. A last line need not end: what
// was written until now is read.
#pragma once

#include <algorithm>
#include <string_view>

namespace shoal {

template <class Take>
void give_each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace shoal
