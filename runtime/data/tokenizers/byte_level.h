// The printable form of bytes that byte-level encodings are written in (bytes_to_unicode() of GPT-2's encoder.py): each
// byte is a character, itself where Latin-1 prints it, else the next one from U+0100 on. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shoal {

[[nodiscard]] std::string printed(std::string_view bytes);
// Nothing: a character of the text stands for no byte.
[[nodiscard]] std::optional<std::string> bytes_of_printed(std::string_view text);

}  // namespace shoal
