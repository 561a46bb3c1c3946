// The time of a sum over a ring, hop by hop (runtime/sync/ring.h): each bucket goes round twice, buckets of all members
// at once, and a member's way to the next one carries one part after the other.
#pragma once

#include <vector>

#include "runtime/plan/step/step_scene.h"

namespace shoal {

// hops: the link from each member to the next one, the last one's to the first. sum_bytes: of one member's
// contribution; bucket_bytes: above 0. Nothing for a member that is alone.
[[nodiscard]] double ring_time_s(const std::vector<StepLink>& hops, double sum_bytes, double bucket_bytes);

}  // namespace shoal
