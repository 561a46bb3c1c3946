// A time's group is given by its first eleven binary digits.
#include "runtime/trace/report/summary/time_counts.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace shoal {
namespace {

constexpr int kDigits = 11;

// Returns the middle of a time's group. Times of so few digits are groups of their own.
std::int64_t middle_of(std::int64_t ns) {
  const auto bits = static_cast<std::uint64_t>(ns);
  const std::uint64_t magnitude = ns < 0 ? std::uint64_t{0} - bits : bits;
  const int shift = static_cast<int>(std::bit_width(magnitude)) - kDigits;
  if (shift <= 0) return ns;
  const auto middle = static_cast<std::int64_t>((magnitude >> shift << shift) + (std::uint64_t{1} << (shift - 1)));
  return ns < 0 ? -middle : middle;
}

}  // namespace

void TimeCounts::add(std::int64_t ns) {
  ++count_;
  total_ns_ += static_cast<std::uint64_t>(ns);
  if (groups_.empty() && exact_.size() < kExactTimes) {
    exact_.push_back(ns);
    return;
  }
  for (const std::int64_t before : std::exchange(exact_, {})) ++groups_[middle_of(before)];
  ++groups_[middle_of(ns)];
}

std::int64_t TimeCounts::mean_ns() const { return count_ == 0 ? 0 : total_ns() / static_cast<std::int64_t>(count_); }

std::int64_t TimeCounts::high_ns() const {
  if (count_ == 0) return 0;
  const std::uint64_t place = count_ * 99 / 100;
  if (groups_.empty()) {
    std::vector<std::int64_t> times = exact_;
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(place));
    return times[place];
  }
  std::vector<std::pair<std::int64_t, std::uint64_t>> sorted(groups_.begin(), groups_.end());
  std::ranges::sort(sorted);
  std::uint64_t before = 0;
  const auto group = std::ranges::find_if(sorted, [&](const auto& one) { return (before += one.second) > place; });
  return group->first;
}

}  // namespace shoal
