// Reads numbers with units.
#include "runtime/plan/resources/machine_kinds.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr double kBytesMax = 1e18;
constexpr std::uint64_t kMachinesMax = 100'000;

// Reads a number from the beginning; the rest stays in `text`.
std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<double> take_number_above_zero(std::string_view& text) {
  const auto number = take_number(text);
  return number && *number > 0 ? number : std::nullopt;
}

// Takes K, M, G or T, or the same in small letters, from the beginning: 1 to 4; 0: there is none.
std::size_t take_unit(std::string_view& text) {
  constexpr std::string_view kUnits = "KMGT";
  constexpr std::string_view kSmall = "kmgt";
  if (text.empty()) return 0;
  const std::size_t at = std::min(kUnits.find(text.front()), kSmall.find(text.front()));
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(1);
  return at + 1;
}

Failure refuse_kind(std::string_view text) {
  return fail(Error::kUsage,
              compose("--speed ", text,
                      ": expected NAME=GFLOPS or NAME=MSms, each with xCOUNT if there are several, as in "
                      "fast=500x4 or slow=60ms"));
}

}  // namespace

Result<MachineKind> machine_kind_of(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return refuse_kind(text);
  MachineKind kind;
  kind.name = text.substr(0, equals);
  std::string_view rest = text.substr(equals + 1);
  const auto speed = take_number_above_zero(rest);
  if (!speed) return refuse_kind(text);
  if (rest.starts_with("ms")) {
    kind.forward_s = *speed / 1e3;
    rest.remove_prefix(2);
  } else {
    kind.multiply_adds_s = *speed * 1e9 / 2;
  }
  if (rest.empty()) return kind;
  if (!rest.starts_with('x')) return refuse_kind(text);
  rest.remove_prefix(1);
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
  const bool is_whole = error == std::errc{} && end == rest.data() + rest.size();
  if (!is_whole || count == 0 || count > kMachinesMax) return refuse_kind(text);
  kind.count = count;
  return kind;
}

Result<std::uint64_t> bytes_of_text(std::string_view text) {
  std::string_view rest = text;
  const auto number = take_number_above_zero(rest);
  const auto refuse = [&] {
    return fail(Error::kUsage,
                compose("--memory ", text, ": expected bytes, as in 24G, 512M, 16Gi or 8000000000; at least 1M"));
  };
  if (!number) return refuse();
  const std::size_t unit = take_unit(rest);
  const bool is_binary = unit > 0 && rest.starts_with('i');
  if (is_binary) rest.remove_prefix(1);
  if (rest.starts_with('B')) rest.remove_prefix(1);
  const double bytes = *number * std::pow(is_binary ? 1024.0 : 1000.0, static_cast<double>(unit));
  const bool is_in_range = bytes >= static_cast<double>(kLeastMemory) && bytes <= kBytesMax;
  if (!rest.empty() || !is_in_range) return refuse();
  return static_cast<std::uint64_t>(bytes);
}

Result<std::optional<std::uint64_t>> rate_of_text(std::string_view option, std::string_view text) {
  std::string_view rest = text;
  const auto number = take_number(rest);
  const std::size_t unit = take_unit(rest);
  const bool is_known = number && rest.empty();
  const double bits = is_known ? *number * std::pow(1000.0, static_cast<double>(unit)) : -1;
  if (bits == 0) return std::optional<std::uint64_t>();
  if (bits >= static_cast<double>(kLeastRate) && bits <= kBytesMax)
    return std::optional(static_cast<std::uint64_t>(bits));
  return fail(Error::kUsage, compose(option, " ", text,
                                     ": expected bit/s, as in 50M, 1.5G or 50000000; at least 1M, or 0 for no limit"));
}

std::vector<MachineKind> machines_of(const std::vector<MachineKind>& kinds, std::size_t needed) {
  std::vector<MachineKind> machines;
  const MachineKind* filler = nullptr;
  for (const MachineKind& kind : kinds) {
    if (!kind.count) filler = &kind;
    for (std::uint64_t i = 0; i < kind.count.value_or(0); ++i) machines.push_back(kind);
  }
  while (filler != nullptr && machines.size() < needed) machines.push_back(*filler);
  return machines;
}

}  // namespace shoal
