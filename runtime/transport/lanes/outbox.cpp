// A deque and its bound.
#include "runtime/transport/lanes/outbox.h"

#include <utility>

#include "runtime/transport/assembly.h"

namespace shoal {

Outbox::Put Outbox::put(EncodedLetter letter) {
  const std::lock_guard guard(mutex_);
  if (bytes_ >= bytes_max_) {
    has_refused_ = true;
    return {LaneOutcome::kFull, false};
  }
  bytes_ += byte_count(letter);
  letters_.push_back(std::move(letter));
  return {LaneOutcome::kTaken, std::exchange(is_idle_, false)};
}

Outbox::Taken Outbox::take() {
  const std::lock_guard guard(mutex_);
  Taken taken;
  if (letters_.empty()) {
    is_idle_ = true;
  } else {
    taken.letter = std::move(letters_.front());
    letters_.pop_front();
    bytes_ -= byte_count(*taken.letter);
  }
  if (has_refused_ && bytes_ <= bytes_max_ / 2) taken.has_room_again = std::exchange(has_refused_, false);
  return taken;
}

}  // namespace shoal
