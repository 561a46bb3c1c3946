// TLS as the actor library's streams want it: non-blocking reads and writes on one descriptor, and the door that all
// streams of a process came through.
//
// Included by the TLS middleman only. A stream says nothing of its peer's to the actors, and lets nothing of theirs
// out, before the handshake is done and the peer's certificate was found allowed (S-7); what actors write earlier is
// kept, up to 16 KiB.
#pragma once

#include <atomic>
#include <caf/io/network/native_socket.hpp>
#include <caf/io/network/rw_state.hpp>
#include <caf/node_id.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/transport/admission.h"
#include "runtime/transport/lanes/lane_limits.h"
#include "runtime/transport/sockets.h"
#include "runtime/transport/tls_context.h"
#include "runtime/transport/tls_socket.h"

struct ssl_st;

namespace shoal {

struct TransportLimits {
  AdmissionLimits admission;
  std::chrono::milliseconds dial_timeout{3000};
  LaneLimits lanes;
  // A longer frame of the library's ends its connection: senders cut letters at kFrameBytesMax, and the rest names
  // types.
  std::uint32_t frame_bytes_max = std::uint32_t{kFrameBytesMax} + 1024;
  std::size_t connections_per_peer_max = 64;  // for one certificate, lanes apart: a node has a process for each device
};

struct TransportCounters {
  std::uint64_t admitted = 0;        // handshakes of allowed peers, both directions
  std::uint64_t refused = 0;         // connections ended before or because of the peer's identity
  std::uint64_t bad_frames = 0;      // connections of admitted peers ended by the frame guard
  std::uint64_t dropped_frames = 0;  // frames of honest peers that are not for the library to read
  std::uint64_t given_back = 0;      // bytes of connections' buffers that nothing large used any more
  std::uint64_t accept_pauses = 0;   // times that the system had no descriptor for who came
};

// Shared by all streams, doormen and middlemen of one transport. Thread-safe.
class TlsDoor {
 public:
  TlsDoor(std::shared_ptr<const TlsContext> context, const TransportLimits& limits)
      : context_(std::move(context)), limits_(limits), half_open_(limits.admission) {}

  // An accepted connection. Another one may give way to it, and is shut down: its stream then ends by itself.
  void admit(int descriptor);
  // The connection's first message asks for a link or a lane; the same holds.
  void said_hello(int descriptor, PortProtocol protocol);
  // Takes note that the system has no descriptor for a newcomer, for a reason (errno). `go_on` is called at the next
  // sweep, by its thread.
  void pause_accepting(int reason, std::function<void()> go_on);
  // Gives up what would go on: the end of the transport.
  void end_pauses();
  void track_outgoing(int descriptor);
  // The same connection under a number that none had lately: the library forgets a connection by its number, some time
  // after that was closed, and would forget the next one of that number with it.
  [[nodiscard]] int renumber(int descriptor);
  // The handshake of this descriptor ended, or it is about to be closed.
  void settle(int descriptor);
  // Shuts down half-open connections past their deadline, and those whose certificate was revoked meanwhile; their
  // streams then end by themselves. Goes on with accepting. Called several times a second.
  void sweep();

  struct Certified {
    std::string name;    // certificate_name()
    std::string serial;  // as revocations name it
  };
  // The certificate of the peer at a descriptor whose handshake is done; known until the descriptor closes. False: it
  // has too many connections.
  [[nodiscard]] bool identified(int descriptor, PeerIdentity peer, Certified certified);
  // Records what the library calls the process there. False: another live connection with another certificate has it.
  [[nodiscard]] bool introduce(int descriptor, const caf::node_id& node);
  void forget(int descriptor);
  // Nothing: no such process is connected.
  [[nodiscard]] std::optional<PeerIdentity> identity_of(const caf::node_id& node) const;
  [[nodiscard]] std::chrono::milliseconds unanswered(const caf::node_id& node) const;
  // Returns the certificate_name() of the peer that is connected there, or as that process; none: there is no peer.
  [[nodiscard]] std::shared_ptr<const std::string> certificate_at(int descriptor) const;
  [[nodiscard]] std::shared_ptr<const std::string> certificate_of(const caf::node_id& node) const;

