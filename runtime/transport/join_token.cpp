// The token's text and the ledger. Secrets are compared by their hashes, over all records, in constant time.
#include "runtime/transport/join_token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/text/json_number.h"

namespace shoal {
namespace {

constexpr std::string_view kFamily = "shoal";
constexpr std::string_view kTokenPrefix = "shoal1.";
constexpr std::size_t kCheckBytes = 4;
constexpr std::size_t kRunBytes = 8;
constexpr std::size_t kExpiryBytes = 8;
constexpr std::size_t kUsesBytes = 4;
constexpr std::size_t kCheckedBytes =
    kRunBytes + kExpiryBytes + kUsesBytes + std::tuple_size_v<Fingerprint> + std::tuple_size_v<TokenSecret>;
constexpr std::size_t kTokenBytes = kCheckedBytes + kCheckBytes;
constexpr std::size_t kIdDigits = 8;
constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// kTokenBytes is a multiple of 3, so that every text has the same length and no padding exists.
static_assert(kTokenBytes % 3 == 0);
constexpr std::size_t kTextDigits = kTokenBytes / 3 * 4;

using Bytes = std::vector<std::uint8_t>;

std::string base64url(const Bytes& bytes) {
  std::string text;
  for (std::size_t i = 0; i + 2 < bytes.size(); i += 3) {
    const std::uint32_t group = (std::uint32_t{bytes[i]} << 16) | (std::uint32_t{bytes[i + 1]} << 8) | bytes[i + 2];
    for (const unsigned shift : {18u, 12u, 6u, 0u}) text.push_back(kAlphabet[(group >> shift) & 63u]);
  }
  return text;
}

// Nothing if a character is not of the alphabet. The length is a multiple of 4.
std::optional<Bytes> from_base64url(std::string_view text) {
  Bytes bytes;
  for (std::size_t i = 0; i + 3 < text.size(); i += 4) {
    std::uint32_t group = 0;
    for (const char c : text.substr(i, 4)) {
      const auto digit = kAlphabet.find(c);
      if (digit == std::string_view::npos) return std::nullopt;
      group = (group << 6) | static_cast<std::uint32_t>(digit);
    }
    for (const unsigned shift : {16u, 8u, 0u}) bytes.push_back(static_cast<std::uint8_t>(group >> shift));
  }
  return bytes;
}

template <std::size_t kCount>
void append_big_endian(Bytes& bytes, std::uint64_t value) {
  for (std::size_t i = 0; i < kCount; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * (kCount - 1 - i))));
}

template <std::size_t kCount>
std::uint64_t take_big_endian(const std::uint8_t*& position) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kCount; ++i) value = (value << 8) | *position++;
  return value;
}

Fingerprint sha256(const std::uint8_t* data, std::size_t size) {
  Fingerprint digest{};
  SHA256(data, size, digest.data());
  return digest;
}

std::string hash_text(const TokenSecret& secret) { return fingerprint_text(sha256(secret.data(), secret.size())); }

std::int64_t seconds_of(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

// Nothing for what is beyond the clock's range.
std::optional<WallTime> time_of(std::int64_t seconds) {
  if (seconds < seconds_of(WallTime::min()) || seconds > seconds_of(WallTime::max())) return std::nullopt;
  return WallTime(std::chrono::seconds(seconds));
}

}  // namespace

std::string token_text(const JoinToken& token) {
  Bytes bytes;
  append_big_endian<kRunBytes>(bytes, token.run.value);
  append_big_endian<kExpiryBytes>(bytes, static_cast<std::uint64_t>(seconds_of(token.expiry)));
  append_big_endian<kUsesBytes>(bytes, token.uses);
  bytes.insert(bytes.end(), token.ca.begin(), token.ca.end());
  bytes.insert(bytes.end(), token.secret.begin(), token.secret.end());
  const Fingerprint check = sha256(bytes.data(), bytes.size());
  bytes.insert(bytes.end(), check.begin(), check.begin() + kCheckBytes);
  return compose(kTokenPrefix, base64url(bytes));
}

