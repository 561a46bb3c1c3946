// Faults of a bad network in one direction of one connection: bytes go in at one time and come out at another, late,
// slowly, damaged, twice, or not at all for a while.
//
// A stream keeps its order whatever the jitter, as TCP does. A cut keeps what was sent and hands it out after it heals,
// as TCP's repeats do; a stall takes nothing in, so that the sender feels it. At most `bytes_max` lie in a pipe, beyond
// that nothing is taken in. Pure: time comes in, and the same seed does the same damage.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "runtime/base/clock.h"

namespace shoal {

struct LinkFaults {
  Duration delay{};
  Duration jitter{};             // a segment is late by delay +- jitter, evenly
  double bytes_per_second = 0;   // 0: no limit
  double corrupt_per_mib = 0;    // flipped bits, on average
  double duplicate_per_mib = 0;  // segments that come twice, on average
  bool is_cut = false;
  bool is_stalled = false;
  friend bool operator==(const LinkFaults&, const LinkFaults&) = default;
};

// Says how a sender ended its direction.
enum class StreamEnd : std::uint8_t { kNotYet, kFinished, kReset };

struct DamageCounts {
  std::uint64_t corrupted = 0;   // bits
  std::uint64_t duplicated = 0;  // segments
};

class FaultyPipe {
 public:
  explicit FaultyPipe(std::uint64_t seed, std::size_t bytes_max = std::size_t{4} << 20U);

  // Bytes that may come in.
  [[nodiscard]] std::size_t room(const LinkFaults& faults) const;
  void take(std::string_view bytes, const LinkFaults& faults, Instant now);
  // Nothing follows what is in the pipe.
  void end(StreamEnd how, const LinkFaults& faults, Instant now);

  // The next bytes that may go out; empty when none are due. sent(): so many of them have gone.
  [[nodiscard]] std::string_view due(const LinkFaults& faults, Instant now) const;
  void sent(std::size_t count);
  // The end, once it is due and all bytes before it have gone.
  [[nodiscard]] StreamEnd end_due(const LinkFaults& faults, Instant now) const;
  // Returns when to look again; nothing while it waits for an input or a change of faults.
  [[nodiscard]] std::optional<Instant> next(const LinkFaults& faults) const;

  // Damages what comes next once, whatever the faults say.
  void corrupt_next() { ++corruptions_owed_; }
  void duplicate_next() { ++duplicates_owed_; }
  [[nodiscard]] const DamageCounts& damage() const { return damage_; }

 private:
  struct Segment {
    std::string bytes;
    Instant due;
  };

  [[nodiscard]] Instant arrival(std::size_t size, const LinkFaults& faults, Instant now);
  [[nodiscard]] std::uint64_t draw(double per_mib, std::size_t size);
  void corrupt(std::string& bytes, const LinkFaults& faults);

  std::mt19937_64 random_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::deque<Segment> segments_;
  std::size_t front_sent_ = 0;
  Instant line_free_at_{};  // when the last byte taken in has left a line of limited rate
  Instant last_due_{};
  StreamEnd end_ = StreamEnd::kNotYet;
  Instant end_due_{};
  std::uint64_t corruptions_owed_ = 0;
  std::uint64_t duplicates_owed_ = 0;
  DamageCounts damage_;
};

}  // namespace shoal
