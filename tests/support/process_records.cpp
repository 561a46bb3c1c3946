// Tells the kinds of lines apart by their keys.
#include "tests/support/process_records.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/text/json_fields.h"

namespace shoal {
namespace {

using Json = nlohmann::json;

// Non-finite numbers are null in the file, and so are values that were not measured.
double number(const Json& json, const char* key) { return json.at(key).is_null() ? 0 : json.at(key).get<double>(); }

StepLine step_line(const Json& json, const std::string& text) {
  StepLine line{json.at("step").get<std::uint64_t>(),
                number(json, "loss"),
                number(json, "lr"),
                number(json, "grad_norm"),
                number(json, "step_ms"),
                0,
                text};
  for (const auto& part : json.at("time")) line.time_ms += part.is_null() ? 0 : part.get<double>();
  return line;
}

void add_event(RunRecords& records, const Json& json, const std::string& text) {
  const auto event = json.at("event").get<std::string>();
  if (event == "eval") {
    records.evaluations.push_back({json.at("step").get<std::uint64_t>(), number(json, "val_loss"),
                                   json.at("final").get<bool>(), json.at("windows").get<std::uint64_t>(),
                                   json.at("tokens").get<std::uint64_t>()});
  } else if (event == "summary") {
    records.summaries.push_back(text);
  } else if (json.contains("weights_sha256")) {
    records.finals.push_back({event, json.at("steps").get<std::uint64_t>(),
                              json.at("tokens_total").get<std::uint64_t>(),
                              text_field(json, "weights_sha256").value_or(""), text});
  } else {
    records.events.push_back(
        {event, json.at("subject").get<std::string>(), json.at("reason").get<std::string>(), text});
  }
}

void add_line(RunRecords& records, const std::string& text) {
  try {
    const auto json = Json::parse(text);
    if (json.contains("event")) {
      add_event(records, json, text);
    } else {
      records.steps.push_back(step_line(json, text));
    }
  } catch (const Json::exception&) {
    records.damaged.push_back(text);
  }
}

}  // namespace

std::vector<double> RunRecords::losses() const {
  std::vector<double> all;
  for (const auto& line : steps) all.push_back(line.loss);
  return all;
}

std::string RunRecords::weights() const { return finals.empty() ? std::string() : finals.back().weights_sha256; }

RunRecords read_records(const std::filesystem::path& metrics_jsonl) { return RecordsFollower(metrics_jsonl).read(); }

const RunRecords& RecordsFollower::read() {
  std::ifstream file(path_);
  file.seekg(read_);
  for (std::string line; std::getline(file, line) && !file.eof();) {
    read_ += static_cast<std::streamoff>(line.size()) + 1;
    add_line(records_, line);
    records_.last_line = line;
    records_.lines.push_back(std::move(line));
  }
  return records_;
}

}  // namespace shoal
