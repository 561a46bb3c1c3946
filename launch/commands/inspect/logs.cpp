// `shoal logs`: reads the files of the run directory, so that it also works when nothing of the run is alive any more.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "launch/commands/inspect/inspect.h"
#include "launch/processes/live_run.h"
#include "launch/processes/run_directory.h"
#include "launch/say.h"
#include "messages/printable.h"
#include "runtime/base/arithmetic/nearest.h"
#include "runtime/base/file.h"
#include "runtime/base/text/json_fields.h"
#include "runtime/cluster/operate/log_names.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr auto kLookAgain = std::chrono::milliseconds(200);

// Names of the log files there, without `.log`.
std::vector<std::string> files_in(const RunDirectory& run) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run.root / "logs", error)) {
    if (entry.path().extension() == ".log") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_node(const std::string& file) { return file != "spawner" && file != "storage"; }

// Follows one file: whole lines only, from where it stopped.
class Tail {
 public:
  explicit Tail(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] std::vector<std::string> new_lines(const std::string& who) {
    std::error_code error;
    if (const auto size = fs::file_size(path_, error); !error && size < at_) at_ = 0;  // somebody has cut the file
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at_));
    std::vector<std::string> lines;
    std::string line;
    while (std::getline(file, line) && !file.eof()) {
      at_ += line.size() + 1;
      if (is_line_of(line, who)) lines.push_back(line);
    }
    return lines;
  }

 private:
  std::string path_;
  std::size_t at_ = 0;
};

Failure no_log(const LogsOptions& options, const std::vector<std::string>& there) {
  std::string list;
  for (const std::string& file : there) list += " " + file;
  return fail(Error::kUsage,
              compose("no log of '", options.name, "' in ", options.run_directory, did_you_mean(options.name, there),
                      "; there are logs of:", list.empty() ? " nobody" : list));
}

// Returns whether a process of that name was ever in the run. Reads from the end.
bool has_joined(const RunDirectory& run, const std::string& name) {
  bool is_told = false;
  const auto file = open_input(run.metrics());
  if (!file) return false;
  (void)read_lines_back(*file, [&](std::string_view line) {
    if (!line.starts_with(R"({"event":"joined",)")) return false;
    is_told = text_field(nlohmann::json::parse(line, nullptr, false), "subject") == name;
    return is_told;
  });
  return is_told;
}

// Refuses a worker that its keeper never had: the lines of its log are of others.
Status check_was_there(const RunDirectory& run, const LogsOptions& options, const std::vector<std::string>& nodes) {
  const auto worker = worker_in_log_of_keeper(options.name, nodes);
  if (!worker || has_joined(run, *worker)) return Done{};
  const std::string keeper = worker->substr(0, worker->find(':'));
  return fail(Error::kUsage, compose("no worker ", *worker, " has joined the run in ", options.run_directory,
                                     "; what all workers of ", keeper, " write is in the log of ", keeper));
}

}  // namespace

Result<int> run_logs(const LogsOptions& options) {
  const RunDirectory run{options.run_directory};
  const auto config = read_run_config(options.run_directory);
  if (!config) return config.failure();
  const auto there = files_in(run);
  std::vector<std::string> nodes;
  std::copy_if(there.begin(), there.end(), std::back_inserter(nodes), is_node);
  const LogPlace place = log_place(options.name, nodes);
  const bool is_there = std::ranges::any_of(
      place.files, [&](const std::string& file) { return std::binary_search(there.begin(), there.end(), file); });
  if (Status known = is_there ? check_was_there(run, options, nodes) : Done{}; !known) return known.failure();
  std::map<std::string, Tail> tails;
  for (const std::string& file : place.files) {
    if (std::binary_search(there.begin(), there.end(), file)) tails.emplace(file, Tail(run.log_of(file)));
  }
  const auto print_new_lines = [&] {
    std::map<std::string, std::vector<std::string>> lines;
    for (auto& [file, tail] : tails) lines[file] = tail.new_lines(place.who);
    const auto merged = in_order_of_time(lines);
    for (const LogLine& line : merged) {
      print(tails.size() == 1 ? "" : line.file + "  ", printable(line.text, TextShape::kLines), "\n");
    }
    std::fflush(stdout);
    return merged.size();
  };
  if (print_new_lines() == 0) {
    if (tails.empty() || !is_planned(options.name, config->pipeline, there)) return no_log(options, there);
    say(options.name, " has written nothing to its log yet");
  }
  while (options.follow && has_reader()) {
    const bool is_over = is_run_over(options.run_directory);  // first: what is printed then is all there will be
    if (print_new_lines() == 0 && is_over) break;
    std::this_thread::sleep_for(kLookAgain);
  }
  return 0;
}

}  // namespace shoal
