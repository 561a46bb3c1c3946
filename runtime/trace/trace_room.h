// Decides what still goes into a trace file that has a bound: that of a node on another machine, for which the run
// directory has so much room and no more (S-6), or one on a disk that keeps the rest for the journal (disk_space.h).
//
//   open ──a block does not fit──▶ full ──the loss is written──▶ told ──the rest of it, and the end──▶ closed
//
// From the first event on that does not fit none is written, and all are counted. The count is written at once, so that
// no reader takes what is missing for what never happened, and once more at the end: not in between, because a process
// lives on for months. Pure.
#pragma once

#include <cstdint>
#include <limits>

namespace shoal {

class TraceRoom {
 public:
  static constexpr std::uint64_t kLastBytes = 128;  // three counts and an end, behind everything else

  void set_bytes_max(std::uint64_t bytes) { bytes_max_ = bytes; }

  // True when a block of so many bytes may follow those that are there; once one may not, none may.
  [[nodiscard]] bool takes(std::uint64_t there, std::uint64_t bytes) {
    const bool fits =
        there <= bytes_max_ && bytes_max_ - there >= kLastBytes && bytes <= bytes_max_ - there - kLastBytes;
    if (!fits) fill();
    return state_ == State::kOpen;
  }
  // No block may follow any more.
  void fill() {
    if (state_ == State::kOpen) state_ = State::kFull;
  }
  [[nodiscard]] bool is_full() const { return state_ != State::kOpen; }

  // True when the count of lost events is to be written now, if there are any.
  [[nodiscard]] bool is_loss_due() const { return state_ == State::kOpen || state_ == State::kFull; }
  void told_loss() {
    if (state_ == State::kFull) state_ = State::kTold;
  }
  // True when the end may be written, with what was lost until then: once where the file is full.
  [[nodiscard]] bool takes_end() const { return state_ != State::kClosed; }
  void told_end() {
    if (is_full()) state_ = State::kClosed;
  }

 private:
  enum class State : std::uint8_t { kOpen, kFull, kTold, kClosed };

  std::uint64_t bytes_max_ = std::numeric_limits<std::uint64_t>::max();
  State state_ = State::kOpen;
};

}  // namespace shoal
