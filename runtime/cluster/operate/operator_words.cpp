// Checks a stranger's JSON field by field; an exception of the library ends here.
#include "runtime/cluster/operate/operator_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/text/json_fields.h"
#include "runtime/base/text/json_text.h"

namespace shoal {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"exit", "kill", "throw", "freeze"};
constexpr std::string_view kFreezePrefix = "freeze=";

std::optional<InjectKind> kind_named(std::string_view word) {
  const auto found = std::find(kWords.begin(), kWords.end(), word);
  if (found == kWords.end()) return std::nullopt;
  return static_cast<InjectKind>(found - kWords.begin());
}

Result<std::string> text_of_order(const nlohmann::json& json, const char* key) {
  auto text = text_field(json, key);
  if (!text) return fail(Error::kUsage, compose("the order has no text '", key, "'"));
  if (text->empty() || text->size() > kTextBytesMax) {
    return fail(Error::kUsage, compose("'", key, "' of the order has ", text->size(), " bytes; expected 1 to 200"));
  }
  return *std::move(text);
}

// Reads what every order says: the name that it is about, and why.
Result<OperatorOrder> begin_order(const nlohmann::json& json, OperatorVerb verb) {
  if (!json.is_object()) return fail(Error::kUsage, "the order is not a JSON object");
  const auto name = text_of_order(json, "name");
  if (!name) return name.failure();
  const auto reason = text_of_order(json, "reason");
  if (!reason) return reason.failure();
  return OperatorOrder{verb, *name, InjectKind::kExit, 0, *reason, false};
}

}  // namespace

Result<InjectWords> parse_how(std::string_view text) {
  if (text.starts_with(kFreezePrefix)) {
    const std::string_view digits = text.substr(kFreezePrefix.size());
    double seconds = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
    const bool is_number = error == std::errc() && end == digits.data() + digits.size();
    if (is_number && seconds > 0 && seconds * 1000 <= static_cast<double>(kFreezeMsMax)) {
      return InjectWords{InjectKind::kFreeze, static_cast<std::uint64_t>(seconds * 1000 + 0.5)};
    }
  } else if (const auto kind = kind_named(text); kind && *kind != InjectKind::kFreeze) {
    return InjectWords{*kind, 0};
  }
  return fail(Error::kUsage, compose("'", text, "': expected exit, kill, throw, or freeze=S with up to 3600 seconds"));
}

std::string_view word_of(InjectKind how) { return kWords.at(static_cast<std::size_t>(how)); }

std::uint32_t inject_kind_count() { return static_cast<std::uint32_t>(kWords.size()); }

std::string deed_of(InjectKind how, std::uint64_t freeze_ms) {
  switch (how) {
    case InjectKind::kExit: return "told to end";
    case InjectKind::kKill: return "killed";
    case InjectKind::kThrow: return "made to throw";
    case InjectKind::kFreeze: break;
  }
  return compose("frozen for ", static_cast<double>(freeze_ms) / 1000, " s");
}

std::string kill_text(const OperatorOrder& order) {
  return json_text(nlohmann::json{
      {"name", order.name}, {"how", word_of(order.how)}, {"freeze_ms", order.freeze_ms}, {"reason", order.reason}});
}

Result<OperatorOrder> parse_kill(std::string_view body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  auto order = begin_order(json, OperatorVerb::kKill);
  if (!order) return order;
  const auto how = text_of_order(json, "how");
  if (!how) return how.failure();
  const auto kind = kind_named(*how);
  if (!kind)
    return fail(Error::kUsage, compose("'how' of the order is '", *how, "'; expected exit, kill, throw or freeze"));
  const std::uint64_t freeze_ms = count_field(json, "freeze_ms").value_or(0);
  if (freeze_ms > kFreezeMsMax || (*kind == InjectKind::kFreeze) != (freeze_ms > 0)) {
    return fail(Error::kUsage, "'freeze_ms' of the order goes with freeze, 1 to 3600000");
  }
  order->how = *kind;
  order->freeze_ms = freeze_ms;
  return order;
}

std::string drain_text(const OperatorOrder& order) {
  return json_text(nlohmann::json{{"name", order.name}, {"reason", order.reason}});
}

Result<OperatorOrder> parse_drain(std::string_view body) {
  return begin_order(nlohmann::json::parse(body, nullptr, false), OperatorVerb::kDrain);
}

std::string evict_text(const OperatorOrder& order) {
  return json_text(nlohmann::json{{"name", order.name}, {"revoke", order.revoke}, {"reason", order.reason}});
}

Result<OperatorOrder> parse_evict(std::string_view body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  auto order = begin_order(json, OperatorVerb::kEvict);
  if (!order) return order;
  const auto revoke = json.find("revoke");
  if (revoke == json.end() || !revoke->is_boolean()) {
    return fail(Error::kUsage, "the order has no 'revoke' that is true or false");
  }
  order->revoke = revoke->get<bool>();
  return order;
}

std::string done_text(const std::string& sentence) { return json_text(nlohmann::json{{"done", sentence}}); }

Result<std::string> parse_done(std::string_view body) {
  auto done = text_field(nlohmann::json::parse(body, nullptr, false), "done");
  if (!done) return fail(Error::kInternal, "the spawner's answer is not as expected");
  return *std::move(done);
}

}  // namespace shoal
