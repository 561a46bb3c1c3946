// A person's wish for a checkpoint as words: what `shoal checkpoint` and the control endpoint say to each other.
//
//   POST /v1/checkpoint {"reason": TEXT [, "step": N, "branch": B]}     with the goal of an earlier answer, if any
//     -> {"checkpoint": "ordered" | "saved" | "failed", "step": N, "branch": B, "text": SENTENCE}
//
// Both sides use these functions, so they cannot drift apart. Pure.
#pragma once

#include <string>
#include <string_view>

#include "messages/local/save_request.h"
#include "runtime/base/error.h"

namespace shoal {

inline constexpr std::string_view kCheckpointPath = "/v1/checkpoint";

[[nodiscard]] std::string save_request_text(const SaveRequest& request);
// Errors: kUsage, naming the field.
[[nodiscard]] Result<SaveRequest> parse_save_request(std::string_view body);
[[nodiscard]] std::string save_answer_text(const SaveAnswer& answer);
// Errors: kInternal. Of an answer that is no refusal.
[[nodiscard]] Result<SaveAnswer> parse_save_answer(std::string_view body);

}  // namespace shoal
