// The actor library's extension points: scribe (a connection), doorman (a listener), middleman (dials and listens).
// All but the middleman's dials run on the library's one I/O thread and never block it.
#include "runtime/transport/tls_middleman.h"

#include <sys/socket.h>

#include <algorithm>
#include <caf/actor_system.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/detail/socket_guard.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/middleman_actor_impl.hpp>
#include <caf/io/network/acceptor.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/interfaces.hpp>
#include <caf/io/network/stream_impl.hpp>
#include <caf/io/scribe.hpp>
#include <caf/send.hpp>
#include <cerrno>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/ensure.h"
#include "runtime/base/log.h"
#include "runtime/transport/guard/frame_guard.h"
#include "runtime/transport/guard/peer_note.h"
#include "runtime/transport/sockets.h"

namespace shoal {
namespace {

namespace net = caf::io::network;

// Memory is taken for what has come and for this much more, whatever was announced (S-6).
constexpr std::size_t kPieceBytesMax = 64u << 10;

basp::Node written_as(caf::actor_system& system, const caf::node_id& node) {
  std::vector<char> bytes;
  caf::binary_serializer sink{system, bytes};
  const caf::error failed = sink(node);
  ENSURE(!failed && bytes.size() == basp::kNodeBytes, "the library names its processes as basp_frame.h says");
  basp::Node written;
  std::copy(bytes.begin(), bytes.end(), written.begin());
  return written;
}

caf::node_id read_from(caf::actor_system& system, const basp::Node& node) {
  caf::node_id read;
  caf::binary_deserializer source{system, reinterpret_cast<const char*>(node.data()), node.size()};
  const caf::error failed = source(read);
  ENSURE(!failed, "the guard lets through nodes that the library can read");
  return read;
}

FrameGuard::Side guarded_side(TlsStream::Side side) {
  return side == TlsStream::Side::kServer ? FrameGuard::Side::kAccepted : FrameGuard::Side::kDialled;
}

// One connection. The library's broker is given whole frames that the guard has found good: a header, and then its
// payload at once.
class TlsScribe : public caf::io::scribe {
 public:
  TlsScribe(net::default_multiplexer& multiplexer, net::native_socket descriptor, std::shared_ptr<TlsDoor> door,
            TlsStream::Side side)
      : scribe(net::conn_hdl_from_socket(descriptor)),
        door_(door),
        system_(multiplexer.system()),
        guard_(guarded_side(side), written_as(system_, system_.node()), door->limits().frame_bytes_max),
        address_(peer_address(descriptor)),
        stream_(multiplexer, descriptor, TlsStream(door, descriptor, side)) {}

  void configure_read(caf::io::receive_policy::config config) override {
    stream_.configure_read(config);
    if (was_launched_) return;
    was_launched_ = true;
    count_as_seen();
    stream_.start(this);
    stream_.force_empty_write(this);  // a client must speak first, whether or not the library has something to say
  }

  bool consume(caf::execution_unit* context, const void* data, std::size_t size) override {
    if (unread_ == 0) return judge(context, data, size);
    unread_ -= size;
    const auto* piece = static_cast<const char*>(data);
    if (!guard_.drops_payload()) payload_.insert(payload_.end(), piece, piece + size);
    if (unread_ == 0) return judge(context, payload_.data(), payload_.size());
    read_next(unread_);
    return true;
  }

  void ack_writes(bool enable) override { stream_.ack_writes(enable); }
  std::vector<char>& wr_buf() override { return stream_.wr_buf(); }
  std::vector<char>& rd_buf() override { return stream_.rd_buf(); }
  // Afterwards the stream shows the buffer that was sent last: of its two, heartbeats alone bring both to the front.
  void flush() override {
    const std::size_t used = stream_.wr_buf().size();
    stream_.flush(this);
    door_->count_given_back(written_.look(stream_.wr_buf(), used, steady_now()));
  }
  void graceful_shutdown() override {
    stream_.graceful_shutdown();
    detach(&stream_.backend(), false);
  }
  void add_to_loop() override { stream_.activate(this); }
  void remove_from_loop() override { stream_.passivate(); }
  std::string addr() const override { return address_; }
  std::uint16_t port() const override {
    const auto port = net::remote_port_of_fd(stream_.fd());
    return port ? *port : std::uint16_t{0};
  }

