// Shell of the mail room: handlers only. What its core wants done is performed in actor_edge.cpp.
#include "actors/router/router.h"

#include <utility>

#include "actors/injected.h"
#include "actors/router/actor_edge.h"
#include "runtime/base/log.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using Self = RouterActor::stateful_pointer<RouterState>;

[[nodiscard]] Instant now(Self self) { return self->clock().now(); }

// A handle that came by a new connection compares equal to the dead one of an old connection, but is another
// (CAF.md §2).
[[nodiscard]] bool is_same_proxy(const RouterActor& handle, const caf::strong_actor_ptr& sender) {
  return caf::actor_cast<caf::strong_actor_ptr>(handle).get() == sender.get();
}

[[nodiscard]] LinkId open(Self self, const caf::strong_actor_ptr& peer, std::optional<Endpoint> dialled) {
  auto& state = self->state;
  auto handle = caf::actor_cast<RouterActor>(peer);
  self->monitor(handle);
  const auto& name_of = state.config.certificate_of;
  const LinkId link = state.core->open(std::move(dialled), name_of ? name_of(handle.address().node()) : nullptr);
  state.link_of[handle.address()] = link;
  state.connections.emplace(link, std::move(handle));
  return link;
}

// Returns the link of the connection that a frame came over: a known one, or that of a stranger who may say Hello.
[[nodiscard]] std::optional<LinkId> link_of_sender(Self self) {
  auto& state = self->state;
  const caf::strong_actor_ptr& sender = self->current_sender();
  if (!sender) return std::nullopt;
  const auto known = state.link_of.find(caf::actor_cast<caf::actor_addr>(sender));
  if (known != state.link_of.end()) {
    const LinkId old = known->second;
    if (is_same_proxy(state.connections.at(old), sender)) return old;
    state.core->reset(old, "its process has connected anew", now(self));
  }
  const LinkId link = open(self, sender, std::nullopt);
  return state.core->accept(link, now(self)) ? std::optional(link) : std::nullopt;
}

void receive_frame(Self self, const WireFrame& frame) {
  const auto link = link_of_sender(self);
  if (link) self->state.core->receive_frame(*link, frame.bytes, now(self));
}

void lane_changed(Self self, const LaneChange& change) {
  RouterCore& core = *self->state.core;
  const LinkId link{change.link};
  switch (change.kind) {
    case LaneChange::Kind::kUp: return core.lane_up(link);
    case LaneChange::Kind::kRoom: return core.lane_has_room(link);
    case LaneChange::Kind::kLost: return core.lane_ended(link, change.reason, false, now(self));
    case LaneChange::Kind::kEndedByPeer: return core.lane_ended(link, change.reason, true, now(self));
  }
}

void dial_ended(Self self, const Dialled& dialled) {
  auto& state = self->state;
  if (!dialled.peer) return state.core->dial_failed(dialled.process, dialled.reason, now(self));
  const auto known = state.link_of.find(caf::actor_cast<caf::actor_addr>(dialled.peer));
  if (known != state.link_of.end()) state.core->link_down(known->second, "dialled again", now(self));
  const LinkId link = open(self, dialled.peer, dialled.endpoint);
  state.core->dialled(dialled.process, link, now(self));
}

void attach(Self self, const Attach& attached) {
  const Address address{{}, attached.role, attached.stage, attached.incarnation};
  if (attached.actor) {
    self->monitor(attached.actor);
    self->state.locals[local_key(address)] = attached.actor;
  }
  self->state.core->attach({address, attached.actor != nullptr, attached.pulse, attached.taken});
}

void detach(Self self, const Detach& detached) {
  const Address address{{}, detached.role, detached.stage, detached.incarnation};
  self->state.locals.erase(local_key(address));
  self->state.core->detach(address);
}

void went_down(Self self, const caf::down_msg& down) {
  auto& state = self->state;
  const auto link = state.link_of.find(down.source);
  if (link != state.link_of.end()) {
    return state.core->link_down(link->second, words_of_lost_link(down.reason), now(self));
  }
  std::erase_if(state.locals, [&](const auto& local) {
    const bool is_down = local.second.address() == down.source;
    if (is_down) state.core->actor_down(local.first);
    return is_down;
  });
}

void tick(Self self) {
  const auto& ticked = self->state.config.ticked;
  if (ticked) ticked();
  self->state.core->tick(self->mailbox().size(), now(self));
}

void adopt(Self self, RouterConfig config) {
  auto& state = self->state;
  config.has_certificates = config.certified != nullptr;
  state.edge = make_actor_edge(self);
  state.core = std::make_unique<RouterCore>(config, *state.edge);
  state.config = std::move(config);
  if (state.config.lanes) state.config.lanes->tell(caf::actor_cast<caf::actor>(self->ctrl()));
  self->set_error_handler([](caf::scheduled_actor*, caf::error& error) {
    log_warn("router", "ignored an error message: ", words_of(error));
  });
  self->set_down_handler([self](const caf::down_msg& down) { went_down(self, down); });
  self->send(self, Tick{});
}

}  // namespace

RouterActor::behavior_type router(Self self, RouterConfig config) {
  self->set_exception_handler(error_of);
  adopt(self, std::move(config));
  return {
      [](const Inject& order) { suffer(order); },
      [self](Letter& letter) { self->state.core->post(std::move(letter), now(self)); },
      [self](const WireFrame& frame) { receive_frame(self, frame); },
      [self](const LaneLetter& received) {
        self->state.core->receive_from_lane(LinkId{received.link}, received.letter, received.took, now(self));
      },
      [self](const LaneProgress& part) {
        self->state.core->progress_on_lane(LinkId{part.link}, {part.letter, part.received, part.took}, now(self));
      },
      [self](const LaneChange& change) { lane_changed(self, change); },
      [self](const Attach& attached) { attach(self, attached); },
      [self](const Detach& detached) { detach(self, detached); },
      [self](const Dialled& dialled) { dial_ended(self, dialled); },
      [self](const TensorCopied& copy) { self->state.core->tensor_copied(copy.tensor, copy.copy); },
      [self](const Identify& known) { self->state.core->identify(known.process, known.run, known.term, now(self)); },
      [](const Ping&) {},
      [self](const Tick&) { tick(self); },
  };
}

}  // namespace shoal
