// The least time of a step on given machines and links, whichever way microbatches are split over them: what a path
// policy can be compared with where links take time that no computing hides.
//
//   way of the first microbatch ─▶ the machine's microbatches, none faster than its links bring and take them
//   ─▶ manifest, order to reduce ─▶ the slowest member's contribution out and the sum in, at once ─▶ vote
//
// Each part is the least that links and machines allow, as if nothing else used them, and whatever may be done at once
// counts once: no step is faster.
#pragma once

#include "runtime/plan/step/step_scene.h"

namespace shoal {

// At the speeds of that moment, with every machine where it is at the start. Without the commit itself.
[[nodiscard]] double step_bound_s(const StepScene& scene, double now_s);

}  // namespace shoal
