// Shell of the mail room: handlers only. Letters are in router_mail.cpp, links in router_wire.cpp.
#include "actors/router/router.h"

#include <utility>

#include "actors/injected.h"
#include "actors/router/router_mail.h"
#include "actors/router/router_wire.h"
#include "runtime/base/log.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

[[nodiscard]] bool is_something_near(RouterSelf self) {
  const auto& state = self->state;
  return !state.links->is_settled() || state.requests->has_retries() || !state.held.waiting->processes().empty();
}

void tick(RouterSelf self) {
  if (!self->state.record.next_look.is_awaited(now_of(self))) return;
  self->state.record.pulse->waiting(self->mailbox().size());
  perform(self, self->state.links->tick(now_of(self)));
  route_all(self, self->state.requests->tick(now_of(self), [self](Incarnation hop) { return is_linked(self, hop); }));
  flush_waiting(self);
  give_up_orders(self);
  forget_taken(self);
  fetch_journal(self);
  if (const auto news = self->state.record.undelivered.news(now_of(self))) log_info("router", "not delivered: ", *news);
  self->delayed_send(self, self->state.record.next_look.after_look(is_something_near(self), now_of(self)), Tick{});
}

void identify(RouterSelf self, const Identify& welcomed) {
  perform(self, self->state.links->identify(welcomed.process, welcomed.run, welcomed.term, now_of(self)));
  fetch_journal(self);
}

void adopt(RouterSelf self, RouterConfig config) {
  auto& state = self->state;
  state.links.emplace(config.self, config.links, config.jitter_seed);
  state.requests.emplace(config.requests);
  state.held.waiting.emplace(config.waiting_bytes_max);
  state.held.ahead.emplace(config.held_bytes_max);
  if (config.spawner) state.links->set_spawner(*config.spawner);
  state.trace = ActorTrace(config.tracer, "router");
  state.record.pulse = enter(config.board, "router");
  state.config = std::move(config);
  if (state.config.lanes) state.config.lanes->tell(caf::actor_cast<caf::actor>(self->ctrl()));
  self->set_error_handler([](caf::scheduled_actor*, caf::error& error) {
    log_warn("router", "ignored an error message: ", words_of(error));
  });
  self->set_down_handler([self](const caf::down_msg& down) { connection_down(self, down); });
  self->send(self, Tick{});
}

}  // namespace

void RouteHints::fetches(Incarnation replica, ProcessIncarnation process) {
  if (kCountMax.is_reached_by(fetching.size())) fetching.erase(fetching.begin());
  fetching[replica] = process;
}

void RouteHints::joins(std::uint64_t nonce, LinkId link) {
  if (kCountMax.is_reached_by(joining.size())) joining.erase(joining.begin());
  joining[nonce] = link;
}

void RouteHints::link_ended(LinkId link) {
  std::erase_if(joining, [link](const auto& join) { return join.second == link; });
}

void RouteHints::keep_those(const std::function<bool(ProcessIncarnation)>& is_there) {
  std::erase_if(fetching, [&](const auto& fetch) { return !is_there(fetch.second); });
}

RouterActor::behavior_type router(RouterActor::stateful_pointer<RouterState> self, RouterConfig config) {
  self->set_exception_handler(error_of);
  adopt(self, std::move(config));
  return {
      [](const Inject& order) { suffer(order); },
      [self](Letter& letter) { post(self, std::move(letter)); },
      [self](const WireFrame& frame) { receive_frame(self, frame); },
      [self](const LaneLetter& received) { receive_from_lane(self, received); },
      [self](const LaneProgress& arriving) { progress_on_lane(self, arriving); },
      [self](const LaneChange& change) { lane_changed(self, change); },
      [self](const Attach& attached) { attach(self, attached); },
      [self](const Detach& detached) { detach(self, detached); },
      [self](const Dialled& dialled) { dial_ended(self, dialled); },
      [self](const Identify& welcomed) { identify(self, welcomed); },
      [](const Ping&) {},
      [self](const Tick&) { tick(self); },
  };
}

}  // namespace shoal
