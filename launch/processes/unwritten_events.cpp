// Lines are copied as they are; a torn last one was never whole, and is left out.
#include "launch/processes/unwritten_events.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <variant>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/text/json_fields.h"
#include "runtime/trace/metrics/line_facts.h"
#include "runtime/trace/metrics/metrics_file.h"
#include "runtime/trace/metrics/run_summary.h"

namespace shoal {
namespace {

std::string path_in(const RunDirectory& run) { return (run.root / "untold.jsonl").string(); }

std::vector<std::string> whole_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream rest(text);
  for (std::string line; std::getline(rest, line) && !rest.eof();) lines.push_back(line);
  return lines;
}

Status append_to(const RunDirectory& run, const std::string& line) {
  auto metrics = MetricsFile::open(run.metrics());
  return metrics ? metrics->append(line) : Status(metrics.failure());
}

// Returns the line of the summary that goes before this one; nothing: it ends no run.
std::optional<std::string> summary_before(const RunDirectory& run, const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const auto step = count_field(json, "step");
  if (!step || run_event_kind(text_field(json, "event").value_or("")) != RunEventKind::kFailed) return std::nullopt;
  const auto facts = facts_of(line);
  const auto* event = std::get_if<EventFacts>(&facts);
  if (event == nullptr || !event->at) return std::nullopt;
  SummaryReader lines(run.metrics());
  return with_time(to_json_line(lines.read_all().of(*step, *event->at)), *event->at);
}

bool is_unwritten(const RunDirectory& run, const StartPoint& start) {
  if (!start.from_checkpoint || start.version == 0) return false;
  return checkpoint_told_by(run.metrics(), start.version) != start.version;
}

}  // namespace

Status leave_unwritten(const RunDirectory& run, const RunEvent& event, WallTime now) {
  auto file = MetricsFile::open(path_in(run));
  if (!file) return file.failure();
  return file->append(with_time(to_json_line(event), now));
}

Status tell_left(const RunDirectory& run) {
  const auto left = read_file(path_in(run));
  for (const std::string& line : whole_lines(left ? *left : std::string())) {
    const auto summary = summary_before(run, line);
    if (summary && end_told_by(run.metrics()) == RunEventKind::kFailed) continue;
    if (summary) {
      if (Status told = append_to(run, *summary); !told) return told;
    }
    if (Status told = append_to(run, line); !told) return told;
  }
  std::error_code ignored;
  std::filesystem::remove(path_in(run), ignored);
  return Done{};
}

Status tell_unwritten(const RunDirectory& run, const StartPoint& start, WallTime now) {
  if (Status told = tell_left(run); !told) return told;
  if (!is_unwritten(run, start)) return Done{};
  const RunEvent saved{RunEventKind::kCheckpoint, compose("step_", start.version),
                       "complete on the disk; the spawner ended before it said so", start.version};
  return append_to(run, with_time(to_json_line(saved), now));
}

}  // namespace shoal
