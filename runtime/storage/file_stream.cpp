// Offsets only; who has the bytes looks them up.
#include "runtime/storage/file_stream.h"

#include <algorithm>

namespace shoal {

std::optional<Piece> FileStream::next(std::uint64_t size, Instant now) {
  if (size == here_ && (knows_where_ || size == 0)) return std::nullopt;
  if (asked_ && now - *asked_ < patience_) return std::nullopt;
  if (asked_) {
    knows_where_it_ends_ = false;
    patience_ = std::min(2 * patience_, kMostPatience);
  }
  asked_ = now;
  if (!knows_where_it_ends_) return Piece{0, 0, true};
  if (!piece_sent_) piece_sent_ = now;
  return Piece{here_ + shift_, here_, false};
}

std::uint64_t FileStream::arrived(std::uint64_t there, std::uint64_t size, Instant now) {
  asked_.reset();
  knows_where_it_ends_ = true;
  if (!knows_where_) {
    knows_where_ = true;
    here_ = past_ == StreamPast::kMayBeThere && there <= size ? there : 0;
    shift_ = there - here_;
  } else if (there > here_ + shift_ && there - shift_ <= size) {  // else nothing new, or an answer that came late
    here_ = there - shift_;
    if (piece_sent_) patience_ = std::clamp(4 * (now - *piece_sent_), kLeastPatience, kMostPatience);
    piece_sent_.reset();
  }
  return here_;
}

}  // namespace shoal
