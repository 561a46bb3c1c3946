// Why a run trains or does not, as one sentence for a person: "waiting for 1 node for stage 1, since 3 min".
//
// Reads what is true; decides nothing. Pure.
#pragma once

#include <string>
#include <string_view>

#include "runtime/cluster/truth/truth.h"

namespace shoal {

// Stands before the time in the sentence: the words before it stay the same while the reason does.
inline constexpr std::string_view kSince = ", since ";

[[nodiscard]] std::string explain_waiting(const Truth& truth, Instant now);

// ", since 12 s".
[[nodiscard]] std::string since(Instant then, Instant now);
// "12 s ago", of what is over.
[[nodiscard]] std::string ago(Instant then, Instant now);

}  // namespace shoal
