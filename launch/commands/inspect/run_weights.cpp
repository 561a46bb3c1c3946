// Reads metrics.jsonl and manifests.
#include "launch/commands/inspect/run_weights.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "launch/processes/run_directory.h"
#include "runtime/base/compose.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "runtime/base/text/json_fields.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/trace/metrics/metrics_lines.h"

namespace shoal {
namespace {

using Weights = std::map<std::uint64_t, std::string>;

// A line that is no JSON is left out: the file's own reader says so elsewhere.
void add_final_line(std::string_view line, Weights& found) {
  if (line.find("\"weights_sha256\"") == std::string_view::npos) return;
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const auto steps = count_field(json, "steps");
  const auto weights = text_field(json, "weights_sha256");
  if (steps && weights && !weights->empty()) found[*steps] = *weights;
}

void add_checkpoints(const std::filesystem::path& folder, const std::string& run, Weights& found) {
  for (const std::uint64_t step : list_checkpoints(folder, run, Damaged::kLeftOut)) {
    const auto manifest = read_manifest(checkpoint_folder(folder, step));
    if (manifest) found.try_emplace(manifest->step, manifest->weights_sha256);
  }
}

}  // namespace

Result<Weights> weights_of_run(const std::string& run_directory) {
  if (Status there = check_is_there(run_directory); !there) return there.failure();
  const RunDirectory run{run_directory};
  Weights found;
  (void)read_metrics_lines(run.metrics(), [&found](std::string_view line) { add_final_line(line, found); });
  std::filesystem::path checkpoints = run.root / "checkpoints";
  if (const auto text = read_file(run.config())) {
    const auto config = parse_config(*text, run.config());
    if (config) checkpoints = run.checkpoints(*config);
  }
  add_checkpoints(checkpoints, id_of(run), found);
  if (!found.empty()) return found;
  return fail(Error::kInvalidData, compose(run_directory,
                                           " has neither a final line in metrics.jsonl nor a checkpoint: "
                                           "its weights are not known"));
}

Result<WeightsComparison> compare_weights(const std::string& run_directory, const std::string& against_directory) {
  const auto own = weights_of_run(run_directory);
  if (!own) return own.failure();
  const auto other = weights_of_run(against_directory);
  if (!other) return other.failure();
  WeightsComparison out;
  for (const auto& [steps, weights] : *own) {
    const auto same = other->find(steps);
    if (same == other->end()) continue;
    out.steps = steps;
    ++out.compared_count;
    if (weights == same->second) continue;
    out.difference = compose("after ", steps, " steps: ", weights, " here, ", same->second, " there");
    return out;
  }
  if (out.compared_count > 0) return out;
  return fail(Error::kInvalidData,
              compose("the runs have no number of steps in common at which both have weights: here ",
                      own->rbegin()->first, ", there ", other->rbegin()->first));
}

}  // namespace shoal
