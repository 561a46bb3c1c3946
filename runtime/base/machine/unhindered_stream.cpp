// Writes without waiting: O_NONBLOCK on an opening of its own, MSG_DONTWAIT on a socket.
#include "runtime/base/machine/unhindered_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr std::size_t kUnreadMax = 64 << 10;  // bytes of lines that nobody has read yet
constexpr Duration kAtTheEnd = std::chrono::seconds(1);
constexpr std::size_t kAtOnce =
    64;  // bytes that a stream without an opening of its own surely has room for, if for any

}  // namespace

UnhinderedStream::~UnhinderedStream() { close_own(); }

void UnhinderedStream::close_own() {
  if (own_ >= 0) ::close(own_);
  own_ = -1;
}

// Sees whether the descriptor has another file by now.
void UnhinderedStream::look() {
  struct stat now {};
  if (::fstat(descriptor_, &now) != 0) {
    kind_ = Kind::kNone;
    return;
  }
  if (kind_ != Kind::kNone && now.st_dev == device_ && now.st_ino == file_) return;
  device_ = now.st_dev;
  file_ = now.st_ino;
  close_own();
  kind_ = S_ISREG(now.st_mode) ? Kind::kFile : S_ISSOCK(now.st_mode) ? Kind::kSocket : Kind::kOther;
  if (kind_ != Kind::kOther) return;
  own_ = ::open(compose("/proc/self/fd/", descriptor_).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

ssize_t UnhinderedStream::write_some() const {
  switch (kind_) {
    case Kind::kNone: errno = EBADF; return -1;
    case Kind::kFile: return ::write(descriptor_, kept_.data(), kept_.size());
    case Kind::kSocket: return ::send(descriptor_, kept_.data(), kept_.size(), MSG_DONTWAIT);
    case Kind::kOther: break;
  }
  if (own_ >= 0) return ::write(own_, kept_.data(), kept_.size());
  pollfd room{descriptor_, POLLOUT, 0};
  if (::poll(&room, 1, 0) == 0) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(descriptor_, kept_.data(), std::min(kept_.size(), kAtOnce));
}

void UnhinderedStream::give() {
  while (!kept_.empty()) {
    const ssize_t count = write_some();
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      kept_.clear();
      lost_ = 0;  // nobody is there to be told
      return;
    }
    kept_.erase(0, static_cast<std::size_t>(count));
  }
}

void UnhinderedStream::tell_lost() {
  if (lost_ == 0) return;
  kept_ += compose("[", lost_, lost_ == 1 ? " line is" : " lines are", " missing here: nobody read on]\n");
  lost_ = 0;
}

void UnhinderedStream::write(std::string_view lines) {
  const std::lock_guard lock(mutex_);
  look();
  give();
  if (!kept_.empty() && kept_.size() + lines.size() > kUnreadMax) {
    lost_ += static_cast<std::uint64_t>(std::ranges::count(lines, '\n'));
    return;
  }
  tell_lost();
  kept_ += lines;
  give();
}

void UnhinderedStream::go_on() {
  const std::lock_guard lock(mutex_);
  give();
  if (!kept_.empty()) return;
  tell_lost();
  give();
}

void UnhinderedStream::finish(Duration longest) {
  const Instant end = steady_now() + longest;
  for (;;) {
    go_on();
    const std::lock_guard lock(mutex_);
    if (kept_.empty() || steady_now() >= end) return;
    pollfd room{descriptor_, POLLOUT, 0};
    ::poll(&room, 1, 20);
  }
}

// Never destroyed: threads may speak while static objects end.
UnhinderedStream& words_out() {
  static auto* const words = [] {
    auto* made = new UnhinderedStream(STDERR_FILENO);
    std::atexit([] { words_out().finish(kAtTheEnd); });
    return made;
  }();
  return *words;
}

}  // namespace shoal
