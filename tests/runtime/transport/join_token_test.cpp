// Tokens as text (truncated, damaged, of another version) and the ledger's verdicts.
#include "runtime/transport/join_token.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/runtime/transport/test_run.h"

namespace shoal::join_token_test {
namespace {

using std::chrono::hours;

WallTime at(int hour) { return WallTime(hours(480000 + hour)); }

JoinToken example() {
  JoinToken token{RunId{0x0123456789abcdef}, {}, {}, at(24), 3};
  for (std::size_t i = 0; i < token.ca.size(); ++i) token.ca[i] = static_cast<std::uint8_t>(i * 7);
  for (std::size_t i = 0; i < token.secret.size(); ++i) token.secret[i] = static_cast<std::uint8_t>(255 - i);
  return token;
}

TokenSecret secret_of(std::uint8_t byte) {
  TokenSecret secret{};
  secret.fill(byte);
  return secret;
}

TEST(JoinToken, SurvivesItsText) {
  const JoinToken token = example();
  const auto parsed = parse_token(token_text(token));
  ASSERT_TRUE(parsed.ok()) << parsed.failure().message;
  EXPECT_EQ(parsed->run, token.run);
  EXPECT_EQ(parsed->ca, token.ca);
  EXPECT_EQ(parsed->secret, token.secret);
  EXPECT_EQ(parsed->expiry, token.expiry);
  EXPECT_EQ(parsed->uses, token.uses);
}

TEST(JoinToken, TruncationIsNamedAtEveryLength) {
  const std::string text = token_text(example());
  for (std::size_t size = 7; size < text.size(); ++size) {
    const auto parsed = parse_token(std::string_view(text).substr(0, size));
    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(parsed.failure().error, Error::kRefused);
    EXPECT_NE(parsed.failure().message.find("truncated"), std::string::npos);
  }
}

TEST(JoinToken, EveryChangedCharacterIsNoticed) {
  const std::string text = token_text(example());
  const std::uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (std::size_t i = 7; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(' ' + random() % 95);
    if (changed == text) continue;
    EXPECT_FALSE(parse_token(changed).ok()) << "seed " << seed << " at " << i;
  }
}

TEST(JoinToken, OtherVersionsAndOtherTextsAreToldApart) {
  const auto version = parse_token("shoal2.AAAA");
  ASSERT_FALSE(version.ok());
  EXPECT_NE(version.failure().message.find("shoal2"), std::string::npos);
  const auto nonsense = parse_token("hello");
  ASSERT_FALSE(nonsense.ok());
  EXPECT_NE(nonsense.failure().message.find("not a join token"), std::string::npos);
}

TEST(TokenSecret, SurvivesItsText) {
  const TokenSecret secret = random_secret().value();
  EXPECT_EQ(parse_secret(secret_text(secret)), secret);
  EXPECT_FALSE(parse_secret("12").has_value());
  EXPECT_FALSE(parse_secret(std::string(32, 'g')).has_value());
}

TEST(TokenLedger, KnowsGoodUnknownExpiredRevokedAndUsedUp) {
  TokenLedger ledger;
  ledger.add(secret_of(1), at(24), 0);
  ledger.add(secret_of(2), at(24), 2);
  const std::string third = ledger.add(secret_of(3), at(24), 0);
  EXPECT_EQ(ledger.redeem(secret_of(1), at(0)), TokenVerdict::kGood);
  EXPECT_EQ(ledger.redeem(secret_of(9), at(0)), TokenVerdict::kUnknown);
  EXPECT_EQ(ledger.redeem(secret_of(1), at(24)), TokenVerdict::kExpired);
  EXPECT_EQ(ledger.redeem(secret_of(2), at(0)), TokenVerdict::kGood);
  EXPECT_EQ(ledger.redeem(secret_of(2), at(0)), TokenVerdict::kGood);
  EXPECT_EQ(ledger.redeem(secret_of(2), at(0)), TokenVerdict::kUsedUp);
  EXPECT_EQ(ledger.verify(secret_of(3), at(0)), TokenVerdict::kGood);
  EXPECT_TRUE(ledger.revoke(third));
  EXPECT_EQ(ledger.redeem(secret_of(3), at(0)), TokenVerdict::kRevoked);
  EXPECT_FALSE(ledger.revoke("nobody"));
}

TEST(TokenLedger, SurvivesItsFileWithoutTheSecret) {
  const test_support::TemporaryFolder folder;
  TokenLedger ledger;
  ledger.add(secret_of(0xab), at(24), 2);
  EXPECT_EQ(ledger.redeem(secret_of(0xab), at(0)), TokenVerdict::kGood);
  ASSERT_TRUE(save_tokens(folder.path() + "/tokens.json", ledger).ok());
  auto again = load_tokens(folder.path() + "/tokens.json");
  ASSERT_TRUE(again.ok()) << again.failure().message;
  EXPECT_EQ(again->redeem(secret_of(0xab), at(0)), TokenVerdict::kGood);
  EXPECT_EQ(again->redeem(secret_of(0xab), at(0)), TokenVerdict::kUsedUp);
  EXPECT_EQ(ledger.to_text().find(secret_text(secret_of(0xab))), std::string::npos);
}

TEST(TokenLedger, MissingFileIsEmptyAndADamagedOneIsNamed) {
  const test_support::TemporaryFolder folder;
  EXPECT_TRUE(load_tokens(folder.path() + "/none")->records().empty());
  const auto damaged = TokenLedger::from_text("{\"id\":\"x\"}\n");
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.failure().error, Error::kInvalidData);
}

// The clock ends in 2262. What is later, or no whole number, was not written by this program.
TEST(TokenLedger, RefusesAnExpiryThatNoClockShows) {
  const auto list_with = [](const std::string& expiry, const std::string& uses) {
    return R"({"id":"00000000","secret_sha256":")" + std::string(64, '0') + R"(","expiry":)" + expiry +
           R"(,"uses_max":)" + uses + R"(,"uses":0,"revoked":false})" + "\n";
  };
  EXPECT_TRUE(TokenLedger::from_text(list_with("9000000000", "4294967295")).ok()) << "the control";
  for (const char* expiry : {"10000000000", "-10000000000", "9223372036854775807", "1e300", "18446744073709551615"}) {
    const auto refused = TokenLedger::from_text(list_with(expiry, "0"));
    ASSERT_FALSE(refused.ok()) << expiry;
    EXPECT_EQ(refused.failure().error, Error::kInvalidData);
  }
  for (const char* uses : {"-1", "4294967296", "1.5"}) EXPECT_FALSE(TokenLedger::from_text(list_with("1", uses)).ok());
}

TEST(TokenLedger, ForgetsOnlyWhatExpiredLongAgo) {
  TokenLedger ledger;
  ledger.add(secret_of(1), at(1), 0);
  ledger.add(secret_of(2), at(10), 0);
  ledger.forget_expired_before(at(5));
  ASSERT_EQ(ledger.records().size(), 1u);
  EXPECT_EQ(ledger.verify(secret_of(2), at(0)), TokenVerdict::kGood);
}

}  // namespace
}  // namespace shoal::join_token_test
