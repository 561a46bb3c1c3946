// Compares what diverged with what the state was trained with.
#include "launch/branches/branch_advice.h"

#include <algorithm>
#include <iomanip>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/compose.h"
#include "runtime/base/config_keys.h"
#include "runtime/base/file.h"
#include "runtime/base/text/json_fields.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/base/text/shell_word.h"
#include "runtime/journal/divergence.h"
#include "runtime/trace/metrics/metrics_lines.h"

namespace shoal {
namespace {

constexpr double kUsualClip = 1.0;
constexpr double kMuch = 10;
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();  // null in a line

// Rounds to three digits, as a person would write it.
double rounded(double value) {
  std::ostringstream text;
  text << std::setprecision(3) << value;
  return std::stod(text.str());
}

// Says whether one of the branches has a lower rate than what it goes on from.
bool has_lowered_rate(const std::vector<BranchRecord>& told) {
  const auto lowers = [](const KeyChange& change) {
    const ConfigKey* key = find_config_key(change.key);
    if (key == nullptr || change.key != "optim.lr") return false;
    const auto was = parse_value(*key, change.was);
    const auto now = parse_value(*key, change.now);
    return was && now && std::get<double>(*now) < std::get<double>(*was);
  };
  return std::ranges::any_of(told, [&](const BranchRecord& one) { return std::ranges::any_of(one.changes, lowers); });
}

// Skipped steps that end a run.
struct SkippedSteps {
  std::uint64_t from = 0;  // steps applied before them
  double loss = 0;         // of the last one
};

std::optional<SkippedSteps> last_skipped(const std::string& metrics) {
  std::optional<SkippedSteps> skipped;
  const auto file = open_input(metrics);
  if (!file) return skipped;
  (void)read_lines_back(*file, [&skipped](std::string_view line) {
    if (!line.starts_with(kStepLineBegin)) return false;
    const auto json = nlohmann::json::parse(line, nullptr, false);
    const auto step = count_field(json, "step");
    if (!step || !text_field(json, "skipped")) return true;
    const double loss = number_field(json, "loss").value_or(kNotANumber);
    skipped = {*step, skipped ? skipped->loss : loss};
    return false;
  });
  return skipped;
}

std::string text_in(const Config& config, const std::string& key) {
  return toml_text(find_config_key(key)->get(config));
}

}  // namespace

std::optional<std::uint64_t> skipped_from(const std::string& metrics) {
  const auto skipped = last_skipped(metrics);
  return skipped ? std::optional(skipped->from) : std::nullopt;
}

std::optional<std::uint64_t> useless_from(const std::string& metrics) {
  const auto skipped = last_skipped(metrics);
  return skipped && is_of_no_use(skipped->loss) ? std::optional(skipped->from) : std::nullopt;
}

std::vector<KeyChange> advised_changes(const Config& state, const Config& now, const std::vector<BranchRecord>& told) {
  const auto change = [&state](const std::string& key, double value) {
    return KeyChange{key, text_in(state, key), toml_text(rounded(value))};
  };
  const OptimConfig& optim = now.optim;
  const bool has_floor = optim.schedule != LearningRateSchedule::kConstant;
  if (has_floor && optim.min_lr > optim.lr) return {change("optim.min_lr", optim.lr / kMuch)};
  if (optim.clip_norm == 0) return {change("optim.clip_norm", kUsualClip)};
  const double rate = std::min(state.optim.lr, optim.lr) / (has_lowered_rate(told) ? kMuch : 2);
  std::vector<KeyChange> changes = {change("optim.lr", rate)};
  if (has_floor && optim.min_lr > rate) changes.push_back(change("optim.min_lr", rate / kMuch));
  return changes;
}

std::string advice_text(std::string_view command, const std::string& directory, const StateLeft& state,
                        const std::vector<KeyChange>& changes, const Config& now) {
  const std::string place =
      state.steps == 0 ? "from the beginning" : compose("from the checkpoint after ", counted(state.steps, "step"));
  std::string was, sets;
  for (const KeyChange& change : changes) {
    const std::string tried = text_in(now, change.key);
    was += compose(was.empty() ? "" : " and ", change.key, " = ", change.now, " instead of ", change.was,
                   tried == change.was ? "" : compose(" (", tried, " diverged)"));
    sets += compose(" --set ", change.key, "=", change.now);
  }
  return compose("training diverged; go on ", place, " with ", was, ": ", command, " --resume ", shell_word(directory),
                 " --branch NAME --from ", state.steps, sets);
}

std::string advice_on_first_weights(std::string_view command, const std::string& directory, const Config& now,
                                    bool is_imported) {
  constexpr std::string_view kNoStep =
      "training diverged before a step was applied: no learning rate has changed the weights yet, and those that the "
      "run began with give no finite loss or gradients; ";
  if (is_imported)
    return compose(kNoStep, "import others, or compare the loss of `shoal eval` with that of their makers");
  const std::string usual = text_in(Config{}, "model.init_std");
  const std::string config = shell_word(directory + "/config.toml");
  const bool is_wide = now.model.init_std > Config{}.model.init_std;
  return compose(kNoStep, "begin a run of its own with ",
                 is_wide ? compose("model.init_std = ", usual, " instead of ", text_in(now, "model.init_std"))
                         : std::string("another model or another text"),
                 ": ", command, " ", config, is_wide ? compose(" --set model.init_std=", usual) : " --set KEY=VALUE");
}

}  // namespace shoal
