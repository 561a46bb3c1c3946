// Join tokens, their secrets, and the list of tokens that a run keeps.
//
//   input = kind:u8  text        kind mod 4: a token; the bytes of one, whose check digits are put right; a secret; a
//   list
//
// Text that is accepted is written as it was read.
#include "runtime/transport/join_token.h"

#include <openssl/sha.h>

#include "tests/fuzz/harness.h"

namespace shoal::fuzz {
namespace token {
namespace {

enum Kind : std::uint8_t { kText, kBytes, kSecret, kList, kKinds };
constexpr std::size_t kCheckedBytes = 8 + 8 + 4 + 32 + 16;
constexpr std::size_t kBytesOfToken = kCheckedBytes + 4;
constexpr WallTime kNow{std::chrono::hours(24 * 365 * 56)};

// Writes the bytes as a token's maker writes them, whatever they say.
std::string sealed_token(std::string_view bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string content(bytes.substr(0, kCheckedBytes));
  content.resize(kBytesOfToken, '\0');
  Fingerprint check{};
  SHA256(reinterpret_cast<const unsigned char*>(content.data()), kCheckedBytes, check.data());
  for (std::size_t i = kCheckedBytes; i < kBytesOfToken; ++i) content[i] = static_cast<char>(check[i - kCheckedBytes]);
  std::string text = "shoal1.";
  for (Cursor cursor(content); !cursor.is_empty();) {
    const std::uint64_t group = cursor.number(3);
    for (const unsigned shift : {18U, 12U, 6U, 0U}) text.push_back(kAlphabet[group >> shift & 63U]);
  }
  return text;
}

bool accepts_token(const std::string& text) {
  const auto token = parse_token(text);
  if (!token) return false;
  ENSURE(token_text(*token) == text, "a token is written as it was read");
  return true;
}

bool accepts_list(std::string_view text) {
  auto ledger = TokenLedger::from_text(text);
  if (!ledger) return false;
  const std::string once = ledger->to_text();
  const auto again = TokenLedger::from_text(once);
  ENSURE(again.ok() && again->to_text() == once, "a list of tokens is written as it was read");
  (void)ledger->redeem(TokenSecret{}, kNow);
  if (!ledger->records().empty()) ENSURE(ledger->revoke(ledger->records().front().id), "a listed token is known");
  ledger->forget_expired_before(kNow);
  return true;
}

bool accepts(std::string_view input) {
  Cursor cursor(input);
  const auto kind = cursor.byte() % kKinds;
  const std::string text(cursor.rest());
  if (kind == kText) return accepts_token(text);
  if (kind == kBytes) return accepts_token(sealed_token(text));
  if (kind == kList) return accepts_list(text);
  const auto secret = parse_secret(text);
  if (secret) ENSURE(secret_text(*secret) == text, "a secret is written as it was read");
  return secret.has_value();
}

std::vector<std::string> samples() {
  JoinToken token{RunId{77}, {}, {}, kNow, 3};
  token.ca.fill(0xAB);
  token.secret.fill(0xCD);
  std::string bytes;
  append_number(bytes, 77, 8);
  append_number(bytes, 1'900'000'000, 8);
  bytes.resize(kCheckedBytes, 'x');
  TokenLedger ledger;
  ledger.add(TokenSecret{}, kNow + std::chrono::hours(24), 2);
  ledger.add(token.secret, kNow, 0);
  return {std::string(1, kText) + token_text(token), std::string(1, kBytes) + bytes,
          std::string(1, kSecret) + secret_text(token.secret), std::string(1, kList) + ledger.to_text()};
}

}  // namespace
}  // namespace token

const Harness kToken{"token", token::samples, token::accepts};

}  // namespace shoal::fuzz
