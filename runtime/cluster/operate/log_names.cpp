// Names are those of targets.h.
#include "runtime/cluster/operate/log_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>

#include "runtime/cluster/replicas_wanted.h"

namespace shoal {
namespace {

constexpr std::array<std::string_view, 4> kOfTheSpawner = {"supervisor", "metrics", "control", "data_loader"};

// A number from 0 to below `count`, as a person writes it.
bool is_below(std::string_view text, int count) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_plain = error == std::errc() && end == text.data() + text.size() && text == std::to_string(number);
  return is_plain && number >= 0 && number < count;
}

bool is_index(std::string_view text) { return is_below(text, std::numeric_limits<int>::max()); }

// node2:1 writes into node2-1 where logs are sent to the run, else with the other workers of its keeper into node2.
std::string file_of(std::string_view worker, const std::vector<std::string>& files) {
  const std::size_t colon = worker.find(':');
  if (colon == std::string_view::npos || !is_index(worker.substr(colon + 1))) return std::string(worker);
  const std::string keeper(worker.substr(0, colon));
  if (worker.substr(colon + 1) == "0") return keeper;
  const std::string own = keeper + "-" + std::string(worker.substr(colon + 1));
  const bool has_own = std::ranges::any_of(files, [&](std::string_view file) {
    return file.starts_with(keeper + "-") && is_index(file.substr(keeper.size() + 1));
  });
  return has_own ? own : keeper;
}

bool is_planned_replica(std::string_view place, const PipelineConfig& pipeline) {
  const std::size_t slash = place.find('/');
  if (slash == std::string_view::npos || !is_below(place.substr(0, slash), pipeline.stages)) return false;
  std::uint32_t stage = 0;
  std::from_chars(place.data(), place.data() + slash, stage);
  return is_below(place.substr(slash + 1), static_cast<int>(replicas_wanted(pipeline).of(StageId{stage})));
}

}  // namespace

bool is_planned(std::string_view name, const PipelineConfig& pipeline, const std::vector<std::string>& files) {
  const auto has_file = [&](std::string_view process) {
    return std::find(files.begin(), files.end(), file_of(process, files)) != files.end();
  };
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) {
    const bool is_own = std::find(kOfTheSpawner.begin(), kOfTheSpawner.end(), name) != kOfTheSpawner.end();
    return is_own || has_file(name);
  }
  const std::string_view kind = name.substr(0, slash);
  const std::string_view place = name.substr(slash + 1);
  if (kind == "stage") return is_planned_replica(place, pipeline);
  if (kind == "sync_group") return is_below(place, pipeline.stages);
  return (kind == "router" || kind == "tracer" || kind == "node_agent") && has_file(place);
}

std::optional<std::string> worker_in_log_of_keeper(std::string_view name, const std::vector<std::string>& files) {
  const std::string_view worker = name.substr(name.find('/') + 1);
  const std::size_t colon = worker.find(':');
  const bool is_of_stage = name.starts_with("stage/") || name.starts_with("sync_group/");
  if (is_of_stage || colon == std::string_view::npos || worker.substr(colon + 1) == "0") return std::nullopt;
  return file_of(worker, files) == worker.substr(0, colon) ? std::optional(std::string(worker)) : std::nullopt;
}

LogPlace log_place(std::string_view name, const std::vector<std::string>& nodes) {
  const std::size_t slash = name.find('/');
  const std::string_view kind = name.substr(0, slash);
  const bool is_own = std::find(kOfTheSpawner.begin(), kOfTheSpawner.end(), kind) != kOfTheSpawner.end();
  if (is_own || kind == "sync_group") return {{"spawner"}, std::string(name)};
  if (kind == "storage") return {{"storage"}, slash == std::string_view::npos ? "" : "storage"};
  if (slash == std::string_view::npos) return {{file_of(name, nodes)}, ""};
  if (kind == "stage") return {nodes, std::string(name)};
  return {{file_of(name.substr(slash + 1), nodes)}, std::string(kind)};
}

bool is_line_of(std::string_view line, std::string_view who) {
  for (std::size_t at = line.find(who); !who.empty() && at != std::string_view::npos; at = line.find(who, at + 1)) {
    const auto is_word = [&](std::size_t index) {
      return index < line.size() && (std::isalnum(static_cast<unsigned char>(line[index])) != 0 || line[index] == '_');
    };
    if ((at == 0 || !is_word(at - 1)) && !is_word(at + who.size())) return true;
  }
  return who.empty();
}

namespace {

// As the log writes it: 2026-01-01T00:00:00.000Z.
bool begins_with_time(std::string_view line) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z";
  const auto fits = [](char is, char form) {
    return form == '0' ? std::isdigit(static_cast<unsigned char>(is)) != 0 : is == form;
  };
  return line.size() >= kForm.size() &&
         std::equal(kForm.begin(), kForm.end(), line.begin(), [&](char form, char is) { return fits(is, form); });
}

}  // namespace

std::vector<LogLine> in_order_of_time(const std::map<std::string, std::vector<std::string>>& lines) {
  std::vector<std::pair<std::string_view, LogLine>> timed;  // by the text of its time
  for (const auto& [file, texts] : lines) {
    std::string_view time;
    for (const std::string& text : texts) {
      if (begins_with_time(text)) time = std::string_view(text).substr(0, text.find(' '));
      timed.emplace_back(time, LogLine{file, text});
    }
  }
  std::ranges::stable_sort(timed, {}, &std::pair<std::string_view, LogLine>::first);
  std::vector<LogLine> merged;
  for (auto& [time, line] : timed) merged.push_back(std::move(line));
  return merged;
}

}  // namespace shoal
