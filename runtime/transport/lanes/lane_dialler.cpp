// The order that is due first is tried next; it stays in the table until its lane is open or its link over.
#include "runtime/transport/lanes/lane_dialler.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/transport/lanes/lane_greeting.h"
#include "runtime/transport/lanes/local_door.h"
#include "runtime/transport/lanes/local_lane_socket.h"
#include "runtime/transport/lanes/tls_lane_socket.h"

namespace shoal {
namespace {

// Patience with a process of this machine. A dialler that is stopped meanwhile waits as long.
constexpr std::chrono::milliseconds kLocalPatience{500};

Result<TlsSocket> shake_hands(Socket socket, const TlsContext& context, Deadline deadline) {
  auto session = TlsSocket::connect(std::move(socket), context, deadline, PortProtocol::kLane);
  if (!session) return session;
  const auto peer = context.check_peer(session->session());
  if (!peer) return peer.failure();
  if (!is_agreed(session->session(), PortProtocol::kLane)) return fail(Error::kUnreachable, "The peer opens no lanes.");
  return session;
}

// The answer, whole and to this claim; `read` takes some of it and says how much, 0 at an end.
template <class Read>
Result<LaneAnswer> read_answer(const LaneClaim& claim, const Read& read) {
  std::array<char, kLaneAnswerBytes> bytes{};
  for (std::size_t have = 0; have < bytes.size();) {
    const Result<std::size_t> count = read(std::span(bytes).subspan(have));
    if (!count) return count.failure();
    if (*count == 0) return fail(Error::kRefused, "The peer has no lane for this key.");
    have += *count;
  }
  LaneAnswer answer = answer_in(bytes);
  if (answer.key != claim.key) return fail(Error::kRefused, "The peer has another lane in mind.");
  return answer;
}

Result<LaneAnswer> claim_over(TlsSocket& session, const LaneClaim& claim, Deadline deadline) {
  const Status shown = session.write_all(encoded(claim), deadline);
  if (!shown) return shown.failure();
  return read_answer(claim,
                     [&](std::span<char> room) { return session.read_some(room.data(), room.size(), deadline); });
}

// A claim is shorter than what the system takes at once.
Status claim_over(const Socket& socket, const LaneClaim& claim, Deadline deadline) {
  const std::string bytes = encoded(claim);
  const ssize_t sent = ::send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(bytes.size())) return fail(Error::kUnreachable, "It was closed at once.");
  const auto answer = read_answer(claim, [&](std::span<char> room) -> Result<std::size_t> {
    if (!wait_readable(socket.descriptor(), deadline)) return fail(Error::kUnreachable, "No answer in time.");
    const ssize_t count = ::recv(socket.descriptor(), room.data(), room.size(), 0);
    if (count < 0) return fail(Error::kUnreachable, std::strerror(errno));
    return static_cast<std::size_t>(count);
  });
  if (!answer) return answer.failure();
  if (!answer->door.empty()) return fail(Error::kRefused, "It names another door.");
  return Done{};
}

Result<Socket> try_local_door(const std::string& door, std::uint64_t key) {
  auto socket = dial_local(door);
  if (!socket) return socket;
  const Status claimed = claim_over(*socket, {key, 0}, deadline_in(kLocalPatience));
  if (!claimed) return claimed.failure();
  return socket;
}

}  // namespace

LaneDialler::LaneDialler(std::shared_ptr<const TlsContext> context, const LaneLimits& limits, Opened opened)
    : context_(std::move(context)), limits_(limits), opened_(std::move(opened)), thread_([this] { work(); }) {}

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
    orders_[link] = Order{endpoint, key, steady_now(), limits_.dial.retry_first};
  }
  changed_.notify_all();
}

void LaneDialler::forget(LinkId link) {
  const std::lock_guard guard(mutex_);
  orders_.erase(link);
}

Result<std::unique_ptr<LaneSocket>> LaneDialler::try_to_open(const Order& order) {
  auto socket = dial({order.endpoint.host, order.endpoint.port}, deadline_in(limits_.dial.dial));
  if (!socket) return socket.failure();
  const Socket twin(::fcntl(socket->descriptor(), F_DUPFD_CLOEXEC, 0));  // outlives the session, whatever becomes of it
  watch(twin.descriptor());
  const Deadline deadline = deadline_in(limits_.dial.handshake);
  auto session = shake_hands(std::move(*socket), *context_, deadline);
  auto lane = session ? greet(std::move(*session), order.key, deadline) : session.failure();
  watch(-1);
  return lane;
}

// Asks for the local way first, if there may be one; TLS is the way otherwise.
Result<std::unique_ptr<LaneSocket>> LaneDialler::greet(TlsSocket session, std::uint64_t key, Deadline deadline) {
  const std::uint64_t way = limits_.takes_local_ways ? way_from_dialled(session.descriptor()) : 0;
  auto answer = claim_over(session, {key, way}, deadline);
  if (!answer) return answer.failure();
  if (!answer->door.empty()) {
    auto local = try_local_door(answer->door, key);
    if (local) return std::unique_ptr<LaneSocket>(std::make_unique<LocalLaneSocket>(std::move(*local)));
    log_debug(kTransportLog, "no local way: ", local.failure().message);
    answer = claim_over(session, {key, 0}, deadline);
    if (!answer) return answer.failure();
    if (!answer->door.empty()) return fail(Error::kRefused, "The peer does not open lanes over TLS.");
  }
  auto [socket, state] = std::move(session).release();
  return std::unique_ptr<LaneSocket>(std::make_unique<TlsLaneSocket>(std::move(socket), state, limits_.silence_max));
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
    if (steady_now() < first->second.due) {
      changed_.wait_until(lock, Deadline(first->second.due));
      continue;
    }
    const LinkId link = first->first;
    const Order order = first->second;
    lock.unlock();
    auto lane = try_to_open(order);
    if (!lane) log_debug(kTransportLog, "a lane to ", order.endpoint.host, ": ", lane.failure().message);
    if (!lane) ++failures_;
    lock.lock();
    const auto still = orders_.find(link);
    if (still == orders_.end() || still->second.key != order.key) continue;
    if (lane) {
      orders_.erase(still);
      opened_(link, std::move(*lane));
    } else {
      still->second.due = steady_now() + still->second.retry_after;
      still->second.retry_after = std::min(2 * still->second.retry_after, limits_.dial.retry_last);
    }
  }
}

}  // namespace shoal
