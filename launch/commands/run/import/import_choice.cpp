// Compares by the table of keys and by the names that the file has for them.
#include "launch/commands/run/import/import_choice.h"

#include <variant>

#include "launch/commands/run/vocabulary_advice.h"
#include "runtime/base/compose.h"
#include "runtime/base/config_file.h"
#include "runtime/base/config_keys.h"

namespace shoal {
namespace {

// The keys of [model] that mean something to it, but for the vocabulary, which comes from the tokenizer.
std::vector<const ConfigKey*> keys_of(const ModelConfig& model) {
  std::vector<const ConfigKey*> keys;
  for (const ConfigKey& key : config_keys()) {
    const bool means_nothing = is_of_llama(key) && model.kind == ModelKind::kGpt2;
    if (key.section == "model" && key.name != "vocabulary" && !means_nothing) keys.push_back(&key);
  }
  return keys;
}

std::string text_of(const KeyValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  return word != nullptr ? *word : toml_text(value);
}

// True for a key that a run may choose otherwise than the checkpoint: config.json has no name for it, or it is how long
// sequences are, and positions are rotary.
bool is_free(const ConfigKey& key, const ModelConfig& chosen, const ModelDescription& described) {
  if (!described.names.contains(key.path())) return true;
  return key.name == "context" && described.model.kind == ModelKind::kLlama &&
         chosen.context <= described.model.context;
}

}  // namespace

std::vector<std::string> settings_of(const ModelConfig& model, const std::string& tokenizer) {
  Config config;
  config.model = model;
  const double context_max = find_config_key("model.context")->range.most;
  if (model.kind == ModelKind::kLlama && model.context > context_max) {
    config.model.context = static_cast<int>(context_max);
  }
  std::vector<std::string> settings;
  for (const ConfigKey* key : keys_of(model)) {
    settings.push_back(compose(key->path(), "=", text_of(key->get(config))));
  }
  std::string chosen = tokenizer;
  for (const char* name : {"bytes", "gpt2"}) {
    if (chosen.empty() && named_vocabulary(name) == model.vocabulary) chosen = name;
  }
  if (!chosen.empty()) settings.push_back(compose("data.tokenizer=", chosen));
  if (model.layers < Config{}.pipeline.stages) settings.push_back("pipeline.stages=1");
  return settings;
}

Status check_agrees(const Config& chosen, const DescribedModel& described) {
  Config said;
  said.model = described.description.model;
  const auto disagree = [&](const std::string& key, const std::string& path, const KeyValue& here,
                            const KeyValue& there, const std::string& advice) {
    return fail(Error::kUsage, compose(key, " is ", text_of(here), ", and ", described.where, " says ",
                                       described.description.names.at(path), " = ", text_of(there), advice));
  };
  for (const ConfigKey* key : keys_of(said.model)) {
    if (is_free(*key, chosen.model, described.description) || key->get(chosen) == key->get(said)) continue;
    return disagree(key->path(), key->path(), key->get(chosen), key->get(said), ". Leave [model] out.");
  }
  if (chosen.model.vocabulary == said.model.vocabulary) return Done{};
  const int extra = chosen.model.extra_tokens;
  const VocabularyChoice choice{chosen.model.vocabulary - extra, extra};
  return fail(Error::kUsage,
              compose("data.tokenizer = ", chosen.data.tokenizer, " has ", choice.tokens, " tokens",
                      extra > 0 ? compose(", model.extra_tokens = ", extra) : "", ", and ", described.where, " says ",
                      described.description.names.at("model.vocabulary"), " = ", said.model.vocabulary,
                      advice_on_vocabulary(choice, said.model.vocabulary)));
}

void keep_rows(Config& chosen, const DescribedModel& described) {
  ModelConfig& model = chosen.model;
  const int extra = described.description.model.vocabulary - (model.vocabulary - model.extra_tokens);
  const bool is_named = chosen.data.tokenizer != Config{}.data.tokenizer && model.extra_tokens == 0;
  if (!is_named || !check_value(*find_config_key("model.extra_tokens"), KeyValue(std::int64_t{extra}))) return;
  model.extra_tokens = extra;
  model.vocabulary = described.description.model.vocabulary;
}

Status check_ranges(const DescribedModel& described) {
  Config said;
  said.model = described.description.model;
  const double context_max = find_config_key("model.context")->range.most;
  const bool is_cut = said.model.kind == ModelKind::kLlama && said.model.context > context_max;
  for (const ConfigKey* key : keys_of(said.model)) {
    const auto name = described.description.names.find(key->path());
    if (name == described.description.names.end() || (is_cut && key->name == "context")) continue;
    const KeyValue value = key->get(said);
    if (check_value(*key, value)) continue;
    return fail(Error::kInvalidData, compose(described.where, ": ", name->second, " = ", text_of(value), ": expected ",
                                             describe_expected(*key), ", as ", key->path(), " has it"));
  }
  return Done{};
}

Status check_heads(const DescribedModel& described) {
  const ModelConfig& model = described.description.model;
  const auto name = [&](const char* path) { return described.description.names.at(path); };
  if (model.kind == ModelKind::kGpt2 && model.width % model.heads != 0) {
    return fail(Error::kInvalidData,
                compose(described.where, ": ", name("model.width"), " = ", model.width, " cannot be cut into ",
                        name("model.heads"), " = ", model.heads, " heads of one size"));
  }
  if (model.heads % kv_heads_of(model) == 0) return Done{};
  return fail(Error::kInvalidData, compose(described.where, ": ", name("model.heads"), " = ", model.heads,
                                           " cannot be shared by ", name("model.kv_heads"), " = ", model.kv_heads));
}

}  // namespace shoal
