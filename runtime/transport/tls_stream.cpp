// The handshake is driven by whichever of read and write the library calls first; both end in finish_handshake(), the
// only place where a peer is let in.
#include "runtime/transport/tls_stream.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/log.h"
#include "runtime/transport/openssl_handles.h"
#include "runtime/transport/revocation/revoked_certificates.h"
#include "runtime/transport/sockets.h"

namespace shoal {
namespace {

// Zero where nothing waits for it.
std::chrono::milliseconds unacknowledged_for(int descriptor) {
  tcp_info facts{};
  socklen_t size = sizeof facts;
  const bool is_known = ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &facts, &size) == 0;
  return std::chrono::milliseconds(is_known && facts.tcpi_unacked > 0 ? facts.tcpi_last_ack_recv : 0);
}

constexpr int kNumberFirst = 64;  // numbers for descriptors of connections, used in turn
constexpr int kNumbers = 256;
// One record of TLS, which is sent as a whole or not at all.
constexpr std::size_t kEarlyBytesMax = 16u << 10;
constexpr std::string_view kNoDescriptor = "the system has no descriptor left";
constexpr std::chrono::milliseconds kLastWords{500};  // time in which a peer that is thrown out is told why

}  // namespace

void TlsDoor::admit(int descriptor) {
  const std::string address = peer_address(descriptor);
  const std::lock_guard guard(mutex_);
  const auto gives_way = half_open_.arrived(descriptor, address, steady_now());
  if (gives_way) ::shutdown(*gives_way, SHUT_RDWR);
}

void TlsDoor::said_hello(int descriptor, PortProtocol protocol) {
  const std::lock_guard guard(mutex_);
  const auto gives_way = half_open_.said_hello(descriptor, protocol);
  if (gives_way) ::shutdown(*gives_way, SHUT_RDWR);
}

void TlsDoor::pause_accepting(int reason, std::function<void()> go_on) {
  bool is_told = false;
  {
    const std::lock_guard guard(mutex_);
    ++counters_.accept_pauses;
    is_told = lacks_.met(steady_now());
    paused_.push_back(std::move(go_on));
  }
  if (!is_told) return;
  log_warn(kTransportLog, "no descriptor is left for who comes (", std::strerror(reason),
           "): they wait, and are let in when there is one. Raise this process's limit of open files (ulimit -n).");
}

void TlsDoor::end_pauses() {
  std::vector<std::function<void()>> given_up;
  const std::lock_guard guard(mutex_);
  given_up.swap(paused_);
}

void TlsDoor::set_control(TakeControl take_control) {
  const std::lock_guard guard(mutex_);
  take_control_ = std::move(take_control);
}

TlsDoor::TakeControl TlsDoor::control() const {
  const std::lock_guard guard(mutex_);
  return take_control_;
}

void TlsDoor::keep_listener(Socket listener) {
  const std::uint16_t port = local_port(listener.descriptor());
  const std::lock_guard guard(mutex_);
  listeners_[port] = std::move(listener);
}

std::optional<Socket> TlsDoor::take_listener(std::uint16_t port) {
  const std::lock_guard guard(mutex_);
  const auto kept = listeners_.extract(port);
  return kept.empty() ? std::nullopt : std::optional(std::move(kept.mapped()));
}

int TlsDoor::renumber(int descriptor) {
  const int number = kNumberFirst + next_number_.fetch_add(1) % kNumbers;
  const int renumbered = ::fcntl(descriptor, F_DUPFD_CLOEXEC, number);
  if (renumbered < 0) return descriptor;  // no such number is to be had
  ::close(descriptor);
  return renumbered;
}

void TlsDoor::track_outgoing(int descriptor) {
  const std::lock_guard guard(mutex_);
  half_open_.track_outgoing(descriptor, steady_now());
}

void TlsDoor::settle(int descriptor) {
  const std::lock_guard guard(mutex_);
  half_open_.settle(descriptor);
}

void TlsDoor::sweep() {
  std::vector<std::function<void()>> paused;
  {
    const std::lock_guard guard(mutex_);
    for (const int descriptor : half_open_.expired(steady_now())) ::shutdown(descriptor, SHUT_RDWR);
    for (const auto& [descriptor, peer] : peers_) {
      if (is_thrown_out(peer)) ::shutdown(descriptor, SHUT_RDWR);
    }
    paused.swap(paused_);
  }
  for (const auto& go_on : paused) go_on();
}

bool TlsDoor::is_thrown_out(const KnownPeer& peer) const {
  const auto& revoked = context_->policy().revoked;
  const bool is_node = peer.identity.role == PeerRole::kNode;
  return revoked && is_node && revoked->has_refused_for(kLastWords, peer.identity.name, peer.serial, steady_now());
}

