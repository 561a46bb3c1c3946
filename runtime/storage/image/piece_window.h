// The taker's side of an image that comes in pieces (P-26b): which ones to ask for, and which one is next.
//
//   the first piece ──▶ kAskedMax pieces asked for and not there ──▶ each that comes makes room for one ──▶ whole
//
// Pieces of which nothing came for kLost, doubled with each time, are asked for again.
//
// Pieces are taken in their order. They come in the order of their questions, so that one which comes before its turn
// tells that those before it were lost, with a link for example: they are asked for again at once, and it with them.
// All are as large as the first one, but the last. Pure: time comes in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "runtime/base/bound.h"
#include "runtime/base/clock.h"

namespace shoal {

class PieceWindow {
 public:
  static inline const Bound kAskedMax{"storage.pieces_asked_for", 8};
  static constexpr Duration kLost = std::chrono::seconds(30);

  // The first piece, of so many bytes (not none), has come, and is taken next.
  PieceWindow(std::uint64_t first_bytes, std::uint64_t bytes_total, Instant now, Duration lost_after = kLost)
      : piece_bytes_(first_bytes),
        total_(bytes_total),
        asked_(first_bytes),
        early_(bytes_total),
        moved_at_(now),
        waits_since_(now),
        lost_first_(lost_after),
        lost_after_(lost_after) {}

  [[nodiscard]] std::uint64_t held() const { return held_; }
  [[nodiscard]] std::uint64_t bytes_total() const { return total_; }
  [[nodiscard]] bool is_whole() const { return held_ >= total_; }
  // True for the next piece: it is to be taken. One that comes before its turn makes due what is not there, but no
  // further one of those that were sent after the same loss.
  [[nodiscard]] bool takes(std::uint64_t offset, Instant now) {
    const bool tells_of_a_loss = offset > held_ && offset < early_;
    if (tells_of_a_loss) ask_again(now);
    if (tells_of_a_loss) early_ = offset + 1;
    return offset == held_ && !is_whole();
  }
  // The next piece was taken, with so many bytes.
  void took(std::uint64_t bytes, Instant now) {
    held_ += bytes;
    asked_ = std::max(asked_, held_);
    early_ = total_;
    lost_after_ = lost_first_;
    arriving(now);
  }
  // More bytes of a piece are on their way.
  void arriving(Instant now) { moved_at_ = waits_since_ = now; }
  // Returns for how long nothing has come.
  [[nodiscard]] Duration silence(Instant now) const { return now - moved_at_; }
  // True when nothing came, and nothing was asked for again, for so long.
  [[nodiscard]] bool is_still(Instant now, Duration time) const { return now - waits_since_ >= time; }
  // Makes due what is not there: its giver began anew.
  void ask_again(Instant now) {
    asked_ = held_;
    waits_since_ = now;
  }

  // Returns where the next piece to ask for begins; asked until there is none.
  [[nodiscard]] std::optional<std::uint64_t> due(Instant now) {
    if (is_whole()) return std::nullopt;
    if (asked_ > held_ && now - waits_since_ >= lost_after_) {
      ask_again(now);
      lost_after_ *= 2;
    }
    const bool is_full = kAskedMax.is_reached_by((asked_ - held_ + piece_bytes_ - 1) / piece_bytes_);
    if (asked_ >= total_ || is_full) return std::nullopt;
    const std::uint64_t offset = asked_;
    asked_ = std::min(asked_ + piece_bytes_, total_);
    return offset;
  }

 private:
  std::uint64_t piece_bytes_;
  std::uint64_t total_;
  std::uint64_t held_ = 0;  // from the image's first byte on
  std::uint64_t asked_;     // the same, with what was asked for
  std::uint64_t early_;     // a piece from there on tells of no loss that is not known
  Instant moved_at_;
  Instant waits_since_;  // the same, or when it was asked for again
  Duration lost_first_;
  Duration lost_after_;
};

}  // namespace shoal
