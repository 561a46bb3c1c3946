// The router: the mail room of its process.
//
// Local actors give it letters; it delivers them here or sends them to the router of another process, remembers every
// Forward until its step is committed (request_table.h), follows the journal for everybody here
// (runtime/journal/follower.h) and keeps the links (links.h). It is the one actor a process publishes. What arrives
// over a link is believed only if the certificate, the link's Hello, its role and the letter agree; everything else is
// counted and dropped (S-7).
// Frames that do not add up, and a Hello in another role than the certificate's, reset their link.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "actors/router/orders_for_absent.h"
#include "actors/router/untaken_letters.h"
#include "messages/actor_types.h"
#include "runtime/base/bound.h"
#include "runtime/base/time/next_look.h"
#include "runtime/journal/follower.h"
#include "runtime/pipeline/request_table.h"
#include "runtime/pipeline/state_on_its_way.h"
#include "runtime/pipeline/undelivered.h"
#include "runtime/trace/actor_board.h"
#include "runtime/trace/high_water.h"
#include "runtime/trace/tracer.h"
#include "runtime/transport/assembly.h"
#include "runtime/transport/identity.h"
#include "runtime/transport/lanes/lanes.h"
#include "runtime/transport/links.h"

namespace shoal {

// How many copies of an outgoing letter to another process are sent: 1 normally. Tests lose (0) and double (2) with it.
using LetterFilter = std::function<int(const Letter&)>;

inline const Bound kWaitingBytesMax{"links.bytes_for_absent_peers", std::uint64_t{256} << 20};
inline const Bound kHeldBytesMax{"links.bytes_ahead_of_the_journal", std::uint64_t{64} << 20};

struct RouterConfig {
  LinkSelf self;                    // spawner: process 0 and its run and term; others: no process until welcomed
  std::optional<Endpoint> spawner;  // where the spawner's router listens; none in the spawner itself
  // Whom to ask (caf::connect_atom, host, port): TlsTransport::dialler, or a simulated network.
  std::function<caf::actor(const Endpoint&)> dialler;
  caf::actor spawner_dialler;  // for the spawner, wherever it is by then; none: dialler, at the endpoint above
  LetterFilter filter;         // empty: one copy of everything
  LinkLimits links;
  RequestLimits requests;
  AssemblyLimits assembly;
  std::size_t waiting_bytes_max = kWaitingBytesMax;  // letters for processes without a link
  std::size_t held_bytes_max = kHeldBytesMax;        // letters ahead of our journal
  std::uint64_t jitter_seed = 1;
  std::shared_ptr<Tracer> tracer = nullptr;  // none: this process keeps no trace
  std::shared_ptr<ActorBoard> board = nullptr;
  std::shared_ptr<Lanes> lanes = nullptr;  // none: tensors travel with everything else
  // The role in the certificate of a connected process; empty: links without certificates, in tests.
  std::function<std::optional<PeerRole>(const caf::node_id&)> certified_role;
  std::function<void(const Revocations&)> revoked;  // is given every list that the spawner sends; empty: nobody
  // Its certificate's name, for the note of whose bytes are read (peer_note.h); empty: no note is kept.
  std::function<std::shared_ptr<const std::string>(const caf::node_id&)> certificate_of;
};

// What the next ReplicaReport that passes through tells of this router.
struct SinceReport {
  ByteCounts sent;
  std::uint64_t retries_told = 0;  // of all that the request table counted
};

// How full this router's queues have been, each with its bound (S-6).
struct RouterMarks {
  HighWater waiting{"bytes for absent peers"};
  HighWater held{"letters ahead of journal"};
  HighWater requests{"requests kept"};
  HighWater assembling{"bytes of open transfers"};
};

// What this router has done so far, and what it tells of itself.
struct RouterRecord {
  std::uint64_t links_opened = 0;  // numbers the links
  Undelivered undelivered;
  std::shared_ptr<ActorPulse> pulse;
  SinceReport since_report;
  RouterMarks marks;
  NextLook next_look;
};

struct Connection {
  RouterActor handle;
  std::optional<Endpoint> dialled;  // none: the other side dialled
  Assembler assembler;
  std::uint64_t transfers = 0;
  StateSent state_sent{};
  std::shared_ptr<const std::string> certificate{};  // of who is at the other end
};

// Routes that no journal says: a replica that fetches its state is no member yet, a joining node has no number.
// Nothing of a process stays when it has left.
struct RouteHints {
  static inline const Bound kCountMax{"links.route_hints", 4096};
  std::map<Incarnation, ProcessIncarnation> fetching;
  std::map<std::uint64_t, LinkId> joining;  // by Join::nonce

  void fetches(Incarnation replica, ProcessIncarnation process);
  void joins(std::uint64_t nonce, LinkId link);
  void link_ended(LinkId link);
  void keep_those(const std::function<bool(ProcessIncarnation)>& is_there);
};

// An actor of this process. Empty while it is being started again.
struct Local {
  caf::actor actor;
  std::shared_ptr<ActorPulse> pulse;
  std::optional<UntakenLetters> untaken;  // of an actor that must lose none
};

struct LocalKey {
  Role role = Role::kRouter;
  std::uint64_t id = 0;  // stages: the incarnation; sync groups: the stage
  friend auto operator<=>(const LocalKey&, const LocalKey&) = default;
};

// What cannot be delivered yet.
struct HeldBack {
  std::optional<WaitingLetters> waiting;  // for processes without a link
  std::optional<HeldLetters> ahead;       // of our journal
  OrdersForAbsent orders;
};

struct RouterState {
  static inline const char* name = "router";
  RouterConfig config;
  std::optional<LinkTable> links;
  std::optional<RequestTable> requests;
  JournalFollower journal;
  std::map<LinkId, Connection> connections;
  std::map<caf::actor_addr, LinkId> link_of;
  std::map<LocalKey, Local> locals;
  RouteHints hints;
  HeldBack held;
  RouterRecord record;
  ActorTrace trace;
};

RouterActor::behavior_type router(RouterActor::stateful_pointer<RouterState> self, RouterConfig config);

}  // namespace shoal