bool TlsDoor::identified(int descriptor, PeerIdentity peer, Certified certified) {
  const std::lock_guard guard(mutex_);
  const auto of_this =
      std::count_if(peers_.begin(), peers_.end(), [&peer](const auto& known) { return known.second.identity == peer; });
  if (static_cast<std::size_t>(of_this) >= limits_.connections_per_peer_max) return false;
  peers_[descriptor] = {
      std::move(peer), std::move(certified.serial), {}, std::make_shared<const std::string>(std::move(certified.name))};
  return true;
}

bool TlsDoor::introduce(int descriptor, const caf::node_id& node) {
  const std::lock_guard guard(mutex_);
  const auto found = peers_.find(descriptor);
  if (found == peers_.end()) return false;
  const bool is_somebody_else = std::any_of(peers_.begin(), peers_.end(), [&](const auto& known) {
    return known.second.node == node && known.second.identity != found->second.identity;
  });
  if (is_somebody_else) return false;
  found->second.node = node;
  return true;
}

void TlsDoor::forget(int descriptor) {
  const std::lock_guard guard(mutex_);
  peers_.erase(descriptor);
}

std::optional<PeerIdentity> TlsDoor::identity_of(const caf::node_id& node) const {
  const std::lock_guard guard(mutex_);
  const auto found =
      std::find_if(peers_.begin(), peers_.end(), [&](const auto& known) { return known.second.node == node; });
  if (!node || found == peers_.end()) return std::nullopt;
  return found->second.identity;
}

// A process that has stopped reading is no reason: its machine answers.
std::chrono::milliseconds TlsDoor::unanswered(const caf::node_id& node) const {
  const std::lock_guard guard(mutex_);
  const auto found = std::ranges::find_if(peers_, [&](const auto& known) { return known.second.node == node; });
  return node && found != peers_.end() ? unacknowledged_for(found->first) : std::chrono::milliseconds::zero();
}

std::shared_ptr<const std::string> TlsDoor::certificate_at(int descriptor) const {
  const std::lock_guard guard(mutex_);
  const auto found = peers_.find(descriptor);
  return found == peers_.end() ? nullptr : found->second.certificate;
}

std::shared_ptr<const std::string> TlsDoor::certificate_of(const caf::node_id& node) const {
  const std::lock_guard guard(mutex_);
  const auto found =
      std::find_if(peers_.begin(), peers_.end(), [&](const auto& known) { return known.second.node == node; });
  return !node || found == peers_.end() ? nullptr : found->second.certificate;
}

void TlsDoor::count_admitted() {
  const std::lock_guard guard(mutex_);
  ++counters_.admitted;
}

void TlsDoor::count_refused(const std::string& address, const std::string& reason) {
  count_and_log(counters_.refused, "refused a connection with ", address, reason);
}

void TlsDoor::count_bad_frame(int descriptor, const std::string& address, const std::string& reason) {
  count_and_log(counters_.bad_frames, "closed the connection with ", named(descriptor, address), reason);
}

std::string TlsDoor::named(int descriptor, const std::string& address) const {
  const std::lock_guard guard(mutex_);
  const auto found = peers_.find(descriptor);
  if (found == peers_.end()) return address;
  return compose(found->second.identity.name, " (", role_text(found->second.identity.role), ", ", address, ")");
}

void TlsDoor::count_and_log(std::uint64_t& counter, const char* what, const std::string& whom,
                            const std::string& reason) {
  RefusalLog::Line line;
  {
    const std::lock_guard guard(mutex_);
    ++counter;
    line = refusals_.refused(steady_now());
  }
  log_refusal(kTransportLog, line, what, whom, ": ", reason);
}

void TlsDoor::count_dropped_frame() {
  const std::lock_guard guard(mutex_);
  ++counters_.dropped_frames;
}

void TlsDoor::count_given_back(std::size_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard guard(mutex_);
  counters_.given_back += bytes;
}

TransportCounters TlsDoor::counters() const {
  const std::lock_guard guard(mutex_);
  return counters_;
}

TlsStream::TlsStream(std::shared_ptr<TlsDoor> door, Descriptor descriptor, Side side)
    : door_(std::move(door)),
      session_(door_->context().new_session()),
      descriptor_(descriptor),
      address_(peer_address(descriptor)) {
  if (session_ == nullptr) return;  // out of memory: every read and write fails, the connection ends
  SSL_set_fd(session_, descriptor_);
  if (side == Side::kServer) {
    SSL_set_accept_state(session_);
  } else {
    SSL_set_connect_state(session_);
    ask_for(session_, PortProtocol::kLink);
  }
}

TlsStream::TlsStream(TlsStream&& other) noexcept
    : door_(other.door_),
      session_(std::exchange(other.session_, nullptr)),
      descriptor_(std::exchange(other.descriptor_, caf::io::network::invalid_native_socket)),
      address_(std::move(other.address_)),
      is_done_(other.is_done_),
      was_refused_(other.was_refused_),
      early_(std::move(other.early_)) {}

TlsStream::~TlsStream() {
  if (descriptor_ != caf::io::network::invalid_native_socket) {
    door_->settle(descriptor_);
    door_->forget(descriptor_);
  }
  if (session_ != nullptr) SSL_free(session_);
}