 private:
  // A connection that the library has just dialled was never seen: at its next heartbeat it would be taken for silent,
  // and on a long way the handshakes take longer than that.
  void count_as_seen() {
    auto* broker = static_cast<caf::io::basp_broker*>(parent());
    const auto found = broker->ctx.find(hdl());
    if (found != broker->ctx.end()) found->second.last_seen = broker->clock().now();
  }

  void read_next(std::size_t size) {
    stream_.configure_read(caf::io::receive_policy::exactly(std::min(size, kPieceBytesMax)));
  }

  bool judge(caf::execution_unit* context, const void* data, std::size_t size) {
    switch (guard_.inspect(data, size)) {
      case FrameGuard::Verdict::kDeliver: return deliver(context);
      case FrameGuard::Verdict::kWait:
        unread_ = guard_.next_read_bytes();
        payload_.clear();
        read_next(unread_);
        return true;
      case FrameGuard::Verdict::kDrop:
        door_->count_dropped_frame();
        forget_payload();
        read_next(guard_.next_read_bytes());
        return true;
      case FrameGuard::Verdict::kClose: break;
    }
    return end(context, guard_.reason());
  }

  bool end(caf::execution_unit* context, std::string_view reason) {
    door_->count_bad_frame(static_cast<int>(hdl().id()), address_, std::string(reason));
    io_failure(context, net::operation::read);
    return false;
  }

  // Lets the library read of a process only when its certificate is the one that goes by that name.
  bool deliver(caf::execution_unit* context) {
    if (!is_introduced_ && !introduce())
      return end(context, "it goes by the name of a process with another certificate");
    const PeerReading reading(certificate_);
    std::vector<char> header(guard_.header().begin(), guard_.header().end());
    if (!hand_over(context, header)) return false;
    if (!payload_.empty() && !hand_over(context, payload_)) return false;
    if (!std::exchange(is_question_over_, true)) end_question();
    forget_payload();
    return true;
  }

  // The library takes the bytes in the stream's buffer, whose size is then set anew for the next read.
  bool hand_over(caf::execution_unit* context, std::vector<char>& bytes) {
    std::vector<char>& buffer = stream_.rd_buf();
    buffer.swap(bytes);
    used_ = buffer.size();
    const bool goes_on = scribe::consume(context, buffer.data(), buffer.size());
    buffer.clear();
    buffer.swap(bytes);
    return goes_on;
  }

  void forget_payload() {
    payload_.clear();
    door_->count_given_back(read_.look(payload_, used_, steady_now()));
  }

  bool introduce() {
    certificate_ = door_->certificate_at(static_cast<int>(hdl().id()));
    is_introduced_ =
        guard_.peer() && door_->introduce(static_cast<int>(hdl().id()), read_from(system_, *guard_.peer()));
    return is_introduced_;
  }

  // Ends the library's question whom a new peer can have spawn actors. The library keeps an actor for the answer, which
  // the other side's guard has dropped: peers that come and go would leave one each.
  void end_question() {
    if (detached()) return;
    auto* broker = static_cast<caf::io::basp_broker*>(parent());
    const auto found = broker->spawn_servers.find(read_from(system_, *guard_.peer()));
    if (found == broker->spawn_servers.end()) return;
    caf::anon_send_exit(found->second, caf::exit_reason::kill);
    broker->spawn_servers.erase(found);
  }

  std::shared_ptr<TlsDoor> door_;
  caf::actor_system& system_;
  FrameGuard guard_;
  std::vector<char> payload_;  // the part that has come of the frame that is being read
  std::size_t unread_ = 0;     // bytes of it that are to come
  std::size_t used_ = 0;       // by the last one
  bool was_launched_ = false;
  bool is_introduced_ = false;
  bool is_question_over_ = false;
  BufferBound read_;
  BufferBound written_;
  std::shared_ptr<const std::string> certificate_;
  std::string address_;  // the descriptor no longer knows it after a reset
  net::stream_impl<TlsStream> stream_;
};

bool is_lack_of_descriptors(int reason) {
  return reason == EMFILE || reason == ENFILE || reason == ENOBUFS || reason == ENOMEM;
}

// The library's acceptor, but for one thing: where the system has no descriptor left, the library would be told of the
// waiting connection again and again.
class TlsAcceptor : public net::acceptor {
 public:
  TlsAcceptor(net::default_multiplexer& multiplexer, net::native_socket descriptor, std::function<void(int)> lack)
      : acceptor(multiplexer, descriptor), lack_(std::move(lack)) {}

