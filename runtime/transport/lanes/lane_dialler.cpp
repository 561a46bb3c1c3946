// The order that is due first is tried next; it stays in the table until its lane is open or its link over.
#include "runtime/transport/lanes/lane_dialler.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/transport/lanes/lane_connection.h"

namespace shoal {
namespace {

// Until the other side has said that the lane is open.
Result<TlsSocket> shake_hands(Socket socket, const TlsContext& context, Deadline deadline, std::uint64_t key) {
  auto session = TlsSocket::connect(std::move(socket), context, deadline, TlsSocket::Purpose::kLane);
  if (!session) return session;
  const auto peer = context.check_peer(session->session());
  if (!peer) return peer.failure();
  if (!is_lane(session->session())) return fail(Error::kUnreachable, "The peer opens no lanes.");
  const std::string claim = lane_claim(key);
  const Status shown = session->write_all(claim, deadline);
  if (!shown) return shown.failure();
  std::string answer(claim.size(), '\0');
  for (std::size_t have = 0; have < answer.size();) {
    const auto count = session->read_some(answer.data() + have, answer.size() - have, deadline);
    if (!count) return count.failure();
    if (*count == 0) return fail(Error::kRefused, "The peer has no lane for this key.");
    have += *count;
  }
  if (answer != claim) return fail(Error::kRefused, "The peer has another lane in mind.");
  return session;
}

}  // namespace

LaneDialler::LaneDialler(std::shared_ptr<const TlsContext> context, LaneDialTimes times, Opened opened)
    : context_(std::move(context)), times_(times), opened_(std::move(opened)), thread_([this] { work(); }) {}

LaneDialler::~LaneDialler() { stop(); }

void LaneDialler::stop() {
  {
    const std::lock_guard guard(mutex_);
    is_stopping_ = true;
    if (watched_ >= 0) ::shutdown(watched_, SHUT_RDWR);
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LaneDialler::watch(int descriptor) {
  const std::lock_guard guard(mutex_);
  watched_ = descriptor;
  if (is_stopping_ && watched_ >= 0) ::shutdown(watched_, SHUT_RDWR);
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

Result<TlsSocket> LaneDialler::try_to_open(const Order& order) {
  auto socket = dial({order.endpoint.host, order.endpoint.port}, std::chrono::steady_clock::now() + times_.dial);
  if (!socket) return socket.failure();
  const Socket twin(::fcntl(socket->descriptor(), F_DUPFD_CLOEXEC, 0));  // outlives the session, whatever becomes of it
  watch(twin.descriptor());
  const Deadline deadline = std::chrono::steady_clock::now() + times_.handshake;
  auto session = shake_hands(std::move(*socket), *context_, deadline, order.key);
  watch(-1);
  return session;
}

void LaneDialler::work() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    const auto first = std::min_element(orders_.begin(), orders_.end(),
                                        [](const auto& a, const auto& b) { return a.second.due < b.second.due; });
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
