// Tests the words about tokens: a person's requests, and what is shown of them.
#include "runtime/transport/control/token_words.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace shoal::token_words_test {
namespace {

const WallTime kNow(std::chrono::seconds(1'800'000'000));  // 2027-01-15T08:00:00Z

TokenRecord record(std::uint32_t uses_max, std::uint32_t uses, bool is_revoked, int hours_left) {
  return {"1a2b3c4d", std::string(64, '0'), kNow + std::chrono::hours(hours_left), uses_max, uses,
          is_revoked, TokenOrigin::kPerson};
}

TEST(TokenWords, AnOrderSurvivesItsText) {
  const auto order = parse_token_order(token_order_text({std::chrono::seconds(90), 3}));
  ASSERT_TRUE(order.ok()) << order.failure().message;
  EXPECT_EQ(order->lifetime, std::chrono::seconds(90));
  EXPECT_EQ(order->uses, 3U);
}

TEST(TokenWords, WhatIsNoOrderIsNamed) {
  for (const auto& [body, named] :
       std::vector<std::pair<std::string, std::string>>{{"", "JSON"},
                                                        {"[]", "JSON"},
                                                        {R"({"uses":1})", "'seconds'"},
                                                        {R"({"seconds":0,"uses":1})", "'seconds'"},
                                                        {R"({"seconds":-5,"uses":1})", "'seconds'"},
                                                        {R"({"seconds":31536001,"uses":1})", "'seconds'"},
                                                        {R"({"seconds":60})", "'uses'"},
                                                        {R"({"seconds":60,"uses":4294967296})", "'uses'"},
                                                        {R"({"seconds":60,"uses":"many"})", "'uses'"}}) {
    const auto order = parse_token_order(body);
    ASSERT_FALSE(order.ok()) << body;
    EXPECT_EQ(order.failure().error, Error::kUsage);
    EXPECT_NE(order.failure().message.find(named), std::string::npos) << order.failure().message;
  }
  EXPECT_TRUE(parse_token_order(R"({"seconds":31536000,"uses":0})").ok()) << "the control";
}

TEST(TokenWords, ALineSaysWhatIsLeftAndWhyNot) {
  EXPECT_EQ(line_of(record(3, 1, false, 1), false, kNow).state, "valid");
  EXPECT_EQ(line_of(record(0, 99, false, 1), false, kNow).state, "valid");
  EXPECT_EQ(line_of(record(3, 3, false, 1), false, kNow).state, "used up");
  EXPECT_EQ(line_of(record(3, 1, false, 0), false, kNow).state, "expired");
  EXPECT_EQ(line_of(record(3, 3, true, -1), false, kNow).state, "revoked");
  EXPECT_EQ(line_of(record(3, 1, false, 1), false, kNow).expiry, "2027-01-15T09:00:00Z");
}

// A renewal, or a start of the spawner, puts another one into the file; the one before is as good as ever.
TEST(TokenWords, ALineSaysWhichOfTheRunsOwnIsInTheFileAndWhichWas) {
  TokenRecord own = record(0, 0, false, 1);
  own.origin = TokenOrigin::kRun;
  EXPECT_EQ(state_words(line_of(own, true, kNow)), "valid, in certs/join_token");
  EXPECT_EQ(state_words(line_of(own, false, kNow)), "valid, was in certs/join_token");
  own.is_revoked = true;
  EXPECT_EQ(state_words(line_of(own, false, kNow)), "revoked, was in certs/join_token");
  EXPECT_EQ(state_words(line_of(record(0, 0, false, 1), false, kNow)), "valid") << "the control: a person's";
}

TEST(TokenWords, ALineSurvivesItsText) {
  TokenRecord own = record(0, 0, false, 1);
  own.origin = TokenOrigin::kRun;
  const std::vector<TokenLine> lines = {line_of(record(3, 1, false, 1), false, kNow),
                                        line_of(record(0, 7, false, 1), true, kNow), line_of(own, false, kNow)};
  const auto read = parse_tokens(tokens_text(lines));
  ASSERT_TRUE(read.ok()) << read.failure().message;
  ASSERT_EQ(read->size(), 3U);
  EXPECT_EQ(tokens_json(*read), tokens_json(lines));
  const auto json = nlohmann::json::parse(tokens_json(lines));
  EXPECT_EQ(json[0]["uses_left"], 2);
  EXPECT_TRUE(json[1]["uses_left"].is_null()) << "any number";
  EXPECT_EQ(json[1]["standing"], true);
  EXPECT_EQ(json[1]["by_run"], false) << "the record says that a person has made it";
  EXPECT_EQ(json[2]["by_run"], true);
  EXPECT_FALSE(parse_tokens("{}").ok());
  const auto of_older =
      parse_tokens(R"({"tokens":[{"id":"1a","uses":0,"uses_max":0,"expiry":"","state":"valid","standing":false}]})");
  ASSERT_TRUE(of_older.ok()) << "a spawner that does not say who made it";
  EXPECT_FALSE(of_older->front().is_by_run);
}

}  // namespace
}  // namespace shoal::token_words_test