Result<JoinToken> parse_token(std::string_view text) {
  if (!text.starts_with(kTokenPrefix)) {
    const auto dot = text.find('.');
    if (text.starts_with(kFamily) && dot != std::string_view::npos && dot > kFamily.size()) {
      return fail(Error::kRefused,
                  compose("This join token is of version '", text.substr(0, dot), "'; this program reads '",
                          kTokenPrefix.substr(0, kTokenPrefix.size() - 1), "'. Use the same version everywhere."));
    }
    return fail(Error::kRefused, compose("This is not a join token; one begins with '", kTokenPrefix, "'."));
  }
  text.remove_prefix(kTokenPrefix.size());
  if (text.size() != kTextDigits) {
    return fail(Error::kRefused, compose("The join token is ", text.size() < kTextDigits ? "truncated" : "too long",
                                         ": ", text.size(), " characters after the dot where ", kTextDigits,
                                         " were expected. Copy the whole line that the spawner printed."));
  }
  const auto bytes = from_base64url(text);
  if (!bytes ||
      !std::equal(bytes->begin() + kCheckedBytes, bytes->end(), sha256(bytes->data(), kCheckedBytes).begin())) {
    return fail(Error::kRefused, "The join token is damaged: its check digits do not fit. Copy it again.");
  }
  JoinToken token;
  const std::uint8_t* position = bytes->data();
  token.run.value = take_big_endian<kRunBytes>(position);
  const auto expiry = time_of(static_cast<std::int64_t>(take_big_endian<kExpiryBytes>(position)));
  if (!expiry) return fail(Error::kRefused, "The join token expires when no clock shows. Ask for a new one.");
  token.expiry = *expiry;
  token.uses = static_cast<std::uint32_t>(take_big_endian<kUsesBytes>(position));
  std::copy_n(position, token.ca.size(), token.ca.begin());
  std::copy_n(position + token.ca.size(), token.secret.size(), token.secret.begin());
  return token;
}

Result<TokenSecret> random_secret() {
  TokenSecret secret{};
  if (RAND_bytes(secret.data(), static_cast<int>(secret.size())) != 1) {
    return fail(Error::kInternal, "The system gave no random bytes for a join token.");
  }
  return secret;
}

std::string secret_text(const TokenSecret& secret) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : secret) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 0xf]);
  }
  return text;
}

std::optional<TokenSecret> parse_secret(std::string_view text) {
  TokenSecret secret{};
  if (text.size() != 2 * secret.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = std::string_view("0123456789abcdef").find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    secret[i / 2] = static_cast<std::uint8_t>((secret[i / 2] << 4) | digit);
  }
  return secret;
}

std::string_view verdict_text(TokenVerdict verdict) {
  switch (verdict) {
    case TokenVerdict::kGood: return "The join token is good.";
    case TokenVerdict::kUnknown:
      return "The join token's secret is wrong; it was not made by this run. Ask its operator for a new one.";
    case TokenVerdict::kExpired: return "The join token has expired. Ask the run's operator for a new one.";
    case TokenVerdict::kRevoked: return "The join token was revoked. Ask the run's operator for a new one.";
    case TokenVerdict::kUsedUp:
      return "The join token was used as often as it may be. Ask the run's operator for a new one.";
  }
  return "The join token is not known.";
}

TokenVerdict verdict_of(const TokenRecord& record, WallTime now) {
  if (record.is_revoked) return TokenVerdict::kRevoked;
  if (now >= record.expiry) return TokenVerdict::kExpired;
  if (record.uses_max != 0 && record.uses >= record.uses_max) return TokenVerdict::kUsedUp;
  return TokenVerdict::kGood;
}

std::string TokenLedger::add(const TokenSecret& secret, WallTime expiry, std::uint32_t uses_max, TokenOrigin origin) {
  if (const auto found = find(secret)) return records_[*found].id;
  const std::string hash = hash_text(secret);
  records_.push_back(TokenRecord{hash.substr(0, kIdDigits), hash, expiry, uses_max, 0, false, origin});
  return records_.back().id;
}

