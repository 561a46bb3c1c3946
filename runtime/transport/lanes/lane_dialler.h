// Opens lanes: dials, shakes hands, shows the key, hears that it is good, or to which local door to come instead
// (lane_greeting.h); one after the other, on a thread of its own.
//
// The address is one that a link was just dialled at, so that a wait for a black hole is rare; it ends at the deadlines
// of LaneDialTimes. What fails is tried again, ever more rarely, until its link is over.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "messages/cluster.h"
#include "runtime/transport/lanes/lane_limits.h"
#include "runtime/transport/lanes/lane_socket.h"
#include "runtime/transport/links.h"
#include "runtime/transport/tls_socket.h"

namespace shoal {

class LaneDialler {
 public:
  using Opened = std::function<void(LinkId, std::unique_ptr<LaneSocket>)>;

  LaneDialler(std::shared_ptr<const TlsContext> context, const LaneLimits& limits, Opened opened);
  ~LaneDialler();
  LaneDialler(const LaneDialler&) = delete;
  LaneDialler& operator=(const LaneDialler&) = delete;

  void open(LinkId link, const Endpoint& endpoint, std::uint64_t key);
  void forget(LinkId link);
  // Ends the thread, in the middle of a handshake too. Idempotent.
  void stop();
  // Counts how often opening failed so far.
  [[nodiscard]] std::uint64_t failures() const { return failures_; }

 private:
  struct Order {
    Endpoint endpoint;
    std::uint64_t key = 0;
    Deadline due;
    std::chrono::milliseconds retry_after;
  };

  void work();
  // Any thread but the caller's may change the orders meanwhile.
  [[nodiscard]] Result<std::unique_ptr<LaneSocket>> try_to_open(const Order& order);
  [[nodiscard]] Result<std::unique_ptr<LaneSocket>> greet(TlsSocket session, std::uint64_t key, Deadline deadline);
  // The socket that stop() is to break: this one from now on, or none.
  void watch(int descriptor);

  std::shared_ptr<const TlsContext> context_;
  LaneLimits limits_;
  Opened opened_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<LinkId, Order> orders_;
  std::atomic<std::uint64_t> failures_ = 0;
  bool is_stopping_ = false;
  int watched_ = -1;
  std::thread thread_;
};

}  // namespace shoal
