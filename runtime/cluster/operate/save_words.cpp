// Reads what a stranger may have written field by field.
#include "runtime/cluster/operate/save_words.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/base/compose.h"
#include "runtime/base/text/json_fields.h"
#include "runtime/base/text/json_text.h"
#include "runtime/cluster/operate/operator_words.h"

namespace shoal {
namespace {

constexpr std::array<std::string_view, 3> kStages = {"ordered", "saved", "failed"};

std::optional<SaveGoal> goal_in(const nlohmann::json& json) {
  const auto step = count_field(json, "step");
  const auto branch = count_field(json, "branch");
  if (!step || !branch || *branch > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return SaveGoal{*step, Branch{static_cast<std::uint32_t>(*branch)}};
}

}  // namespace

std::string save_request_text(const SaveRequest& request) {
  nlohmann::json json{{"reason", request.reason}};
  if (request.goal) json["step"] = request.goal->step, json["branch"] = request.goal->branch.value;
  return json_text(json);
}

Result<SaveRequest> parse_save_request(std::string_view body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object()) return fail(Error::kUsage, "the request is not a JSON object");
  const auto reason = text_field(json, "reason");
  if (!reason || reason->empty() || reason->size() > kTextBytesMax) {
    return fail(Error::kUsage, compose("the request has no text 'reason' of 1 to ", kTextBytesMax, " bytes"));
  }
  const auto goal = goal_in(json);
  const bool names_one = json.contains("step") || json.contains("branch");
  if (names_one && !goal) return fail(Error::kUsage, "'step' and 'branch' of the request are numbers, and go together");
  return SaveRequest{*reason, goal};
}

std::string save_answer_text(const SaveAnswer& answer) {
  return json_text(nlohmann::json{{"checkpoint", kStages.at(static_cast<std::size_t>(answer.stage))},
                                  {"step", answer.goal.step},
                                  {"branch", answer.goal.branch.value},
                                  {"text", answer.text}});
}

Result<SaveAnswer> parse_save_answer(std::string_view body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  const auto word = text_field(json, "checkpoint");
  const auto text = text_field(json, "text");
  const auto goal = goal_in(json);
  const auto stage = word ? std::find(kStages.begin(), kStages.end(), *word) : kStages.end();
  if (stage == kStages.end() || !text || !goal)
    return fail(Error::kInternal, "the spawner's answer is not as expected");
  return SaveAnswer{OperatorVerdict::kDone, *goal, static_cast<SaveStage>(stage - kStages.begin()), *text};
}

}  // namespace shoal
