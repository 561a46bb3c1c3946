// Letters that one lane is to send: whole, bounded in bytes, taken out by the lanes' thread.
// Thread-safe. Its thread sleeps while the box is idle: a caller that puts the first letter into an idle box wakes it.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>

#include "messages/codec.h"
#include "runtime/transport/lanes/lanes.h"

namespace shoal {

class Outbox {
 public:
  explicit Outbox(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  struct Put {
    LaneOutcome outcome = LaneOutcome::kFull;
    bool was_idle = false;  // the lanes' thread is not at it: wake it
  };
  // Takes a letter of any size while less than the bound is there: large ones wait no longer than others.
  [[nodiscard]] Put put(EncodedLetter letter);

  struct Taken {
    std::optional<EncodedLetter> letter;  // none: the box is idle until something is put in
    bool has_room_again = false;          // somebody was refused, and half of the bound is free now
  };
  [[nodiscard]] Taken take();

 private:
  std::mutex mutex_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  bool is_idle_ = true;
  bool has_refused_ = false;
  std::deque<EncodedLetter> letters_;
};

}  // namespace shoal
