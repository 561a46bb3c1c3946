// Join token, which an operator pastes on another machine, and the list of those still good.
//
//   text   = "shoal1." base64url(run:be64 ‖ expiry:be64 ‖ uses:be32 ‖ ca:32 ‖ secret:16 ‖ check:4), without padding
//   expiry = seconds since 1970; uses 0 = any number; check = first bytes of SHA-256 over what stands before it
//
// The fingerprint lets a newcomer know the spawner before it says the secret; expiry and uses are copies for people,
// the ledger's own rule. The ledger keeps SHA-256(secret), never the secret, and compares in constant time.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/ids.h"
#include "runtime/base/error.h"
#include "runtime/transport/certificates.h"

namespace shoal {

using TokenSecret = std::array<std::uint8_t, 16>;

struct JoinToken {
  RunId run;
  Fingerprint ca{};
  TokenSecret secret{};
  WallTime expiry;         // whole seconds
  std::uint32_t uses = 0;  // 0: any number
};

[[nodiscard]] std::string token_text(const JoinToken& token);
// Errors: kRefused with distinct sentences for another version, a truncated or a damaged token.
[[nodiscard]] Result<JoinToken> parse_token(std::string_view text);

// 128 random bits. Errors: kInternal when the system has no randomness.
[[nodiscard]] Result<TokenSecret> random_secret();
[[nodiscard]] std::string secret_text(const TokenSecret& secret);  // 32 hex digits, for the enrolment request
[[nodiscard]] std::optional<TokenSecret> parse_secret(std::string_view text);

// Origin of a token: a person for somebody, or the run itself for nodes on its machine (RUN/certs/join_token).
enum class TokenOrigin { kPerson, kRun };

struct TokenRecord {
  std::string id;           // first 8 hex digits of the secret's hash: what people name a token by
  std::string secret_hash;  // hex SHA-256
  WallTime expiry;
  std::uint32_t uses_max = 0;  // 0: any number
  std::uint32_t uses = 0;
  bool is_revoked = false;
  TokenOrigin origin = TokenOrigin::kPerson;
};

enum class TokenVerdict { kGood, kUnknown, kExpired, kRevoked, kUsedUp };
// A sentence for the newcomer: what is wrong and what to do.
[[nodiscard]] std::string_view verdict_text(TokenVerdict verdict);
// kUnknown cannot be of a record.
[[nodiscard]] TokenVerdict verdict_of(const TokenRecord& record, WallTime now);

class TokenLedger {
 public:
  // Returns the id. Adding the same secret twice changes nothing.
  std::string add(const TokenSecret& secret, WallTime expiry, std::uint32_t uses_max,
                  TokenOrigin origin = TokenOrigin::kPerson);
  // Changes nothing.
  [[nodiscard]] TokenVerdict verify(const TokenSecret& secret, WallTime now) const;
  // verify(), and one use is counted when it is good.
  [[nodiscard]] TokenVerdict redeem(const TokenSecret& secret, WallTime now);
  [[nodiscard]] std::optional<TokenRecord> record_of(const TokenSecret& secret) const;
  // False if no token has this id.
  [[nodiscard]] bool revoke(std::string_view id);
  // Keeps the list from growing with every restart of a spawner.
  void forget_expired_before(WallTime time);
  [[nodiscard]] const std::vector<TokenRecord>& records() const { return records_; }

  // One JSON object per line. Errors of from_text: kInvalidData naming the line.
  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] static Result<TokenLedger> from_text(std::string_view text);

 private:
  [[nodiscard]] std::optional<std::size_t> find(const TokenSecret& secret) const;
  std::vector<TokenRecord> records_;
};

// The ledger's file (mode 0600, replaced by rename). A missing file is an empty ledger. Errors: kIo, kInvalidData.
[[nodiscard]] Result<TokenLedger> load_tokens(const std::string& path);
[[nodiscard]] Status save_tokens(const std::string& path, const TokenLedger& ledger);

}  // namespace shoal
