// Numbers are read from the front, with the separators between them.
#include "runtime/executor/poison_hook.h"

#include <algorithm>
#include <array>
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

struct Way {
  std::string_view word;
  Poison::How how;
  std::optional<DeviceInjury> injury = std::nullopt;
};

constexpr std::array kWays = {
    Way{"throw", Poison::How::kThrow},
    Way{"abort", Poison::How::kAbort},
    Way{"address", Poison::How::kInjury, DeviceInjury::kIllegalAddress},
    Way{"memory", Poison::How::kInjury, DeviceInjury::kOutOfMemory},
    Way{"hang", Poison::How::kInjury, DeviceInjury::kHang},
};

}  // namespace

Result<Poison> parse_poison(const std::string& text) {
  Poison poison;
  std::string_view rest = text;
  const std::string_view word = rest.substr(0, rest.find(':'));
  const auto* const way = std::ranges::find(kWays, word, &Way::word);
  const bool has_how = way != kWays.end() && word.size() < rest.size();
  if (has_how) {
    rest.remove_prefix(word.size() + 1);
    poison.how = way->how;
    poison.injury = way->injury;
  }
  const bool has_replica = std::ranges::count(rest, '/') == 3;
  Incarnation replica;
  const bool is_whole =
      has_how && take_number(rest, poison.step.value, false) && take_number(rest, poison.microbatch.value, false) &&
      take_number(rest, poison.stage.value, !has_replica) && (!has_replica || take_number(rest, replica.value, true));
  if (has_replica) poison.replica = replica;
  if (is_whole) return poison;
  return fail(Error::kUsage,
              "SHOAL_POISON '" + text +
                  "': expected throw:STEP/MB/STAGE, or abort, address, memory or hang in place of throw, "
                  "with /REPLICA behind if only one is to fail");
}

Result<std::optional<Poison>> poison_from_environment() {
  const char* const text = std::getenv("SHOAL_POISON");
  if (text == nullptr || *text == '\0') return std::optional<Poison>();
  const auto poison = parse_poison(text);
  if (!poison) return poison.failure();
  return std::optional(*poison);
}

Result<std::optional<std::chrono::seconds>> device_patience_from_environment() {
  const char* const text = std::getenv("SHOAL_DEVICE_PATIENCE");
  if (text == nullptr || *text == '\0') return std::optional<std::chrono::seconds>();
  std::uint32_t seconds = 0;
  std::string_view rest = text;
  if (take_number(rest, seconds, true) && seconds > 0) return std::optional(std::chrono::seconds(seconds));
  return fail(Error::kUsage, std::string("SHOAL_DEVICE_PATIENCE '") + text + "': expected seconds, at least 1");
}

}  // namespace shoal
