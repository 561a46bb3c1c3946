// How a growing text or file reaches another machine: one piece at a time, the next when the last is known to be there.
//
//   asking ──the other file's size──▶ streaming: piece ──its size again──▶ next piece
//     ▲                                             │ no answer for four times as long as answers take
//     └─────────────────────────────────────────────┘
//
// A run may end soon after whoever answers was started again, so patience is short where answers are quick. On a slow
// line a question overtakes the piece before it: a piece is sent again only when it is known to be missing *and* was
// waited for, each time twice as long. The other file may have a past: a stream that is a file of its own goes on where
// the other one ends, if it is as long; everything else is added at its end. Pure: time comes in.
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
  static constexpr Duration kLeastPatience = std::chrono::milliseconds(500);
  static constexpr Duration kMostPatience = std::chrono::seconds(20);

  explicit FileStream(StreamPast past) : past_(past) {}

  // What to send now, if there is anything and the last piece was answered or lost. `size` of what is here.
  [[nodiscard]] std::optional<Piece> next(std::uint64_t size, Instant now);
  // The other file has this many bytes. Returns how much of ours has arrived.
  std::uint64_t arrived(std::uint64_t there, std::uint64_t size, Instant now);
  [[nodiscard]] std::uint64_t arrived() const { return here_; }
  // Whoever asked is no more, and its answer with it.
  void ask_again() { asked_.reset(), sent_.reset(), is_question_due_ = true; }

 private:
  StreamPast past_;
  bool knows_where_ = false;           // our bytes begin there
  bool is_question_due_ = true;        // how far does it go?
  std::uint64_t shift_ = 0;            // the other's offset less ours
  std::uint64_t here_ = 0;             // arrived
  std::optional<Instant> asked_;       // a question that is not answered
  std::optional<Instant> sent_;        // a piece that has not arrived; the last time
  std::optional<Instant> first_sent_;  // and the first
  Duration patience_ = kLeastPatience;
};

}  // namespace shoal
