// Numbers are read from the front, with the separators between them.
#include "runtime/executor/poison_hook.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace shoal {
namespace {

// Takes the number in front, and the separator after it unless the text ends there.
template <class Number>
[[nodiscard]] bool take_number(std::string_view& text, Number& number, bool is_last) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  if (is_last) return text.empty();
  if (!text.starts_with('/')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

Result<Poison> parse_poison(const std::string& text) {
  Poison poison;
  std::string_view rest = text;
  const bool aborts = rest.starts_with("abort:");
  if (aborts) poison.how = Poison::How::kAbort;
  const bool has_how = aborts || rest.starts_with("throw:");
  if (has_how) rest.remove_prefix(6);
  const bool is_whole = has_how && take_number(rest, poison.step.value, false) &&
                        take_number(rest, poison.microbatch.value, false) &&
                        take_number(rest, poison.stage.value, true);
  if (is_whole) return poison;
  return fail(Error::kUsage, "SHOAL_POISON '" + text + "': expected throw:STEP/MB/STAGE or abort:STEP/MB/STAGE");
}

Result<std::optional<Poison>> poison_from_environment() {
  const char* const text = std::getenv("SHOAL_POISON");
  if (text == nullptr || *text == '\0') return std::optional<Poison>();
  const auto poison = parse_poison(text);
  if (!poison) return poison.failure();
  return std::optional(*poison);
}

}  // namespace shoal
