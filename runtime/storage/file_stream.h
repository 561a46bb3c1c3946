// How a growing text or file reaches another machine: one piece at a time, the next when the last is known to be there.
//
//   asking ──the other file's size──▶ streaming: piece ──its size again──▶ next piece      no answer: the same once
//   more
//
// The other file may have a past: a stream that is a file of its own goes on where the other one ends, if it is as
// long; everything else is added at its end. Pure: time comes in.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/clock.h"

namespace shoal {

// What is here: a file that a process before this one may have written and sent, or a text of this process alone.
enum class StreamPast { kMayBeThere, kNone };

struct Piece {
  std::uint64_t there = 0;   // offset in the other file
  std::uint64_t here = 0;    // offset in ours
  bool is_question = false;  // how far does the other file go?
};

class FileStream {
 public:
  static constexpr Duration kAskAgain = std::chrono::seconds(5);

  explicit FileStream(StreamPast past) : past_(past) {}

  // What to send now, if there is anything and the last piece was answered or lost. `size` of what is here.
  [[nodiscard]] std::optional<Piece> next(std::uint64_t size, Instant now);
  // The other file has this many bytes. Returns how much of ours has arrived.
  std::uint64_t arrived(std::uint64_t there, std::uint64_t size);

 private:
  StreamPast past_;
  bool knows_where_ = false;
  std::uint64_t shift_ = 0;  // the other's offset less ours
  std::uint64_t here_ = 0;   // arrived
  std::optional<Instant> asked_;
};

}  // namespace shoal
