// An exception of the JSON library ends where it is caught here.
#include "runtime/transport/control/token_words.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/text/json_fields.h"
#include "runtime/base/text/json_text.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

std::string utc_text(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32] = {};
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text, size};
}

std::string state_text(TokenVerdict verdict) {
  switch (verdict) {
    case TokenVerdict::kGood: return "valid";
    case TokenVerdict::kUsedUp: return "used up";
    case TokenVerdict::kExpired: return "expired";
    case TokenVerdict::kRevoked: return "revoked";
    case TokenVerdict::kUnknown: break;
  }
  return "unknown";
}

Json json_of(const TokenLine& line) {
  Json left = nullptr;  // any number
  if (line.uses_max != 0) left = line.uses_max - std::min(line.uses, line.uses_max);
  return {{"id", line.id},         {"uses", line.uses},   {"uses_max", line.uses_max},    {"uses_left", left},
          {"expiry", line.expiry}, {"state", line.state}, {"standing", line.is_standing}, {"by_run", line.is_by_run}};
}

Json json_of(const std::vector<TokenLine>& lines) {
  Json all = Json::array();
  for (const TokenLine& line : lines) all.push_back(json_of(line));
  return all;
}

Failure unexpected() { return fail(Error::kInternal, "the spawner's answer is not as expected"); }

}  // namespace

std::string token_order_text(const TokenOrder& order) {
  return Json{{"seconds", order.lifetime.count()}, {"uses", order.uses}}.dump();
}

Result<TokenOrder> parse_token_order(std::string_view body) {
  const auto json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return fail(Error::kUsage, "the order is not a JSON object");
  const auto seconds = count_field(json, "seconds");
  const auto uses = count_field(json, "uses");
  const bool has_time = seconds && *seconds > 0 && std::cmp_less_equal(*seconds, kTokenLifetimeMax.count());
  if (!has_time) return fail(Error::kUsage, compose("'seconds' is not 1 to ", kTokenLifetimeMax.count()));
  if (!uses || *uses > UINT32_MAX) return fail(Error::kUsage, "'uses' is not 0 (any number) or more");
  return TokenOrder{std::chrono::seconds(*seconds), static_cast<std::uint32_t>(*uses)};
}

std::string new_token_text(const std::string& token) { return Json{{"token", token}}.dump(); }

Result<std::string> parse_new_token(std::string_view body) {
  auto token = text_field(Json::parse(body, nullptr, false), "token");
  if (!token) return unexpected();
  return *std::move(token);
}

TokenLine line_of(const TokenRecord& record, bool is_standing, WallTime now) {
  return {record.id,
          record.uses,
          record.uses_max,
          utc_text(record.expiry),
          state_text(verdict_of(record, now)),
          is_standing,
          record.origin == TokenOrigin::kRun};
}

std::string state_words(const TokenLine& line) {
  if (line.is_standing) return line.state + ", in certs/join_token";
  return line.state + (line.is_by_run ? ", was in certs/join_token" : "");
}

std::string tokens_json(const std::vector<TokenLine>& lines) { return json_of(lines).dump(1); }

std::string tokens_text(const std::vector<TokenLine>& lines) { return json_text(Json{{"tokens", json_of(lines)}}); }

Result<std::vector<TokenLine>> parse_tokens(std::string_view body) {
  try {
    std::vector<TokenLine> lines;
    const Json json = Json::parse(body);
    for (const Json& one : json.at("tokens")) {
      lines.push_back({one.at("id"), one.at("uses"), one.at("uses_max"), one.at("expiry"), one.at("state"),
                       one.at("standing"), one.value("by_run", false)});  // a spawner of an older version does not say
    }
    return lines;
  } catch (const Json::exception&) {
    return unexpected();
  }
}

std::string token_id_text(const std::string& id) { return json_text(Json{{"id", id}}); }

Result<std::string> parse_token_id(std::string_view body) {
  auto id = text_field(Json::parse(body, nullptr, false), "id");
  if (!id) return fail(Error::kUsage, "the order has no text 'id'");
  return *std::move(id);
}

}  // namespace shoal