  void count_admitted();
  void count_refused(const std::string& address, const std::string& reason);
  void count_bad_frame(int descriptor, const std::string& address, const std::string& reason);
  void count_dropped_frame();
  void count_given_back(std::size_t bytes);
  [[nodiscard]] TransportCounters counters() const;

  // Sets the receiver of sessions that asked for a lane, with a descriptor of their own. Before the first connection.
  using TakeLane = std::function<void(Socket, ssl_st*)>;
  void set_lanes(TakeLane take_lane) { take_lane_ = std::move(take_lane); }
  void hand_over(Socket socket, ssl_st* session) const { take_lane_(std::move(socket), session); }
  // Sets the receiver of sessions that asked for the control endpoint, from their first message on. Any time; it runs
  // on the library's I/O thread, and never waits.
  using TakeControl = std::function<void(TlsSocket)>;
  void set_control(TakeControl take_control);
  // Empty: this process has no control endpoint.
  [[nodiscard]] TakeControl control() const;

  // A socket that listens already, for the doorman of its port.
  void keep_listener(Socket listener);
  // Nothing: none was kept for that port.
  [[nodiscard]] std::optional<Socket> take_listener(std::uint16_t port);

  [[nodiscard]] const TlsContext& context() const { return *context_; }
  [[nodiscard]] const std::shared_ptr<const TlsContext>& shared_context() const { return context_; }
  [[nodiscard]] const TransportLimits& limits() const { return limits_; }

 private:
  struct KnownPeer {
    PeerIdentity identity;
    std::string serial;
    caf::node_id node{};  // none before the library's own handshake
    std::shared_ptr<const std::string> certificate;
  };

  [[nodiscard]] bool is_thrown_out(const KnownPeer& peer) const;
  void count_and_log(std::uint64_t& counter, const char* what, const std::string& whom, const std::string& reason);
  // Returns the address with the name in the certificate of the peer that is connected there.
  [[nodiscard]] std::string named(int descriptor, const std::string& address) const;

  std::shared_ptr<const TlsContext> context_;
  TransportLimits limits_;
  TakeLane take_lane_;
  std::atomic<int> next_number_ = 0;
  mutable std::mutex mutex_;
  TakeControl take_control_;
  std::map<std::uint16_t, Socket> listeners_;  // by port, until their doormen have them
  PortAdmission half_open_;
  RefusalLog refusals_;
  LackLog lacks_;                              // shortages of descriptors
  std::vector<std::function<void()>> paused_;  // until the next sweep
  std::map<int, KnownPeer> peers_;             // by descriptor
  TransportCounters counters_;
};

// The policy of caf::io::network::stream_impl. Used on the library's I/O thread alone.
class TlsStream {
 public:
  enum class Side { kServer, kClient };
  using State = caf::io::network::rw_state;
  using Descriptor = caf::io::network::native_socket;

  TlsStream(std::shared_ptr<TlsDoor> door, Descriptor descriptor, Side side);
  TlsStream(TlsStream&& other) noexcept;
  TlsStream& operator=(TlsStream&&) = delete;
  // Runs before the library closes the descriptor, so that a sweep never meets a reused one.
  ~TlsStream();

  State read_some(std::size_t& count, Descriptor, void* buffer, std::size_t size);
  State write_some(std::size_t& count, Descriptor, const void* buffer, std::size_t size);
  [[nodiscard]] bool must_read_more(Descriptor, std::size_t threshold);

 private:
  // Advances the handshake. An idle write is one that the library asks for without having anything to write.
  State shake(bool is_idle_write);
  // The first message has come: its request decides what goes on.
  State answer_hello(bool is_idle_write);
  State finish_handshake();
  // The session goes on without this stream, whose connection then fails for the library and is closed.
  State become_lane();
  State become_control();
  State verdict(int result, bool is_idle_write);
  State refuse(const std::string& reason);

  std::shared_ptr<TlsDoor> door_;
  ssl_st* session_;
  Descriptor descriptor_;
  std::string address_;  // the peer's; after a reset the descriptor no longer knows it
  bool is_done_ = false;
  bool was_refused_ = false;
  std::string early_;
};

}  // namespace shoal
