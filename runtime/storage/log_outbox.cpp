// A string with an offset: what has arrived is cut off its front.
#include "runtime/storage/log_outbox.h"

#include <algorithm>

#include "runtime/base/compose.h"

namespace shoal {

void LogOutbox::add(std::string_view line) {
  const std::lock_guard guard(mutex_);
  const std::string note =
      dropped_lines_ == 0 ? std::string() : compose("... ", dropped_lines_, " lines were dropped here\n");
  if (waiting_.size() + note.size() + line.size() > bytes_max_) {
    dropped_bytes_ += line.size();
    ++dropped_lines_;
    return;
  }
  waiting_ += note;
  waiting_ += line;
  dropped_lines_ = 0;
}

std::uint64_t LogOutbox::size() const {
  const std::lock_guard guard(mutex_);
  return begin_ + waiting_.size();
}

std::string LogOutbox::bytes(std::uint64_t offset, std::size_t count_max) const {
  const std::lock_guard guard(mutex_);
  if (offset < begin_ || offset >= begin_ + waiting_.size()) return {};
  return waiting_.substr(static_cast<std::size_t>(offset - begin_), count_max);
}

void LogOutbox::arrived(std::uint64_t offset) {
  const std::lock_guard guard(mutex_);
  if (offset <= begin_) return;
  const std::uint64_t count = std::min<std::uint64_t>(offset - begin_, waiting_.size());
  waiting_.erase(0, static_cast<std::size_t>(count));
  begin_ += count;
}

std::uint64_t LogOutbox::dropped_bytes() const {
  const std::lock_guard guard(mutex_);
  return dropped_bytes_;
}

}  // namespace shoal
