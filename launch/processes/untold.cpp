// Lines are copied as they are; a torn last one was never whole, and is left out.
#include "launch/processes/untold.h"

#include <filesystem>
#include <sstream>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/trace/metrics/metrics_file.h"

namespace shoal {
namespace {

std::string path_in(const RunDirectory& run) { return (run.root / "untold.jsonl").string(); }

std::vector<std::string> whole_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream rest(text);
  for (std::string line; std::getline(rest, line) && !rest.eof();) lines.push_back(line);
  return lines;
}

bool is_untold(const RunDirectory& run, const StartPoint& start) {
  if (!start.from_checkpoint || start.version == 0) return false;
  return checkpoint_told_by(run.metrics(), start.version) != start.version;
}

}  // namespace

Status leave_untold(const RunDirectory& run, const RunEvent& event, WallTime now) {
  auto file = MetricsFile::open(path_in(run));
  if (!file) return file.failure();
  return file->append(with_time(to_json_line(event), now));
}

Status tell_untold(const RunDirectory& run, const StartPoint& start, WallTime now) {
  const auto left = read_file(path_in(run));
  std::vector<std::string> lines = whole_lines(left ? *left : std::string());
  if (is_untold(run, start)) {
    const RunEvent saved{"checkpoint", compose("step_", start.version),
                         "complete on the disk; the spawner ended before it said so", start.version};
    lines.push_back(with_time(to_json_line(saved), now));
  }
  if (!lines.empty()) {
    auto metrics = MetricsFile::open(run.metrics());
    if (!metrics) return metrics.failure();
    for (const std::string& line : lines) {
      if (Status told = metrics->append(line); !told) return told;
    }
  }
  std::error_code ignored;
  std::filesystem::remove(path_in(run), ignored);
  return Done{};
}

}  // namespace shoal
