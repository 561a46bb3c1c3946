// Waits for events of many descriptors (epoll), and can be woken by any thread (eventfd).
//
// Events are those of epoll (EPOLLIN, EPOLLOUT, EPOLLET, ...). A descriptor that is closed is watched no more.
#pragma once

#include <cstdint>
#include <vector>

namespace shoal {

struct DescriptorEvent {
  int descriptor = -1;
  std::uint32_t events = 0;
};

class DescriptorWatch {
 public:
  DescriptorWatch();
  ~DescriptorWatch();
  DescriptorWatch(const DescriptorWatch&) = delete;
  DescriptorWatch& operator=(const DescriptorWatch&) = delete;

  // False: the system refuses, no events of it will come.
  [[nodiscard]] bool add(int descriptor, std::uint32_t events) const;
  // Ends a wait, or the next one where nobody waits. For any thread.
  void wake() const;
  // At most kEventsMax at once, the others come next time; none: woken, or timeout_ms are over.
  [[nodiscard]] std::vector<DescriptorEvent> wait(int timeout_ms) const;

  static constexpr int kEventsMax = 64;

 private:
  int epoll_ = -1;
  int wake_ = -1;
};

}  // namespace shoal
