// Requests of an operator about join tokens to the control endpoint, and the answers.
//
//   POST /v1/tokens {"seconds": 86400, "uses": 0}  -> {"token": "shoal1..."}
//   GET  /v1/tokens                                -> {"tokens": [{"id", "uses", "uses_max", "uses_left", "expiry",
//                                                                  "state", "standing", "by_run"}]}
//   POST /v1/tokens/revoke {"id": "1a2b3c4d"}      -> {"done": TEXT}
//
// Both sides use these functions, so they cannot drift apart. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/transport/join_token.h"

namespace shoal {

inline constexpr std::string_view kTokensPath = "/v1/tokens";
inline constexpr std::string_view kRevokeTokenPath = "/v1/tokens/revoke";
// The longest life of a token that a person may ask for: a year.
inline constexpr std::chrono::seconds kTokenLifetimeMax = std::chrono::hours(24 * 365);

struct TokenOrder {
  std::chrono::seconds lifetime{};
  std::uint32_t uses = 0;  // 0: any number
};
[[nodiscard]] std::string token_order_text(const TokenOrder& order);
// Errors: kUsage, naming the field.
[[nodiscard]] Result<TokenOrder> parse_token_order(std::string_view body);
[[nodiscard]] std::string new_token_text(const std::string& token);
[[nodiscard]] Result<std::string> parse_new_token(std::string_view body);

// One token as people see it.
struct TokenLine {
  std::string id;
  std::uint32_t uses = 0;
  std::uint32_t uses_max = 0;  // 0: any number
  std::string expiry;          // UTC, ISO 8601
  std::string state;           // valid, used up, expired, revoked
  bool is_standing = false;    // the run's own, in RUN/certs/join_token
  bool is_by_run = false;      // made by the run itself: that one, or one that was there before it
};
[[nodiscard]] TokenLine line_of(const TokenRecord& record, bool is_standing, WallTime now);
// Says for people what a token is worth and, of one that no person has made, where it is: "valid, in certs/join_token".
// One that was there before is valid until it expires, and only its own id revokes it.
[[nodiscard]] std::string state_words(const TokenLine& line);
// The JSON of each, in an array.
[[nodiscard]] std::string tokens_json(const std::vector<TokenLine>& lines);
[[nodiscard]] std::string tokens_text(const std::vector<TokenLine>& lines);
[[nodiscard]] Result<std::vector<TokenLine>> parse_tokens(std::string_view body);

[[nodiscard]] std::string token_id_text(const std::string& id);
// Errors: kUsage.
[[nodiscard]] Result<std::string> parse_token_id(std::string_view body);

}  // namespace shoal
