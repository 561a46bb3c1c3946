// Handles offsets only; the holder of the bytes looks them up.
#include "runtime/storage/file_stream.h"

#include <algorithm>

namespace shoal {

std::optional<Piece> FileStream::next(std::uint64_t size, Instant now) {
  if (size == here_ && (knows_where_ || size == 0)) return std::nullopt;
  const auto is_recent = [&](const std::optional<Instant>& moment) { return moment && now - *moment < patience_; };
  if (is_recent(asked_) || is_recent(sent_)) return std::nullopt;
  if (is_question_due_ || asked_) {
    if (asked_) patience_ = std::min(2 * patience_, kMostPatience);
    is_question_due_ = false;
    asked_ = now;
    return Piece{0, 0, true};
  }
  if (sent_) patience_ = std::min(2 * patience_, kMostPatience);
  if (!first_sent_) first_sent_ = now;
  sent_ = now;
  is_question_due_ = true;  // unless it arrives
  return Piece{here_ + *begin_, here_, false};
}

std::uint64_t FileStream::arrived(std::uint64_t there, std::uint64_t size, Instant now) {
  asked_.reset();
  if (!knows_where_) {
    knows_where_ = true;
    const bool is_so = begin_ && *begin_ <= there && there - *begin_ <= size;
    if (!is_so) begin_ = there;
    here_ = there - *begin_;
  } else if (there > here_ + *begin_ && there - *begin_ <= size) {  // else nothing new, or an answer that came late
    here_ = there - *begin_;
    if (first_sent_) patience_ = std::clamp(4 * (now - *first_sent_), kLeastPatience, kMostPatience);
    sent_.reset();
    first_sent_.reset();
    is_question_due_ = false;
  }
  return here_;
}

}  // namespace shoal
