// Who may wait at a door: bounds on connections that have not shown who they are, and on what we write about refusals.
//
// A stranger can open as many sockets as it likes; what they cost here is bounded in all and per address, and ends at
// a deadline (S-6, S-7). Pure: time comes in. Not thread-safe; owners lock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shoal {

using SteadyTime = std::chrono::steady_clock::time_point;

struct AdmissionLimits {
  std::size_t half_open_count_max = 64;
  std::size_t half_open_per_address_max = 32;
  std::chrono::milliseconds handshake_timeout{5000};
};

enum class Admission { kAdmitted, kTooMany, kTooManyOfAddress };

// Connections between accept (or dial) and the end of their handshake. Keys are descriptors.
class HalfOpenTable {
 public:
  explicit HalfOpenTable(AdmissionLimits limits) : limits_(limits) {}

  // An incoming connection; recorded only when admitted.
  [[nodiscard]] Admission admit(int descriptor, const std::string& address, SteadyTime now);
  // A connection of our own making: has a deadline, is not counted against strangers.
  void track_outgoing(int descriptor, SteadyTime now);
  // Handshake finished or connection closed. Unknown descriptors are ignored.
  void settle(int descriptor);
  // Descriptors whose handshake has outlived its deadline, oldest first. They stay until settled.
  [[nodiscard]] std::vector<int> expired(SteadyTime now) const;
  [[nodiscard]] std::size_t incoming_count() const { return incoming_count_; }

 private:
  struct Entry {
    std::string address;  // empty: outgoing
    SteadyTime since;
  };
  AdmissionLimits limits_;
  std::map<int, Entry> entries_;
  std::map<std::string, std::size_t> count_of_address_;
  std::size_t incoming_count_ = 0;
};

// Decides which refusals become log lines: the first kLinesPerWindow of each window, then only their count.
class RefusalLog {
 public:
  static constexpr std::uint64_t kLinesPerWindow = 10;
  static constexpr std::chrono::seconds kWindow{10};

  struct Line {
    bool write = false;
    std::uint64_t left_out = 0;  // refusals of earlier windows that got no line
  };
  [[nodiscard]] Line refused(SteadyTime now);
  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  SteadyTime window_start_{};
  std::uint64_t in_window_ = 0;
  std::uint64_t left_out_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace shoal
