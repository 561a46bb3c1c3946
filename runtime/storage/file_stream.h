// Brings a growing text or file to another machine: one piece at a time, the next when the last is known to be there.
//
//   asking ──the other file's size──▶ streaming: piece ──its size again──▶ next piece
//     ▲                                             │ no answer for four times as long as answers take
//     └─────────────────────────────────────────────┘
//
// A run may end soon after the receiver was started again, so patience is short where answers are quick. On a slow
// line a question overtakes the piece before it: a piece is sent again only when it is known to be missing *and* was
// waited for, each time twice as long. The other file may have a past of other writers: ours is added at its end. Where
// it begins there is worth keeping with a file that goes on in another process's life. The other file has a bound: what
// would stand behind it is never sent.
//
// The other file may also be changed by others: a machine that lost power, or a person, cuts it. Then no piece of ours
// fits any more, and two answers to questions, one after the other, are of a size that cannot be by what arrived; one
// alone may have come late. Ours goes on at that size: from there, if all of ours is kept here, else with what is left.
// Pure: time comes in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "runtime/base/clock.h"

namespace shoal {

struct Piece {
  std::uint64_t there = 0;      // offset in the other file
  std::uint64_t here = 0;       // offset in ours
  bool is_question = false;     // how far does the other file go?
  std::uint64_t bytes_max = 0;  // until the other file is full
};

class FileStream {
 public:
  static constexpr Duration kLeastPatience = std::chrono::milliseconds(500);
  static constexpr Duration kMostPatience = std::chrono::seconds(20);

  // Says what of ours can be sent again when the other file has lost it: a file has all, an outbox nothing.
  enum class Kept : std::uint8_t { kAll, kNotArrived };
  // there_max: bytes that the other file may have.
  explicit FileStream(std::uint64_t there_max = std::numeric_limits<std::uint64_t>::max(),
                      Kept kept = Kept::kNotArrived)
      : there_max_(there_max), kept_(kept) {}

  // Sets, before the first answer, where ours begins, as a process before this one knew. Not believed of a file that is
  // not as long, or longer than it would be.
  void set_begin(std::uint64_t there) { begin_ = there; }
  // Known from the first answer on, which comes before the first piece is sent; only where all of ours is kept.
  [[nodiscard]] std::optional<std::uint64_t> begin() const { return knows_where_ ? begin_ : std::nullopt; }

  // Bytes of ours that the other file has room for, as far as is known: those that follow are never sent.
  [[nodiscard]] std::uint64_t size_max() const {
    const std::uint64_t room = there_max_ - std::min(knows_where_ ? there_ : begin_.value_or(0), there_max_);
    return here_ + std::min(room, std::numeric_limits<std::uint64_t>::max() - here_);
  }
  [[nodiscard]] bool is_full() const { return knows_where_ && there_ >= there_max_; }

  // Returns what to send now, if there is anything and the last piece was answered or lost. `size` of what is here.
  [[nodiscard]] std::optional<Piece> next(std::uint64_t size, Instant now);
  // The other file has this many bytes. Returns how much of ours has arrived; less than before where it was lost there
  // and is kept here.
  std::uint64_t arrived(std::uint64_t there, std::uint64_t size, Instant now);
  [[nodiscard]] std::uint64_t arrived() const { return here_; }
  // Asks again: the process that asked is no more, and its answer with it.
  void ask_again() { asked_.reset(), sent_.reset(), is_question_due_ = true; }

 private:
  void begin_at(std::uint64_t there, std::uint64_t size);
  void settle();

  std::uint64_t there_max_;
  Kept kept_;
  std::optional<std::uint64_t> begin_;  // the other's offset of our first byte
  bool knows_where_ = false;            // and that is so
  bool is_question_due_ = true;         // how far does it go?
  std::uint64_t here_ = 0;              // arrived
  std::uint64_t there_ = 0;             // and its end in the other file
  bool is_changed_ = false;             // the answer to the last question cannot be by what arrived
  std::optional<Instant> asked_;        // a question that is not answered
  std::optional<Instant> sent_;         // a piece that has not arrived; the last time
  std::optional<Instant> first_sent_;   // and the first
  Duration patience_ = kLeastPatience;
};

}  // namespace shoal
