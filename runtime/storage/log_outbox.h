// The log of a process on its way to another machine: lines wait here until they are known to have arrived.
//
// Bounded: a line that does not fit is dropped and counted, and the next one that fits says how many were (S-6).
// Thread-safe: lines come from any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace shoal {

class LogOutbox {
 public:
  explicit LogOutbox(std::size_t bytes_max = std::size_t{1} << 20) : bytes_max_(bytes_max) {}

  // Adds a line, with its newline.
  void add(std::string_view line);

  // The whole stream: how many bytes were added so far, and those from `offset` on that are still here.
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] std::string bytes(std::uint64_t offset, std::size_t count_max) const;
  // Bytes before this offset have arrived.
  void arrived(std::uint64_t offset);
  [[nodiscard]] std::uint64_t dropped_bytes() const;

 private:
  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::string waiting_;
  std::uint64_t begin_ = 0;  // offset of waiting_'s first byte
  std::uint64_t dropped_bytes_ = 0;
  std::uint64_t dropped_lines_ = 0;  // not said yet
};

}  // namespace shoal
