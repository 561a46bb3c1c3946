// Times of one kind of work or letter: how many, their mean, and which of them one in a hundred exceeds.
//
// That one is exact for the first 65,536 times. From there on times are counted in groups whose width is at most a
// 1024th of the time, and the middle of its group stands for each: a time that is told is then wrong by at most a
// 2048th. Memory: 512 KB, or a few thousand groups, whatever the length of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace shoal {

inline constexpr std::size_t kExactTimes = std::size_t{1} << 16U;

class TimeCounts {
 public:
  void add(std::int64_t ns);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::int64_t total_ns() const { return static_cast<std::int64_t>(total_ns_); }
  // 0 where there are none.
  [[nodiscard]] std::int64_t mean_ns() const;
  // Returns the time that one in a hundred exceeds; 0 where there are none.
  [[nodiscard]] std::int64_t high_ns() const;
  // How many times or groups are kept.
  [[nodiscard]] std::size_t kept_count() const { return exact_.size() + groups_.size(); }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t total_ns_ = 0;       // two's complement: times of a damaged trace are of any size
  std::vector<std::int64_t> exact_;  // all times, until they are too many
  std::unordered_map<std::int64_t, std::uint64_t> groups_;  // by their middle; empty until then
};

}  // namespace shoal
