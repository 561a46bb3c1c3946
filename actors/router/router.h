// The router: the mail room of its process.
//
// Local actors give it letters; it delivers them here or sends them to the router of another process, and keeps the
// links. It is the one actor a process publishes. What it does with a letter, a link or a frame is decided by its core
// (runtime/router/router_core.h); the shell has the handles: of connections, by link, and of local actors, by key.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "messages/actor_types.h"
#include "runtime/router/router_core.h"

namespace shoal {

struct RouterConfig : RouterSettings {
  // Whom to ask (caf::connect_atom, host, port): TlsTransport::dialler, or a simulated network.
  std::function<caf::actor(const Endpoint&)> dialler;
  caf::actor spawner_dialler;  // for the spawner, wherever it is by then; none: dialler, at its endpoint
  // Starts what answers CopyToHost, at the first one; empty: a thread of its own (tensor_copier.h).
  std::function<caf::actor(const RouterActor&)> make_copier;
  // Returns whom the certificate of a connected process names; empty: links without certificates, in tests.
  std::function<std::optional<PeerIdentity>(const caf::node_id&)> certified;
  // Returns for how long that process's machine has acknowledged nothing of what was sent; empty: it is not asked.
  std::function<std::chrono::milliseconds(const caf::node_id&)> unanswered;
  // Returns its certificate's name, for the note of whose bytes are read (peer_note.h); empty: no note is kept.
  std::function<std::shared_ptr<const std::string>(const caf::node_id&)> certificate_of;
  // Called at every tick: this process lives, and its letters are carried. Empty: nobody asks.
  std::function<void()> ticked;
};

struct RouterState {
  static inline const char* name = "router";
  RouterConfig config;
  std::map<LinkId, RouterActor> connections;
  std::map<caf::actor_addr, LinkId> link_of;
  std::map<LocalKey, caf::actor> locals;
  std::unique_ptr<RouterEdge> edge;
  std::unique_ptr<RouterCore> core;
};

RouterActor::behavior_type router(RouterActor::stateful_pointer<RouterState> self, RouterConfig config);

}  // namespace shoal
