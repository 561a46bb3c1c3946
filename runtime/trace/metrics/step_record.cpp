// The JSON of metrics.jsonl: every key in every line, in one order; null for numbers that are not
// finite, and for what nobody measured.
#include "runtime/trace/metrics/step_record.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/text/json_text.h"
#include "runtime/trace/metrics/device_figures.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

using TimePart = std::pair<const char*, double TimeBreakdown::*>;
constexpr TimePart kTimes[] = {{"forward", &TimeBreakdown::forward}, {"backward", &TimeBreakdown::backward},
                               {"wire", &TimeBreakdown::wire},       {"wait", &TimeBreakdown::wait},
                               {"reduce", &TimeBreakdown::reduce},   {"commit", &TimeBreakdown::commit},
                               {"apply", &TimeBreakdown::apply}};

Json to_json(const std::optional<TimeBreakdown>& time) {
  Json json;
  for (const auto& [key, part] : kTimes) json[key] = time ? number((*time).*part) : Json();
  return json;
}

using BytePart = std::pair<const char*, std::uint64_t ByteCounts::*>;
constexpr BytePart kBytes[] = {{"activation", &ByteCounts::activation}, {"gradient", &ByteCounts::gradient},
                               {"reduce", &ByteCounts::reduce},         {"state", &ByteCounts::state},
                               {"checkpoint", &ByteCounts::checkpoint}, {"control", &ByteCounts::control}};

Json to_json(const std::optional<ByteCounts>& bytes) {
  Json json;
  for (const auto& [key, part] : kBytes) json[key] = bytes ? Json((*bytes).*part) : Json();
  return json;
}

// Rounds to so many parts of one.
Json share(std::optional<double> value) {
  constexpr double kParts = 1e5;
  return value ? number(std::round(*value * kParts) / kParts) : Json();
}

// Lists a figure of each replica's device, by stage; null for one that is not known, and where nobody reported.
template <class Figure>
Json by_replica(const std::vector<std::vector<DeviceUse>>& devices, const Figure& figure) {
  if (devices.empty()) return Json();
  Json stages = Json::array();
  for (const auto& stage : devices) {
    Json replicas = Json::array();
    for (const DeviceUse& use : stage) replicas.push_back(figure(figures_of(use)));
    stages.push_back(std::move(replicas));
  }
  return stages;
}

Json to_json(const std::vector<std::vector<DeviceUse>>& devices) {
  const auto bytes = [](std::optional<std::uint64_t> value) { return value ? Json(*value) : Json(); };
  return {{"utilisation", by_replica(devices, [](const DeviceFigures& figures) { return share(figures.utilisation); })},
          {"mfu", by_replica(devices, [](const DeviceFigures& figures) { return share(figures.mfu); })},
          {"used_bytes", by_replica(devices, [&](const DeviceFigures& figures) { return bytes(figures.used_bytes); })},
          {"peak_bytes", by_replica(devices, [&](const DeviceFigures& figures) { return bytes(figures.peak_bytes); })}};
}

// Rounds to the millisecond.
Json seconds(double value) { return number(std::round(value * 1000) / 1000); }

Json rate(std::uint64_t tokens, double seconds) {
  return seconds > 0 ? number(std::round(static_cast<double>(tokens) / seconds * 10) / 10) : Json();
}

Json to_json(const std::optional<GoodputLoss>& loss) {
  const auto part = [&loss](double GoodputLoss::*one) { return loss ? seconds((*loss).*one) : Json(); };
  return {{"first_steps", part(&GoodputLoss::first_steps)},
          {"eventful", part(&GoodputLoss::eventful)},
          {"repeated", part(&GoodputLoss::repeated)},
          {"uneven", part(&GoodputLoss::uneven)}};
}

Json to_json(const SpanSummary& span) {
  const TimeParts& time = span.time;
  const FaultCounts& faults = span.faults;
  return {{"seconds", seconds(span.seconds)},
          {"steps", span.steps},
          {"tokens", span.tokens},
          {"tokens_per_s", rate(span.tokens, span.seconds)},
          {"training_tokens_per_s", rate(span.tokens, time.training)},
          {"goodput", span.goodput ? number(*span.goodput) : Json()},
          {"goodput_lost_s", to_json(span.goodput_loss)},
          {"time_s",
           {{"start", seconds(time.start)},
            {"training", seconds(time.training)},
            {"evaluation", seconds(time.evaluation)},
            {"checkpoint", seconds(time.checkpoint)},
            {"stalled", seconds(time.stalled)},
            {"repeated", seconds(time.repeated)}}},
          {"bytes", to_json(std::optional(span.bytes))},
          {"uncounted_steps", span.uncounted_steps},
          {"checkpoints",
           {{"count", span.checkpoints.count},
            {"bytes", span.checkpoints.bytes},
            {"seconds", seconds(span.checkpoints.seconds)}}},
          {"rounds", span.rounds},
          {"lost_tokens", span.lost_tokens},
          {"approximated", span.approximated},
          {"lines_lost", span.lines_lost},
          {"faults",
           {{"processes", faults.processes},
            {"actors", faults.actors},
            {"spawners", faults.spawners},
            {"rollbacks", faults.rollbacks},
            {"quarantined", faults.quarantined}}}};
}

}  // namespace

