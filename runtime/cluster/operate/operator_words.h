// Orders of a person as words: what is typed, and what a command says to the control endpoint.
//
//   POST /v1/kill {"name": "stage/1/0", "how": "freeze", "freeze_ms": 5000, "reason": "shoal kill"} -> {"done": TEXT}
//   POST /v1/drain {"name": "node2", "reason": "shoal drain"}                                        -> {"done": TEXT}
//   POST /v1/evict {"name": "node2", "revoke": true, "reason": "shoal evict --revoke"}               -> {"done": TEXT}
//
// Both sides use these functions, so they cannot drift apart. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "messages/operate.h"
#include "runtime/base/error.h"

namespace shoal {

inline constexpr std::string_view kKillPath = "/v1/kill";
inline constexpr std::string_view kDrainPath = "/v1/drain";
inline constexpr std::string_view kEvictPath = "/v1/evict";
// The longest silence that may be injected.
inline constexpr std::uint64_t kFreezeMsMax = 3'600'000;
// Bytes of the longest name or reason in an order or a request.
inline constexpr std::size_t kTextBytesMax = 200;

struct InjectWords {
  InjectKind how = InjectKind::kExit;
  std::uint64_t freeze_ms = 0;
};
// "exit", "kill", "throw", or "freeze=S" with S seconds. Errors: kUsage.
[[nodiscard]] Result<InjectWords> parse_how(std::string_view text);

[[nodiscard]] std::string_view word_of(InjectKind how);
// Returns how many ways to fail there are; they are numbered from 0.
[[nodiscard]] std::uint32_t inject_kind_count();
// Says for people what an injection does: "killed", "frozen for 5 s".
[[nodiscard]] std::string deed_of(InjectKind how, std::uint64_t freeze_ms);

[[nodiscard]] std::string kill_text(const OperatorOrder& order);
// Errors: kUsage, naming the field.
[[nodiscard]] Result<OperatorOrder> parse_kill(std::string_view body);
// Orders that need no more than a name.
[[nodiscard]] std::string drain_text(const OperatorOrder& order);
[[nodiscard]] Result<OperatorOrder> parse_drain(std::string_view body);
[[nodiscard]] std::string evict_text(const OperatorOrder& order);
[[nodiscard]] Result<OperatorOrder> parse_evict(std::string_view body);
// The sentence of an answer to an order.
[[nodiscard]] std::string done_text(const std::string& sentence);
[[nodiscard]] Result<std::string> parse_done(std::string_view body);

}  // namespace shoal
