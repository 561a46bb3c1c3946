// A number is read to its end, or refused.
#include "runtime/executor/device_name.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace shoal {
namespace {

constexpr std::string_view kCuda = "cuda:";
constexpr std::string_view kPaced = "paced:";
constexpr double kPaceMsMax = 3.6e6;
constexpr double kPaceFromMax = 1e7;  // seconds
constexpr int kIndexMax = 255;

template <class Number>
[[nodiscard]] std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

[[nodiscard]] std::optional<double> pace(std::string_view text) {
  const auto ms = number<double>(text);
  return ms && *ms >= 0 && *ms <= kPaceMsMax ? ms : std::nullopt;
}

// "MS", "MS@S:MS", "MS@S:MS@S:MS" and so on, each S after the one before.
[[nodiscard]] std::optional<DeviceName> paced(std::string_view text) {
  const auto first = pace(text.substr(0, text.find('@')));
  if (!first) return std::nullopt;
  DeviceName name{.kind = DeviceKind::kPaced, .pace_ms = *first};
  for (auto at = text.find('@'); at != std::string_view::npos; at = text.find('@')) {
    text.remove_prefix(at + 1);
    const std::string_view change = text.substr(0, text.find('@'));
    const auto colon = change.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto from_s = number<double>(change.substr(0, colon));
    const auto ms = pace(change.substr(colon + 1));
    const double least_s = name.pace_changes.empty() ? 0 : name.pace_changes.back().from_s;
    if (!from_s || !ms || !(*from_s > least_s && *from_s <= kPaceFromMax)) return std::nullopt;
    name.pace_changes.push_back({*from_s, *ms});
  }
  return name;
}

}  // namespace

Result<DeviceName> parse_device(const std::string& word) {
  const std::string_view text = word;
  if (text == "cpu") return DeviceName{};
  if (text == "cuda") return DeviceName{.kind = DeviceKind::kEveryCuda};
  if (text.starts_with(kCuda)) {
    const auto index = number<int>(text.substr(kCuda.size()));
    if (index && *index >= 0 && *index <= kIndexMax) return DeviceName{.kind = DeviceKind::kCuda, .index = *index};
    return fail(Error::kUsage, "device '" + word + "': expected cuda:N with the number of a GPU, e.g. cuda:0");
  }
  if (text.starts_with(kPaced)) {
    if (auto name = paced(text.substr(kPaced.size()))) return std::move(*name);
    return fail(Error::kUsage, "device '" + word + "': expected paced:MS with MS in milliseconds, e.g. paced:20, or " +
                                   "paced:MS@S:MS with another pace after S seconds");
  }
  return fail(Error::kUsage,
              "device '" + word + "': expected cpu, cuda:N as in cuda:0, cuda for every GPU, or paced:MS");
}

}  // namespace shoal
