// Offsets only; who has the bytes looks them up.
#include "runtime/storage/file_stream.h"

namespace shoal {

std::optional<Piece> FileStream::next(std::uint64_t size, Instant now) {
  if (size == here_ && (knows_where_ || size == 0)) return std::nullopt;
  if (asked_ && now - *asked_ < kAskAgain) return std::nullopt;
  asked_ = now;
  if (!knows_where_) return Piece{0, 0, true};
  return Piece{here_ + shift_, here_, false};
}

std::uint64_t FileStream::arrived(std::uint64_t there, std::uint64_t size) {
  asked_.reset();
  if (!knows_where_) {
    knows_where_ = true;
    here_ = past_ == StreamPast::kMayBeThere && there <= size ? there : 0;
    shift_ = there - here_;
  } else if (there >= here_ + shift_ && there - shift_ <= size) {  // else an answer that came late
    here_ = there - shift_;
  }
  return here_;
}

}  // namespace shoal
