// Edge of a router's core: what it does to the actors of its process, to its connections, to its own timer.
//
// Each call is performed at once and before the next one, so that effects keep the order in which the core decided on
// them; none of them waits or calls the core back. The actor performs them with CAF; tests write them down.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "messages/letter.h"
#include "runtime/base/clock.h"
#include "runtime/transport/identity.h"
#include "runtime/transport/links.h"

namespace shoal {

class View;  // runtime/journal/view.h

// An actor of this process, as its router finds it.
struct LocalKey {
  Role role = Role::kRouter;
  std::uint64_t id = 0;  // stages: the incarnation; sync groups: the stage
  friend auto operator<=>(const LocalKey&, const LocalKey&) = default;
};

[[nodiscard]] inline LocalKey local_key(Role role, StageId stage, Incarnation incarnation) {
  if (role == Role::kStage) return {role, incarnation.value};
  if (role == Role::kSyncGroup) return {role, stage.value};
  return {role, 0};
}
[[nodiscard]] inline LocalKey local_key(const Address& actor) {
  return local_key(actor.role, actor.stage, actor.incarnation);
}

class RouterEdge {
 public:
  RouterEdge() = default;
  RouterEdge(const RouterEdge&) = delete;
  RouterEdge& operator=(const RouterEdge&) = delete;
  virtual ~RouterEdge() = default;

  // To actors of this process that are attached.
  virtual void give(const LocalKey& actor, MessageBody body) = 0;
  virtual void give_entry(const LocalKey& actor, const JournalEntry& entry) = 0;
  virtual void give_past(const LocalKey& actor, const std::shared_ptr<const View>& past) = 0;
  virtual void give_transfer_time(const LocalKey& actor, Duration transfer) = 0;
  // An order to fail, ahead of what waits there; of role kRouter it is the router itself.
  virtual void give_failure(const LocalKey& actor, const Inject& order) = 0;
  // Ends an actor, or the router itself.
  virtual void end(const LocalKey& actor, InjectKind how) = 0;

  // Sends one frame over a connection.
  virtual void send_frame(LinkId link, std::vector<char> bytes) = 0;
  // Forgets the connection's handle: nothing is sent over it any more.
  virtual void forget(LinkId link) = 0;
  // Returns whom the certificate of the process at the other end names; none: it is gone.
  [[nodiscard]] virtual std::optional<PeerIdentity> certified(LinkId link) = 0;
  // Returns for how long the machine at the other end has acknowledged nothing of what was sent to it; zero: it does.
  [[nodiscard]] virtual Duration unanswered(LinkId link) = 0;
  // Dials; the outcome comes later, as RouterCore::dialled() or dial_failed().
  virtual void dial(const DialPeer& peer) = 0;

  // Copies the tensor to the host, apart from this thread; the bytes come later, as RouterCore::tensor_copied().
  virtual void copy_to_host(const std::shared_ptr<const ResidentTensor>& tensor) = 0;

  // Calls RouterCore::tick() after this pause.
  virtual void look_after(Duration pause) = 0;
};

}  // namespace shoal
