// A line that is damaged tells of no branch.
#include "runtime/trace/metrics/branches/branch_record.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "messages/values/run_events.h"
#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/text/json_text.h"
#include "runtime/trace/metrics/branches/branch_search.h"
#include "runtime/trace/metrics/metrics_lines.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBegin = "{\"event\":\"branch\",";

std::optional<BranchRecord> record_in(std::string_view line) {
  if (!line.starts_with(kBegin)) return std::nullopt;
  try {
    const Json json = Json::parse(line);
    BranchRecord record;
    record.name = json.at("subject").get<std::string>();
    record.branch = Branch{json.at("branch").get<std::uint32_t>()};
    record.step = json.at("step").get<std::uint64_t>();
    record.corpus_sha256 = json.at("corpus_sha256").get<std::string>();
    for (const Json& change : json.at("changes")) {
      record.changes.push_back({change.at("key").get<std::string>(), change.at("was").get<std::string>(),
                                change.at("now").get<std::string>()});
    }
    return record;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string text_of(const std::vector<KeyChange>& changes) {
  if (changes.empty()) return "nothing is set otherwise";
  std::string text;
  for (const KeyChange& change : changes) {
    text += compose(text.empty() ? "" : ", ", change.key, " = ", change.now, " (was ", change.was, ")");
  }
  return text;
}

std::string to_json_line(const BranchRecord& record) {
  Json changes = Json::array();
  for (const KeyChange& change : record.changes) {
    changes.push_back(Json{{"key", change.key}, {"was", change.was}, {"now", change.now}});
  }
  const std::string reason =
      compose("from step ", record.step, ", as branch ", record.branch, ": ", text_of(record.changes));
  return json_text(Json{{"event", word_of(RunEventKind::kBranch)},
                        {"subject", record.name},
                        {"reason", reason},
                        {"step", record.step},
                        {"branch", record.branch.value},
                        {"changes", changes},
                        {"corpus_sha256", record.corpus_sha256}});
}

std::vector<BranchRecord> branches_told_by(const std::string& path) {
  std::vector<BranchRecord> told;
  const auto file = open_input(path);
  if (!file) return told;
  (void)read_between_branches_back(*file, [&told](std::string_view line) {
    if (auto record = record_in(line)) told.push_back(std::move(*record));
  });
  return told;
}

std::optional<BranchRecord> branch_without_steps(const std::string& path) {
  std::optional<BranchRecord> newest;
  const auto file = open_input(path);
  if (!file) return newest;
  (void)read_lines_back(*file, [&newest](std::string_view line) {
    newest = record_in(line);
    return newest.has_value() || line.starts_with(kStepLineBegin);
  });
  return newest;
}

}  // namespace shoal
