// The router's letters: where one goes, what the router itself reads of it, and delivery to the actors of this process.
// A letter is read by the router's cores (request table, journal, links) before anybody else sees it.
#pragma once

#include <vector>

#include "actors/router/router.h"

namespace shoal {

using RouterSelf = RouterActor::stateful_pointer<RouterState>;

[[nodiscard]] inline Instant now_of(RouterSelf self) { return self->clock().now(); }

// From an actor of this process.
void post(RouterSelf self, Letter letter);
// To whoever it is addressed to, wherever that is.
void route(RouterSelf self, Letter letter);
void route_all(RouterSelf self, std::vector<Letter> letters);
// From the router of another process, its sender verified.
void receive_verified(RouterSelf self, Letter letter, Duration transfer);
// To the actors of this process.
void deliver(RouterSelf self, Letter letter, Duration transfer);

void attach(RouterSelf self, const Attach& attached);
void detach(RouterSelf self, const Detach& detached);
// It goes nowhere: counted, and in the trace.
void drop(RouterSelf self, const Letter& letter, Undelivered::Why why);
// Whether letters to this replica go over a good link now, or stay here.
[[nodiscard]] bool is_linked(RouterSelf self, Incarnation replica);
// Failures ordered for actors that are down and do not come back.
void give_up_orders(RouterSelf self);
// Letters of actors that must lose none, once they have taken them.
void forget_taken(RouterSelf self);
void local_down(RouterSelf self, const caf::actor_addr& actor);
// Asks the supervisor for entries that we lack, when it is time to.
void fetch_journal(RouterSelf self);
// Something will be due before the next Tick.
void look_soon(RouterSelf self);

}  // namespace shoal
