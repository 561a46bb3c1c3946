// An exception of the JSON library ends where it is caught here.
#include "runtime/transport/control/token_words.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "runtime/base/compose.h"
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
  return {{"id", line.id},         {"uses", line.uses},   {"uses_max", line.uses_max},   {"uses_left", left},
          {"expiry", line.expiry}, {"state", line.state}, {"standing", line.is_standing}};
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
  const auto seconds = json.find("seconds");
  const auto uses = json.find("uses");
  const bool has_time =
      seconds != json.end() && seconds->is_number_unsigned() && *seconds > 0 && *seconds <= kTokenLifetimeMax.count();
  if (!has_time) return fail(Error::kUsage, compose("'seconds' is not 1 to ", kTokenLifetimeMax.count()));
  const bool has_uses = uses != json.end() && uses->is_number_unsigned() && *uses <= UINT32_MAX;
  if (!has_uses) return fail(Error::kUsage, "'uses' is not 0 (any number) or more");
  return TokenOrder{std::chrono::seconds(seconds->get<std::int64_t>()), uses->get<std::uint32_t>()};
}

std::string new_token_text(const std::string& token) { return Json{{"token", token}}.dump(); }

Result<std::string> parse_new_token(std::string_view body) {
  const auto json = Json::parse(body, nullptr, false);
  const bool is_answer = json.is_object() && json.contains("token") && json["token"].is_string();
  if (!is_answer) return unexpected();
  return json["token"].get<std::string>();
}

TokenLine line_of(const TokenRecord& record, bool is_standing, WallTime now) {
  return {record.id,  record.uses, record.uses_max, utc_text(record.expiry), state_text(verdict_of(record, now)),
          is_standing};
}

std::string tokens_json(const std::vector<TokenLine>& lines) { return json_of(lines).dump(1); }

std::string tokens_text(const std::vector<TokenLine>& lines) { return json_text(Json{{"tokens", json_of(lines)}}); }

Result<std::vector<TokenLine>> parse_tokens(std::string_view body) {
  try {
    std::vector<TokenLine> lines;
    const Json json = Json::parse(body);
    for (const Json& one : json.at("tokens")) {
      lines.push_back(
          {one.at("id"), one.at("uses"), one.at("uses_max"), one.at("expiry"), one.at("state"), one.at("standing")});
    }
    return lines;
  } catch (const Json::exception&) {
    return unexpected();
  }
}

std::string token_id_text(const std::string& id) { return json_text(Json{{"id", id}}); }

Result<std::string> parse_token_id(std::string_view body) {
  const auto json = Json::parse(body, nullptr, false);
  const bool is_order = json.is_object() && json.contains("id") && json["id"].is_string();
  if (!is_order) return fail(Error::kUsage, "the order has no text 'id'");
  return json["id"].get<std::string>();
}

}  // namespace shoal
