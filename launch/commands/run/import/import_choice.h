// Decides which keys of a run's configuration an imported model's config.json sets, and which CONFIG, the environment
// and --set may. Pure, but for the number of tokens of a tokenizer that has a name.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/storage/hugging_face/description.h"

namespace shoal {

struct DescribedModel {
  ModelDescription description;
  std::string where;  // config.json's path
};

// Returns the settings that config.json gives; CONFIG, the environment and --set are applied after them. Rotary
// positions have no end: a context beyond what a key may hold is cut there. tokenizer: that of the file beside it;
// empty: there is none, and the size of the vocabulary says which one with a name it may be.
[[nodiscard]] std::vector<std::string> settings_of(const ModelConfig& model, const std::string& tokenizer = {});

// Checks that the run has the model of the checkpoint: every key that config.json names has the value that it says
// there, but for a shorter context with rotary positions. Other keys of [model] say how it is trained. Errors: kUsage
// with both values.
[[nodiscard]] Status check_agrees(const Config& chosen, const DescribedModel& described);

// Keeps rows of the vocabulary behind the tokenizer's, as padding has and tokens with a meaning of their own, in
// model.extra_tokens. Not behind the default tokenizer's, which is that of few models.
void keep_rows(Config& chosen, const DescribedModel& described);

// Checks that every number of config.json is one that its key may hold; a longer context with rotary positions is cut
// (settings_of). Runs before the configuration's own check, which would take them for the command's. Errors:
// kInvalidData.
[[nodiscard]] Status check_ranges(const DescribedModel& described);

// Checks that the heads share the width. Runs before the configuration's own check, which names keys that are not in
// the file. Errors: kInvalidData.
[[nodiscard]] Status check_heads(const DescribedModel& described);

}  // namespace shoal
