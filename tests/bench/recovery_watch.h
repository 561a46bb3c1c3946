// Watches what a run says of a fault, as its metrics.jsonl grows: each line with the time at which it was first seen.
// Nothing is asked of the run during the fault.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/process_program.h"

namespace shoal {

using WatchClock = std::chrono::steady_clock;

struct Seen {
  WatchClock::time_point at;
  std::string text;
  bool is_step = false;
};

[[nodiscard]] bool contains(const std::string& text, const std::string& part);
// Returns the number of "key":VALUE in a line; 0 where it is not.
[[nodiscard]] std::uint64_t number_of(const std::string& line, const std::string& key);
[[nodiscard]] double ms_between(WatchClock::time_point from, WatchClock::time_point to);

class Watcher {
 public:
  explicit Watcher(std::filesystem::path file) : file_(std::move(file)) {}

  // Reads what is new.
  void look();
  // Looks every few milliseconds until the predicate holds.
  [[nodiscard]] bool wait(const std::function<bool()>& is_true, Milliseconds limit);
  [[nodiscard]] bool wait_for_steps(std::size_t more);

  [[nodiscard]] const std::vector<Seen>& seen() const { return seen_; }
  [[nodiscard]] std::size_t steps() const { return steps_; }
  [[nodiscard]] double median_step_ms() const;
  // Steps that were recorded and are done again, as they are after a roll-back.
  [[nodiscard]] std::uint64_t steps_lost() const;

 private:
  std::filesystem::path file_;
  std::streamoff offset_ = 0;
  std::vector<Seen> seen_;
  std::size_t steps_ = 0;
};

// Says who is to be missed, and how the rest is to hear of it.
struct Expected {
  bool removes_a_replica = false;
  bool is_noticed = true;      // false: the run may pass over it in silence
  bool is_by_command = false;  // the fault begins when the run says so: before it is the time of the command itself
  bool lasts = false;          // until the injection returns; the run is whole after it
  Milliseconds later{0};       // how long after the order: the spawner's process answers first, and fails then
};

// Times in milliseconds from the fault.
struct Outcome {
  double notice = 0;
  double fence = 0;
  double commit = 0;
  double whole = 0;
  double stall = 0;
  double back = 0;   // all replicas, from the end of the fault: where it lasts
  double again = 0;  // Forwards sent again in the steps until the run was whole
};

// Watches until the run is whole again. `inject` runs in a thread of its own; where the fault lasts it returns when the
// fault is over. Nothing: it did not recover within the limit.
[[nodiscard]] std::optional<Outcome> suffer(Watcher& watcher, const std::function<void()>& inject,
                                            const Expected& expected, Milliseconds limit);

}  // namespace shoal
