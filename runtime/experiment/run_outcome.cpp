// A resumed run goes back to a checkpoint and writes later steps again, so that later lines replace earlier ones.
#include "runtime/experiment/run_outcome.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "messages/values/run_events.h"
#include "runtime/base/text/json_fields.h"

namespace shoal {
namespace {

using Json = nlohmann::json;

double number_of(const Json& json, const char* key) { return number_field(json, key).value_or(0); }

std::uint64_t count_of(const Json& json, const char* key) { return count_field(json, key).value_or(0); }

void take_evaluation(const Json& json, RunOutcome& out) {
  if (!json["val_loss"].is_number() || !json.contains("step")) return;
  const bool is_final = json.contains("final") && json["final"] == true;
  const RunEvaluation read{count_of(json, "step"), number_of(json, "val_loss"), number_of(json, "bits_per_byte"),
                           is_final};
  std::erase_if(out.evaluations, [&read](const RunEvaluation& known) {
    return known.step > read.step || (known.step == read.step && known.is_final == read.is_final);
  });
  out.evaluations.push_back(read);
}

// Takes the last evaluation for the final one when it is of the last step, as old files do not say which is final.
void take_end(const Json& json, RunOutcome& out) {
  out.finished_step = count_of(json, "steps");
  if (out.evaluations.empty()) return;
  RunEvaluation& last = out.evaluations.back();
  last.is_final = last.is_final || last.step == *out.finished_step;
}

}  // namespace

void OutcomeReader::add(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return;
  const auto event = run_event_kind(text_field(json, "event").value_or(""));
  outcome_.finished_step.reset();
  if (event == RunEventKind::kFinished) take_end(json, outcome_);
  if (json.contains("val_loss")) take_evaluation(json, outcome_);
  if (json.contains("tokens_total")) outcome_.tokens = count_of(json, "tokens_total");
  const std::string subject = text_field(json, "subject").value_or("");
  if (event == RunEventKind::kRound && subject.starts_with("stage 0 ")) rounds_.insert(subject);
  outcome_.rounds = rounds_.size();
}

}  // namespace shoal
