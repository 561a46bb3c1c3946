// Texts that come from other processes, as a person may read them.
//
// A peer's words reach terminals, logs and metrics: in them a control character could hide what stands there, or forge
// a line. So nothing that a decoded letter says holds one (codec.h), and `shoal logs` prints none. Pure.
#pragma once

#include <string>
#include <string_view>

namespace shoal {

enum class TextShape { kLine, kLines };  // kLines: line feeds and tabs stay

// Returns the text with a question mark for everything that is more than text: control characters, what separates lines
// or turns the direction of writing, and bytes that are no UTF-8. Never longer than the text.
[[nodiscard]] std::string printable(std::string_view text, TextShape shape = TextShape::kLine);

}  // namespace shoal
