// Names the file in which no step has times. Who computed is told by the steps themselves: a single process has the
// pipeline of the run that it is the reference of in its configuration, and a run may have fewer replicas than it
// wants.
#include "launch/commands/plan/measured.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "launch/processes/run_directory.h"
#include "runtime/cluster/replicas_wanted.h"
#include "runtime/trace/metrics/metrics_lines.h"

namespace shoal {
namespace {

// Counts replicas per step, of those steps that had as many stages as the latest. Takes a file of any length.
class ReplicasReader {
 public:
  void add(std::string_view line) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step_ms") || !json.contains("replicas")) return;
    const auto& replicas = json["replicas"];
    const auto is_count = [](const nlohmann::json& count) { return count.is_number_unsigned(); };
    if (!replicas.is_array() || !std::ranges::all_of(replicas, is_count)) return;
    if (replicas.size() != stages_) steps_with_.clear();
    stages_ = replicas.size();
    std::uint64_t total = 0;
    for (const auto& count : replicas) total += count.get<std::uint64_t>();
    ++steps_with_[total];
  }

  // Nothing where no step tells.
  [[nodiscard]] std::optional<std::uint64_t> median() const {
    std::uint64_t steps = 0;
    for (const auto& [total, count] : steps_with_) steps += count;
    std::uint64_t seen = 0;
    for (const auto& [total, count] : steps_with_) {
      seen += count;
      if (2 * seen > steps) return total > 0 ? std::optional(total) : std::nullopt;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_of_one_process() const { return stages_ == 1 && median() == 1U; }

 private:
  std::size_t stages_ = 0;
  std::map<std::uint64_t, std::uint64_t> steps_with_;  // so many replicas
};

void make_single(PipelineConfig& pipeline) {
  pipeline.stages = 1;
  pipeline.cut = Cut::kAuto;
  pipeline.cut_listed.clear();
  pipeline.replicas = 1;
  pipeline.replicas_listed.clear();
}

}  // namespace

Result<MeasuredRun> measured_run(const std::string& directory) {
  const auto config = read_run_config(directory);
  if (!config) return config.failure();
  const std::string path = RunDirectory{directory}.metrics();
  StepTimesReader times;
  ReplicasReader replicas;
  const auto read = read_metrics_lines(path, [&](std::string_view line) {
    times.add(line);
    replicas.add(line);
  });
  if (!read) return read.failure();
  const auto step = times.measured();
  if (!step) return fail(step.failure().error, path + ": " + step.failure().message);
  MeasuredRun run{*config, *step};
  const bool is_single = config->pipeline.stages > 1 && replicas.is_of_one_process();
  if (is_single) make_single(run.config.pipeline);
  const auto& pipeline = run.config.pipeline;
  const std::size_t wanted = replicas_wanted(pipeline).total(static_cast<std::uint32_t>(pipeline.stages));
  run.replicas = static_cast<double>(replicas.median().value_or(wanted));
  return run;
}

}  // namespace shoal
