// The router's links: dials, greetings, frames in and out, and what happens when one breaks.
// Nothing from another process is believed before its link's identity allows it (links.h).
#pragma once

#include "actors/router/router_mail.h"

namespace shoal {

void perform(RouterSelf self, std::vector<LinkEffect> effects);
// To the router of another process, or into the bounded queue until a link to it is up.
void send_to_process(RouterSelf self, Letter letter);
// Sends what waits and can go; forgets what waits for processes that left the run.
void flush_waiting(RouterSelf self);
// Over the link that a joining node's Join came by; it has no number yet, or is about to get one.
void answer_join(RouterSelf self, Letter letter);
void receive_frame(RouterSelf self, const WireFrame& frame);
void receive_from_lane(RouterSelf self, const LaneLetter& received);
void progress_on_lane(RouterSelf self, const LaneProgress& arriving);
void lane_changed(RouterSelf self, const LaneChange& change);
void dial_ended(RouterSelf self, const Dialled& dialled);
void connection_down(RouterSelf self, const caf::down_msg& down);

}  // namespace shoal
