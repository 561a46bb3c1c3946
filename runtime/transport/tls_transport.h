// The data transport of a process: mutual TLS under the actor library, for one actor system.
//
// Start it after the actor system, stop it (or destroy it) before. Every socket it opens or accepts takes part in the
// run's authentication; the library's own publish() must never be used beside it, because it listens in plaintext.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/io/middleman_actor.hpp>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/transport/lanes/tls_lanes.h"
#include "runtime/transport/sockets.h"
#include "runtime/transport/tls_stream.h"

namespace shoal {

class TlsTransport {
 public:
  // Reads the certificates once. `policy` says which peers this process talks with, in both directions.
  // Errors: kIo, kInvalidData (certificates, see TlsContext).
  [[nodiscard]] static Result<std::unique_ptr<TlsTransport>> start(caf::actor_system& system, const TlsFiles& files,
                                                                   PeerPolicy policy,
                                                                   const TransportLimits& limits = {});
  ~TlsTransport();
  TlsTransport(const TlsTransport&) = delete;
  TlsTransport& operator=(const TlsTransport&) = delete;

  // Accepts at a socket that listens (listen_on), for peers that want `actor`, for lanes, and for the control endpoint.
  // Returns the port. Blocks shortly: not for scheduled actors. Errors: kInternal.
  [[nodiscard]] Result<std::uint16_t> publish(const caf::actor& actor, Socket listener);
  // Stops listening at `port`; connections live on.
  void close(std::uint16_t port);

  // Returns the actor for (connect_atom, host, port). It answers (node_id, strong_actor_ptr, set<string>) or an error
  // in dial + handshake time-outs. A black hole delays only peers that share its dialler: ask with the peer's address.
  [[nodiscard]] caf::io::middleman_actor dialler(const std::string& host, std::uint16_t port) const;
  // The one that published; good for connects too.
  [[nodiscard]] caf::io::middleman_actor handle() const { return diallers_.front(); }

  // Returns who a connected process is by its certificate; nothing: no such process is connected. Any thread.
  [[nodiscard]] std::optional<PeerIdentity> identity_of(const caf::node_id& node) const {
    return door_->identity_of(node);
  }
  // Returns for how long the machine of a connected process has acknowledged nothing of what was sent to it; zero where
  // nothing waits for that. Any thread.
  [[nodiscard]] std::chrono::milliseconds unanswered(const caf::node_id& node) const { return door_->unanswered(node); }
  // Returns that certificate's name (certificate_name()), for the reader of what the process sends (peer_note.h).
  [[nodiscard]] std::shared_ptr<const std::string> certificate_of(const caf::node_id& node) const {
    return door_->certificate_of(node);
  }

  // Holds what new connections and lanes show, in both directions; a renewal leaves those that are there as they are.
  [[nodiscard]] const std::shared_ptr<TlsContext>& context() const { return context_; }

  [[nodiscard]] TransportCounters counters() const { return door_->counters(); }

  // Sets the receiver of sessions that ask for the control endpoint from now on (TlsDoor::set_control).
  void set_control(TlsDoor::TakeControl take_control) { door_->set_control(std::move(take_control)); }

  // The lanes of this process; they end with this.
  [[nodiscard]] std::shared_ptr<TlsLanes> lanes() const { return lanes_; }

  // Ends diallers and sweeper. Idempotent. Connections end with the actor system.
  void stop();

 private:
  TlsTransport(caf::actor_system& system, std::shared_ptr<TlsContext> context, const TransportLimits& limits);
  void sweep_until_stopped();

  caf::actor_system& system_;
  std::shared_ptr<TlsContext> context_;
  std::shared_ptr<TlsDoor> door_;
  std::shared_ptr<TlsLanes> lanes_;
  std::vector<caf::io::middleman_actor> diallers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  std::thread sweeper_;
};

}  // namespace shoal
