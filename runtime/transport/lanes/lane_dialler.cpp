// The order that is due first is tried next; it stays in the table until its lane is open or its link over.
#include "runtime/transport/lanes/lane_dialler.h"

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/transport/lanes/lane_connection.h"

namespace shoal {

LaneDialler::LaneDialler(std::shared_ptr<const TlsContext> context, LaneDialTimes times, Opened opened)
    : context_(std::move(context)), times_(times), opened_(std::move(opened)), thread_([this] { work(); }) {}

LaneDialler::~LaneDialler() {
  {
    const std::lock_guard guard(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LaneDialler::open(LinkId link, const Endpoint& endpoint, std::uint64_t key) {
  {
    const std::lock_guard guard(mutex_);
    orders_[link] = Order{endpoint, key, std::chrono::steady_clock::now(), times_.retry_first};
  }
  changed_.notify_all();
}

void LaneDialler::forget(LinkId link) {
  const std::lock_guard guard(mutex_);
  orders_.erase(link);
}

Result<TlsSocket> LaneDialler::try_to_open(const Order& order) const {
  const auto now = std::chrono::steady_clock::now();
  auto socket = dial({order.endpoint.host, order.endpoint.port}, now + times_.dial);
  if (!socket) return socket.failure();
  const Deadline deadline = std::chrono::steady_clock::now() + times_.handshake;
  auto session = TlsSocket::connect_lane(std::move(*socket), *context_, deadline);
  if (!session) return session;
  const auto peer = context_->check_peer(session->session());
  if (!peer) return peer.failure();
  if (!is_lane(session->session())) return fail(Error::kUnreachable, "The peer opens no lanes.");
  const Status shown = session->write_all(lane_claim(order.key), deadline);
  if (!shown) return shown.failure();
  return session;
}

void LaneDialler::work() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    const auto first = std::min_element(orders_.begin(), orders_.end(), [](const auto& a, const auto& b) {
      return a.second.due < b.second.due;
    });
    if (first == orders_.end()) {
      changed_.wait(lock);
      continue;
    }
    if (std::chrono::steady_clock::now() < first->second.due) {
      changed_.wait_until(lock, Deadline(first->second.due));
      continue;
    }
    const LinkId link = first->first;
    const Order order = first->second;
    lock.unlock();
    auto session = try_to_open(order);
    if (!session) log_debug("transport", "a lane to ", order.endpoint.host, ": ", session.failure().message);
    if (!session) ++failures_;
    lock.lock();
    const auto still = orders_.find(link);
    if (still == orders_.end() || still->second.key != order.key) continue;
    if (session) {
      orders_.erase(still);
      opened_(link, std::move(*session));
    } else {
      still->second.due = std::chrono::steady_clock::now() + still->second.retry_after;
      still->second.retry_after = std::min(2 * still->second.retry_after, times_.retry_last);
    }
  }
}

}  // namespace shoal
