// A number is read to its end, or refused.
#include "runtime/executor/device_name.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace shoal {
namespace {

constexpr std::string_view kCuda = "cuda:";
constexpr std::string_view kPaced = "paced:";
constexpr double kPaceMsMax = 3.6e6;
constexpr int kIndexMax = 255;

template <class Number>
[[nodiscard]] std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
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
    const auto pace = number<double>(text.substr(kPaced.size()));
    if (pace && *pace >= 0 && *pace <= kPaceMsMax) return DeviceName{.kind = DeviceKind::kPaced, .pace_ms = *pace};
    return fail(Error::kUsage, "device '" + word + "': expected paced:MS with MS in milliseconds, e.g. paced:20");
  }
  return fail(Error::kUsage,
              "device '" + word + "': expected cpu, cuda:N as in cuda:0, cuda for every GPU, or paced:MS");
}

}  // namespace shoal
