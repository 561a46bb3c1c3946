// Compares what diverged with what the state was trained with.
#include "launch/branches/branch_advice.h"

#include <algorithm>
#include <iomanip>
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

std::string text_in(const Config& config, const std::string& key) {
  return toml_text(find_config_key(key)->get(config));
}

}  // namespace

std::optional<std::uint64_t> useless_from(const std::string& metrics) {
  std::optional<std::uint64_t> from;
  const auto file = open_input(metrics);
  if (!file) return from;
  (void)read_lines_back(*file, [&from](std::string_view line) {
    if (!line.starts_with(kStepLineBegin)) return false;
    const auto json = nlohmann::json::parse(line, nullptr, false);
    const auto step = count_field(json, "step");
    if (!step || !text_field(json, "skipped")) return true;
    const auto loss = number_field(json, "loss");
    if (!from && loss && !is_of_no_use(*loss)) return true;
    from = *step;
    return false;
  });
  return from;
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

}  // namespace shoal