  void handle_event(net::operation operation) override { handle_event_impl(operation, *this); }

  bool try_accept(net::native_socket& accepted, net::native_socket listener) const {
    accepted = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted >= 0) return true;
    if (is_lack_of_descriptors(errno)) lack_(errno);
    return false;
  }

 private:
  std::function<void(int)> lack_;
};

// One listening socket.
class TlsDoorman : public caf::io::doorman {
 public:
  TlsDoorman(net::default_multiplexer& multiplexer, net::native_socket descriptor, std::shared_ptr<TlsDoor> door)
      : doorman(net::accept_hdl_from_socket(descriptor)),
        door_(std::move(door)),
        acceptor_(multiplexer, descriptor, [this](int reason) { pause(reason); }) {}

  bool new_connection() override {
    if (detached()) return false;
    const net::native_socket descriptor = door_->renumber(acceptor_.accepted_socket());
    caf::detail::socket_guard owner{descriptor};
    door_->admit(descriptor);
    net::tcp_nodelay(descriptor, true);
    auto scribe = caf::make_counted<TlsScribe>(acceptor_.backend(), descriptor, door_, TlsStream::Side::kServer);
    owner.release();
    const auto handle = scribe->hdl();
    parent()->add_scribe(std::move(scribe));
    return doorman::new_connection(&acceptor_.backend(), handle);
  }

  void launch() override { acceptor_.start(this); }
  void graceful_shutdown() override {
    acceptor_.graceful_shutdown();
    detach(&acceptor_.backend(), false);
  }
  void add_to_loop() override { acceptor_.activate(this); }
  void remove_from_loop() override { acceptor_.passivate(); }
  std::string addr() const override {
    const auto address = net::local_addr_of_fd(acceptor_.fd());
    return address ? *address : std::string();
  }
  std::uint16_t port() const override { return local_port(acceptor_.fd()); }

 private:
  // New connections wait meanwhile in the kernel's queue.
  void pause(int reason) {
    remove_from_loop();
    door_->pause_accepting(reason, [self = caf::intrusive_ptr<TlsDoorman>(this)] {
      self->acceptor_.backend().post([self] {
        if (!self->detached()) self->add_to_loop();
      });
    });
  }

  std::shared_ptr<TlsDoor> door_;
  TlsAcceptor acceptor_;
};

class TlsMiddleman : public caf::io::middleman_actor_impl {
 public:
  TlsMiddleman(caf::actor_config& config, caf::actor broker, std::shared_ptr<TlsDoor> door)
      : middleman_actor_impl(config, std::move(broker)), door_(std::move(door)) {}

 protected:
  caf::expected<caf::io::scribe_ptr> connect(const std::string& host, std::uint16_t port) override {
    auto socket = dial(HostPort{host, port}, deadline_in(door_->limits().dial_timeout));
    if (!socket.ok()) {
      log_debug(kTransportLog, socket.failure().message);
      return caf::make_error(caf::sec::cannot_connect_to_node, socket.failure().message);
    }
    const int descriptor = door_->renumber(socket->release());
    door_->track_outgoing(descriptor);
    return caf::make_counted<TlsScribe>(multiplexer(), descriptor, door_, TlsStream::Side::kClient);
  }

  caf::expected<caf::io::doorman_ptr> open(std::uint16_t port, const char*, bool) override {
    auto listener = door_->take_listener(port);
    if (!listener) return caf::make_error(caf::sec::cannot_open_port);
    return caf::make_counted<TlsDoorman>(multiplexer(), listener->release(), door_);
  }

 private:
  net::default_multiplexer& multiplexer() {
    return static_cast<net::default_multiplexer&>(system().middleman().backend());
  }

  std::shared_ptr<TlsDoor> door_;
};

}  // namespace

caf::io::middleman_actor spawn_tls_middleman(caf::actor_system& system, std::shared_ptr<TlsDoor> door) {
  const caf::actor broker = system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
  return system.spawn<TlsMiddleman, caf::detached + caf::hidden>(broker, std::move(door));
}

}  // namespace shoal
