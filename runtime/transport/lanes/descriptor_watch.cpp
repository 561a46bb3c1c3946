// The eventfd that wakes is one of the watched descriptors; who waits is not told of it.
#include "runtime/transport/lanes/descriptor_watch.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/base/ensure.h"

namespace shoal {

DescriptorWatch::DescriptorWatch()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  ENSURE(epoll_ >= 0 && wake_ >= 0, "the system has two descriptors for us");
  ENSURE(add(wake_, EPOLLIN), "one may be watched");
}

DescriptorWatch::~DescriptorWatch() {
  ::close(epoll_);
  ::close(wake_);
}

bool DescriptorWatch::add(int descriptor, std::uint32_t events) const {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void DescriptorWatch::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);  // full: it is awake
}

std::vector<DescriptorEvent> DescriptorWatch::wait(int timeout_ms) const {
  epoll_event events[kEventsMax];
  const int count = ::epoll_wait(epoll_, events, kEventsMax, timeout_ms);
  std::vector<DescriptorEvent> heard;
  for (int i = 0; i < count; ++i) {
    if (events[i].data.fd == wake_) {
      std::uint64_t ignored = 0;
      (void)!::read(wake_, &ignored, sizeof ignored);
    } else {
      heard.push_back({events[i].data.fd, events[i].events});
    }
  }
  return heard;
}

}  // namespace shoal
