// The reasons by section, then those of single keys, which win.
#include "launch/branches/branch_keys.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "runtime/base/config_file.h"

namespace shoal {
namespace {

// Sections whose keys stay, except for those that are free everywhere.
const std::map<std::string_view, std::string>& reasons_of_sections() {
  static const std::map<std::string_view, std::string> reasons = {
      {"run", "the run's name and the order of its samples hold from its first step on"},
      {"model", "the saved weights were trained as this model"},
      {"batch", "the steps done counted the samples in batches of this size"}};
  return reasons;
}

const std::map<std::string_view, std::string>& reasons_of_keys() {
  static const std::string kOuterParts = "with another value the saved state of the rounds would have other parts";
  static const std::map<std::string_view, std::string> reasons = {
      {"data.tokenizer", "the saved embedding is of its vocabulary"},
      {"optim.kind", "the saved averages are those of this optimiser"},
      {"sync.mode", "a checkpoint of rounds holds other parts than one of summed steps"},
      {"sync.outer_update", kOuterParts},
      {"sync.eager_variant", kOuterParts},
      {"sync.inner_state", kOuterParts},
      {"sync.requeue_lost", "the journal has planned what was lost so far by this value"}};
  return reasons;
}

// Keys of those sections that a branch may change all the same: what is saved is float32 in either precision, so that a
// run that diverges in bf16 may go on in fp32. Without a branch the precision stays, for bits are promised of a run.
bool is_of_branches(const ConfigKey& key) { return key.path() == "model.precision"; }

bool sums_integers(const Config& config) {
  return config.sync.mode == SyncMode::kEveryStep && config.sync.reduction == Reduction::kExact;
}

bool is_a_file(const Config& config) { return !named_vocabulary(config.data.tokenizer); }

}  // namespace

KeyRule rule_of(const ConfigKey& key) {
  if (key.resume == ResumeRule::kMayChange) return {KeyFreedom::kFree, {}};
  if (is_of_branches(key)) return {KeyFreedom::kOnABranch, {}};
  if (const auto found = reasons_of_keys().find(key.path()); found != reasons_of_keys().end()) {
    return {KeyFreedom::kNever, found->second};
  }
  if (const auto found = reasons_of_sections().find(key.section); found != reasons_of_sections().end()) {
    return {KeyFreedom::kNever, found->second};
  }
  return {KeyFreedom::kOnABranch, {}};
}

KeyRule rule_between(const ConfigKey& key, const Config& was, const Config& now) {
  const bool has_equal_bits = key.path() == "sync.backend" && sums_integers(was) && sums_integers(now);
  const bool is_another_place = key.path() == "data.tokenizer" && is_a_file(was) && is_a_file(now);
  return has_equal_bits || is_another_place ? KeyRule{KeyFreedom::kFree, {}} : rule_of(key);
}

std::vector<KeyChange> changes_between(const Config& was, const Config& now) {
  std::vector<KeyChange> changes;
  for (const ConfigKey* key : keys_that_differ(was, now)) {
    changes.push_back({key->path(), toml_text(key->get(was)), toml_text(key->get(now))});
  }
  return changes;
}

bool names_text(const std::vector<KeyChange>& changes) {
  return std::ranges::find(changes, "data.corpus", &KeyChange::key) != changes.end();
}

}  // namespace shoal
