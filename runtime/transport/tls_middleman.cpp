// The actor library's extension points: scribe (a connection), doorman (a listener), middleman (dials and listens).
// All but the middleman's dials run on the library's one I/O thread and never block it.
#include "runtime/transport/tls_middleman.h"

#include <caf/actor_system.hpp>
#include <caf/detail/socket_guard.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/middleman_actor_impl.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/doorman_impl.hpp>
#include <caf/io/network/interfaces.hpp>
#include <caf/io/network/stream_impl.hpp>
#include <caf/io/scribe.hpp>

#include "runtime/base/log.h"
#include "runtime/transport/frame_guard.h"
#include "runtime/transport/sockets.h"

namespace shoal {
namespace {

namespace net = caf::io::network;

constexpr std::string_view kWho = "transport";

std::string verdict_text(FrameGuard::Verdict verdict) {
  switch (verdict) {
    case FrameGuard::Verdict::kCloseShort: return "a frame header was too short or its handshake was empty";
    case FrameGuard::Verdict::kCloseLong: return "a frame announced more bytes than are allowed";
    default: return "a frame had an unknown operation";
  }
}

// One connection. Reads exactly one header or one payload at a time, as the library's broker asks.
class TlsScribe : public caf::io::scribe {
 public:
  TlsScribe(net::default_multiplexer& multiplexer, net::native_socket descriptor, std::shared_ptr<TlsDoor> door,
            TlsStream::Side side)
      : scribe(net::conn_hdl_from_socket(descriptor)),
        door_(door),
        guard_(door->limits().frame_bytes_max),
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
    const FrameGuard::Verdict verdict = guard_.inspect(data, size);
    switch (verdict) {
      case FrameGuard::Verdict::kDeliver: return deliver(context, data, size);
      case FrameGuard::Verdict::kDrop:
        door_->count_dropped_frame();
        stream_.configure_read(caf::io::receive_policy::exactly(guard_.next_read_bytes()));
        return true;
      default: break;
    }
    door_->count_bad_frame(address_, verdict_text(verdict));
    io_failure(context, net::operation::read);
    return false;
  }

  void ack_writes(bool enable) override { stream_.ack_writes(enable); }
  std::vector<char>& wr_buf() override { return stream_.wr_buf(); }
  std::vector<char>& rd_buf() override { return stream_.rd_buf(); }
  // Afterwards the stream shows the buffer that was sent last: of its two, heartbeats alone bring both to the front.
  void flush() override {
    const std::size_t used = stream_.wr_buf().size();
    stream_.flush(this);
    door_->count_given_back(written_.look(stream_.wr_buf(), used, std::chrono::steady_clock::now()));
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

  bool deliver(caf::execution_unit* context, const void* data, std::size_t size) {
    if (!scribe::consume(context, data, size)) return false;
    stream_.rd_buf().clear();  // the library sizes it for what it reads next
    door_->count_given_back(read_.look(stream_.rd_buf(), size, std::chrono::steady_clock::now()));
    if (is_introduced_ || introduce()) return true;
    door_->count_bad_frame(address_, "it goes by the name of a process with another certificate");
    io_failure(context, net::operation::read);
    return false;
  }

  // As soon as the library has learnt from a handshake which process this is: no message was read yet.
  bool introduce() {
    if (detached()) return true;
    const caf::node_id node = static_cast<caf::io::basp_broker*>(parent())->instance.tbl().lookup_direct(hdl());
    if (!node) return true;
    is_introduced_ = true;
    return door_->introduce(static_cast<int>(hdl().id()), node);
  }

  std::shared_ptr<TlsDoor> door_;
  FrameGuard guard_;
  bool was_launched_ = false;
  bool is_introduced_ = false;
  BufferBound read_;
  BufferBound written_;
  std::string address_;  // the descriptor no longer knows it after a reset
  net::stream_impl<TlsStream> stream_;
};

// One listening socket.
class TlsDoorman : public net::doorman_impl {
 public:
  TlsDoorman(net::default_multiplexer& multiplexer, net::native_socket descriptor, std::shared_ptr<TlsDoor> door)
      : doorman_impl(multiplexer, descriptor), door_(std::move(door)) {}

  bool new_connection() override {
    if (detached()) return false;
    const net::native_socket descriptor = door_->renumber(acceptor_.accepted_socket());
    caf::detail::socket_guard owner{descriptor};
    if (!door_->admit(descriptor)) return false;
    net::nonblocking(descriptor, true);
    net::tcp_nodelay(descriptor, true);
    net::child_process_inherit(descriptor, false);
    auto scribe = caf::make_counted<TlsScribe>(acceptor_.backend(), descriptor, door_, TlsStream::Side::kServer);
    owner.release();
    const auto handle = scribe->hdl();
    parent()->add_scribe(std::move(scribe));
    return doorman::new_connection(&acceptor_.backend(), handle);
  }

 private:
  std::shared_ptr<TlsDoor> door_;
};

class TlsMiddleman : public caf::io::middleman_actor_impl {
 public:
  TlsMiddleman(caf::actor_config& config, caf::actor broker, std::shared_ptr<TlsDoor> door)
      : middleman_actor_impl(config, std::move(broker)), door_(std::move(door)) {}

 protected:
  caf::expected<caf::io::scribe_ptr> connect(const std::string& host, std::uint16_t port) override {
    auto socket = dial(HostPort{host, port}, std::chrono::steady_clock::now() + door_->limits().dial_timeout);
    if (!socket.ok()) {
      log_debug(kWho, socket.failure().message);
      return caf::make_error(caf::sec::cannot_connect_to_node, socket.failure().message);
    }
    const int descriptor = door_->renumber(socket->release());
    door_->track_outgoing(descriptor);
    return caf::make_counted<TlsScribe>(multiplexer(), descriptor, door_, TlsStream::Side::kClient);
  }

  caf::expected<caf::io::doorman_ptr> open(std::uint16_t port, const char* address, bool reuse) override {
    auto descriptor = net::new_tcp_acceptor_impl(port, address, reuse);
    if (!descriptor) return descriptor.error();
    net::child_process_inherit(*descriptor, false);
    return caf::make_counted<TlsDoorman>(multiplexer(), *descriptor, door_);
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
