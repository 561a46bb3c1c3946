// A pair of sockets rather than a pipe: a keeper that is gone must not end the process that tells it something.
#include "launch/life_line.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

std::atomic<int> to_keeper = -1;  // -1: nobody keeps this process
std::atomic<LifeReached> told = LifeReached::kNothing;

}  // namespace

Result<LifeLine> LifeLine::make() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return fail(Error::kIo, compose("cannot make a pair of sockets: ", std::strerror(errno)));
  }
  LifeLine line;
  line.near_ = ends[0];
  line.far_ = ends[1];
  return line;
}

LifeLine::LifeLine(LifeLine&& other) noexcept
    : near_(std::exchange(other.near_, -1)), far_(std::exchange(other.far_, -1)), reached_(other.reached_) {}

LifeLine& LifeLine::operator=(LifeLine&& other) noexcept {
  std::swap(near_, other.near_);
  std::swap(far_, other.far_);
  reached_ = other.reached_;
  return *this;
}

LifeLine::~LifeLine() {
  close_far_end();
  if (near_ >= 0) ::close(near_);
}

void LifeLine::close_far_end() {
  if (far_ >= 0) ::close(far_);
  far_ = -1;
}

LifeReached LifeLine::reached() {
  char news = 0;
  while (near_ >= 0 && ::recv(near_, &news, 1, 0) == 1) {
    if (news == 'w') reached_ = LifeReached::kWork;
    if (news == 'u' && reached_ == LifeReached::kNothing) reached_ = LifeReached::kUp;
  }
  return reached_;
}

void take_life_line() {
  const char* number = std::getenv(kLifeLineName);
  if (number == nullptr) return;
  const int end = std::atoi(number);
  ::unsetenv(kLifeLineName);
  struct stat what {};
  if (end <= STDERR_FILENO || ::fstat(end, &what) != 0 || !S_ISSOCK(what.st_mode)) return;
  ::fcntl(end, F_SETFD, FD_CLOEXEC);
  to_keeper = end;
}

void tell_keeper(LifeReached reached) {
  if (told.load(std::memory_order_relaxed) >= reached) return;
  const int end = to_keeper;
  if (end < 0 || told.exchange(reached) >= reached) return;
  const char news = reached == LifeReached::kWork ? 'w' : 'u';
  (void)::send(end, &news, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace shoal
