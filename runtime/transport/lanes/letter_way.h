// Chooses the way of a letter between a pair of processes: with tensors over the lane, all else over the link.
// Where there is no lane, all go over the link.
//
// Each way keeps its order, and between the two there is none (P-9a). So what asks after letters with tensors goes
// their way, and what answers it goes the way of the answers that come back: when it comes, whatever went before it and
// has not come is lost, and not only slow. Pure.
#pragma once

#include <cstdint>

#include "messages/letter.h"

namespace shoal {

enum class LetterWay : std::uint8_t { kLink, kLane };

[[nodiscard]] LetterWay way_of(const MessageBody& body);

}  // namespace shoal