TokenVerdict TokenLedger::verify(const TokenSecret& secret, WallTime now) const {
  const auto found = find(secret);
  return found ? verdict_of(records_[*found], now) : TokenVerdict::kUnknown;
}

TokenVerdict TokenLedger::redeem(const TokenSecret& secret, WallTime now) {
  const TokenVerdict verdict = verify(secret, now);
  if (verdict == TokenVerdict::kGood) ++records_[*find(secret)].uses;
  return verdict;
}

std::optional<TokenRecord> TokenLedger::record_of(const TokenSecret& secret) const {
  const auto found = find(secret);
  return found ? std::optional(records_[*found]) : std::nullopt;
}

bool TokenLedger::revoke(std::string_view id) {
  const auto found =
      std::find_if(records_.begin(), records_.end(), [&](const auto& record) { return record.id == id; });
  if (found == records_.end()) return false;
  found->is_revoked = true;
  return true;
}

void TokenLedger::forget_expired_before(WallTime time) {
  std::erase_if(records_, [time](const TokenRecord& record) { return record.expiry < time; });
}

// Looks at every record and at every digit, so that the time taken says nothing about a near miss.
std::optional<std::size_t> TokenLedger::find(const TokenSecret& secret) const {
  const std::string hash = hash_text(secret);
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (CRYPTO_memcmp(records_[i].secret_hash.data(), hash.data(), hash.size()) == 0) found = i;
  }
  return found;
}

std::string TokenLedger::to_text() const {
  std::string text;
  for (const TokenRecord& record : records_) {
    const nlohmann::json line = {{"id", record.id},
                                 {"secret_sha256", record.secret_hash},
                                 {"expiry", seconds_of(record.expiry)},
                                 {"uses_max", record.uses_max},
                                 {"uses", record.uses},
                                 {"revoked", record.is_revoked},
                                 {"by_run", record.origin == TokenOrigin::kRun}};
    text += line.dump() + '\n';
  }
  return text;
}

Result<TokenLedger> TokenLedger::from_text(std::string_view text) {
  TokenLedger ledger;
  for (std::size_t line_number = 1; !text.empty(); ++line_number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    try {
      const auto json = nlohmann::json::parse(line);
      const auto expiry = time_of(whole_number<std::int64_t>(json.at("expiry")));
      if (!expiry) return fail(Error::kInvalidData, compose("Line ", line_number, " of the token list has no expiry."));
      TokenRecord record{json.at("id"),
                         json.at("secret_sha256"),
                         *expiry,
                         whole_number<std::uint32_t>(json.at("uses_max")),
                         whole_number<std::uint32_t>(json.at("uses")),
                         json.at("revoked")};
      // Tokens of old files were all the run's own: people could not make any.
      record.origin = json.value("by_run", true) ? TokenOrigin::kRun : TokenOrigin::kPerson;
      if (record.secret_hash.size() != 2 * std::tuple_size_v<Fingerprint>) {
        return fail(Error::kInvalidData, compose("Line ", line_number, " of the token list has no SHA-256."));
      }
      ledger.records_.push_back(std::move(record));
    } catch (const nlohmann::json::exception& error) {
      return fail(Error::kInvalidData, compose("Line ", line_number, " of the token list is damaged: ", error.what()));
    }
  }
  return ledger;
}

Result<TokenLedger> load_tokens(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return TokenLedger();
  const auto text = read_file(path);
  if (!text.ok()) return text.failure();
  auto ledger = TokenLedger::from_text(*text);
  if (!ledger.ok()) return fail(Error::kInvalidData, compose(path, ": ", ledger.failure().message));
  return ledger;
}

Status save_tokens(const std::string& path, const TokenLedger& ledger) {
  return replace_file(path, ledger.to_text(), FileAccess::kOwnerOnly);
}

}  // namespace shoal