TlsStream::State TlsStream::read_some(std::size_t& count, Descriptor, void* buffer, std::size_t size) {
  count = 0;
  if (session_ == nullptr) return State::failure;
  if (!is_done_) {
    const State state = shake(false);
    if (!is_done_ || state == State::failure) return state;
  }
  ERR_clear_error();
  const int result = SSL_read(session_, buffer, io_size(size));
  if (result <= 0) return verdict(result, false);
  count = static_cast<std::size_t>(result);
  return State::success;
}

TlsStream::State TlsStream::write_some(std::size_t& count, Descriptor, const void* buffer, std::size_t size) {
  count = 0;
  if (session_ == nullptr) return State::failure;
  if (!is_done_) {
    const State state = shake(size == 0);
    if (state == State::failure) return state;
    if (!is_done_) {
      if (size == 0) return state;
      if (early_.size() + size > kEarlyBytesMax) return State::failure;
      early_.append(static_cast<const char*>(buffer), size);
      count = size;
      return State::success;
    }
  }
  if (size == 0) return State::indeterminate;
  ERR_clear_error();
  const int result = SSL_write(session_, buffer, io_size(size));
  if (result <= 0) return verdict(result, false);
  count = static_cast<std::size_t>(result);
  return State::success;
}

bool TlsStream::must_read_more(Descriptor, std::size_t threshold) {
  return session_ != nullptr && static_cast<std::size_t>(SSL_pending(session_)) >= threshold;
}

// A session that was refused, or handed over, may still be asked to read or write: its handshake goes no further here.
TlsStream::State TlsStream::shake(bool is_idle_write) {
  if (was_refused_) return State::failure;
  ERR_clear_error();
  const int result = SSL_do_handshake(session_);
  if (result == 1) return finish_handshake();
  const bool has_hello = SSL_get_error(session_, result) == SSL_ERROR_WANT_CLIENT_HELLO_CB;
  return has_hello ? answer_hello(is_idle_write) : verdict(result, is_idle_write);
}

TlsStream::State TlsStream::answer_hello(bool is_idle_write) {
  const PortProtocol protocol = asked_for(session_).value_or(PortProtocol::kControl);
  if (protocol == PortProtocol::kControl) return become_control();
  door_->said_hello(descriptor_, protocol);
  return shake(is_idle_write);
}

TlsStream::State TlsStream::finish_handshake() {
  const auto peer = door_->context().check_peer(session_);
  if (!peer.ok()) return refuse(peer.failure().message);
  const bool wants_lane = asked_for(session_) == PortProtocol::kLane;
  if (!wants_lane &&
      !door_->identified(descriptor_, *peer, {TlsContext::certificate_of(session_), peer_serial(session_)})) {
    return refuse(compose(peer->name, " has too many connections already"));
  }
  is_done_ = true;
  door_->settle(descriptor_);
  if (wants_lane) return become_lane();
  door_->count_admitted();
  if (!early_.empty()) {
    ERR_clear_error();
    const int size = static_cast<int>(early_.size());
    if (SSL_write(session_, early_.data(), size) != size) return State::failure;
    early_ = std::string();
  }
  return State::success;
}

// Either's new owner may end the session at once: this stream lets go of it first.
TlsStream::State TlsStream::become_lane() {
  Socket own(::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0));
  if (!own.is_open()) return refuse(std::string(kNoDescriptor));
  was_refused_ = true;  // not a refusal to tell of
  door_->hand_over(std::move(own), std::exchange(session_, nullptr));
  return State::failure;
}

// No alert is said where there is no control endpoint: it would read like a refusal of the client, which has the wrong
// port, or too early.
TlsStream::State TlsStream::become_control() {
  Socket own(::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0));
  if (!own.is_open()) return refuse(std::string(kNoDescriptor));
  const auto take = door_->control();
  if (!take) return refuse("this process has no control endpoint");
  door_->settle(descriptor_);
  was_refused_ = true;  // not a refusal to tell of
  take(TlsSocket::adopt(std::move(own), std::exchange(session_, nullptr)));
  return State::failure;
}

// While the other side is to speak, a write that the library only asks for to get going must report that it has
// nothing to do: answering "success" would make it ask again at once, for ever.
TlsStream::State TlsStream::verdict(int result, bool is_idle_write) {
  switch (SSL_get_error(session_, result)) {
    case SSL_ERROR_WANT_READ: return is_idle_write ? State::indeterminate : State::success;
    case SSL_ERROR_WANT_WRITE: return State::success;
    default: break;
  }
  if (is_done_) {
    ERR_clear_error();
    return State::failure;
  }
  return refuse(handshake_failure_text(session_));
}

TlsStream::State TlsStream::refuse(const std::string& reason) {
  if (!std::exchange(was_refused_, true)) door_->count_refused(address_, reason);
  return State::failure;
}

}  // namespace shoal