std::string with_time(std::string line, WallTime at) {
  ENSURE(line.size() > 2 && line.back() == '}', "a line is an object with keys");
  line.back() = ',';
  return line + R"("at":")" + utc_ms_text(at) + "\"}";
}

std::string with_clock_set(std::string line, double by_ms) {
  ENSURE(line.size() > 2 && line.back() == '}', "a line is an object with keys");
  line.back() = ',';
  return compose(line, R"("clock_set_ms":)", std::llround(by_ms), "}");
}

std::optional<double> tokens_per_s_of(const StepRecord& record) {
  if (record.step_ms <= 0 || record.is_partly_timed) return std::nullopt;
  return 1000.0 * static_cast<double>(record.tokens) / record.step_ms;
}

std::string to_json_line(const StepRecord& record) {
  Json json;
  json["branch"] = record.branch;
  json["step"] = record.step;
  json["loss"] = number(record.loss);
  json["perplexity"] = number(std::exp(record.loss));
  json["grad_norm"] = record.skipped ? Json() : number(record.grad_norm);
  json["lr"] = number(record.lr);
  json["tokens"] = record.tokens;
  json["tokens_total"] = record.tokens_total;
  json["sequences_total"] = record.sequences_total;
  json["step_ms"] = number(record.step_ms);
  const auto tokens_per_s = tokens_per_s_of(record);
  json["tokens_per_s"] = tokens_per_s ? number(*tokens_per_s) : Json();
  json["mfu"] = share(record.mfu);
  json["view"] = record.view;
  json["replicas"] = record.replicas;
  json["microbatches"] = record.microbatches;
  json["retried"] = record.retried;
  json["lost_tokens"] = record.lost_tokens;
  if (record.approximated) json["approximated"] = *record.approximated;
  json["time"] = to_json(record.time);
  json["bytes"] = to_json(record.bytes);
  json["devices"] = to_json(record.devices);
  json["skipped"] = record.skipped ? Json(*record.skipped) : Json(false);
  json["filled"] = record.is_filled;
  return json_text(json);
}

std::string to_json_line(const EvalRecord& record) {
  Json json{{"event", word_of(RunEventKind::kEvaluation)},
            {"step", record.step},
            {"final", record.is_final},
            {"windows", record.windows},
            {"tokens", record.tokens},
            {"val_loss", number(record.val_loss)},
            {"perplexity", number(std::exp(record.val_loss))},
            {"bits_per_byte", number(record.bits_per_byte)},
            {"eval_ms", number(record.eval_ms)}};
  if (record.is_of_agreed) json["weights"] = "agreed";
  return json_text(json);
}

std::string to_json_line(const SummaryRecord& record) {
  return json_text(Json{{"event", word_of(RunEventKind::kSummary)},
                        {"steps", record.steps},
                        {"starts", record.starts},
                        {"life", to_json(record.life)},
                        {"run", to_json(record.run)},
                        {"untold_steps", record.untold_steps}});
}
std::string to_json_line(const EvalProgress&) { return {}; }

std::string to_json_line(const FinalRecord& record) {
  return json_text(Json{{"event", word_of(record.kind)},
                        {"steps", record.steps},
                        {"tokens_total", record.tokens_total},
                        {"goodput", record.goodput ? number(*record.goodput) : Json()},
                        {"lost_tokens", record.lost_tokens},
                        {"weights_sha256", record.weights_sha256.empty() ? Json() : Json(record.weights_sha256)}});
}

std::string to_json_line(const ViewRecord& record) {
  return json_text(Json{{"event", word_of(record.kind)},
                        {"subject", record.change},
                        {"reason", record.reason},
                        {"step", record.step},
                        {"position", record.position}});
}

std::string to_json_line(const RunEvent& event) {
  return json_text(
      Json{{"event", word_of(event.kind)}, {"subject", event.subject}, {"reason", event.reason}, {"step", event.step}});
}

}  // namespace shoal
