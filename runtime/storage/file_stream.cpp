// Handles offsets only; the holder of the bytes looks them up.
#include "runtime/storage/file_stream.h"

#include <algorithm>

namespace shoal {

std::optional<Piece> FileStream::next(std::uint64_t size, Instant now) {
  const bool is_all_there = size == here_ || is_full();
  if (is_all_there && (knows_where_ || size == 0)) return std::nullopt;
  const auto is_recent = [&](const std::optional<Instant>& moment) { return moment && now - *moment < patience_; };
  if (is_recent(asked_) || is_recent(sent_)) return std::nullopt;
  if (is_question_due_ || asked_) {
    if (asked_) patience_ = std::min(2 * patience_, kMostPatience);
    is_question_due_ = false;
    asked_ = now;
    return Piece{0, 0, true, 0};
  }
  if (sent_) patience_ = std::min(2 * patience_, kMostPatience);
  if (!first_sent_) first_sent_ = now;
  sent_ = now;
  is_question_due_ = true;  // unless it arrives
  return Piece{there_, here_, false, there_max_ - there_};
}

std::uint64_t FileStream::arrived(std::uint64_t there, std::uint64_t size, Instant now) {
  const bool is_answer = asked_.has_value();
  asked_.reset();
  if (!knows_where_) {
    knows_where_ = true;
    begin_at(there, size);
    return here_;
  }
  const bool can_be = there >= there_ && there - there_ <= size - std::min(size, here_);
  if (can_be && there > there_) {
    here_ += there - there_;
    there_ = there;
    if (first_sent_) patience_ = std::clamp(4 * (now - *first_sent_), kLeastPatience, kMostPatience);
    settle();
  } else if (can_be) {
    is_changed_ = false;
  } else if (is_answer && !is_changed_) {
    is_changed_ = is_question_due_ = true;
  } else if (is_answer) {
    if (kept_ == Kept::kAll) begin_at(there, size);
    there_ = there;
    settle();
  }
  return here_;
}

// Ours begins where it was said to, if the other file can be so, else at its end.
void FileStream::begin_at(std::uint64_t there, std::uint64_t size) {
  const bool is_so = begin_ && *begin_ <= there && there - *begin_ <= size;
  if (!is_so) begin_ = there;
  here_ = there - *begin_;
  there_ = there;
}

void FileStream::settle() {
  sent_.reset();
  first_sent_.reset();
  is_question_due_ = is_changed_ = false;
}

}  // namespace shoal
