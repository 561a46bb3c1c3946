// `shoal import`: what the folder says is checked first, then the run is made beside its place and renamed.
#include "launch/commands/run/import.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "launch/commands/run/model_tensors.h"
#include "launch/commands/run/vocabulary_advice.h"
#include "launch/processes/run_directory.h"
#include "launch/processes/text/recorded_text.h"
#include "launch/say.h"
#include "model/partition.h"
#include "runtime/base/config_file.h"
#include "runtime/base/config_keys.h"
#include "runtime/base/file.h"
#include "runtime/base/machine/scratch_folder.h"
#include "runtime/base/sha256.h"
#include "runtime/base/text/shell_word.h"
#include "runtime/data/mapped_file.h"
#include "runtime/data/tokens.h"
#include "runtime/storage/checkpoint_writer.h"
#include "runtime/storage/hugging_face/weights_import.h"
#include "runtime/storage/inner_parts.h"
#include "runtime/storage/state_names.h"
#include "runtime/transport/certificates.h"
#include "runtime/transport/identity.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

struct Described {
  ModelDescription description;
  std::string where;  // config.json's path
};

Result<Described> read_description(const fs::path& folder) {
  const std::string path = (folder / "config.json").string();
  const auto text = read_file(path);
  if (!text) {
    return fail(Error::kUsage,
                compose(folder.string(), " holds no model in the Hugging Face layout: ", text.failure().message));
  }
  auto description = parse_description(*text, path);
  if (!description) return description.failure();
  return Described{std::move(*description), path};
}

bool means_nothing(const ConfigKey& key, const ModelConfig& model) {
  return is_of_llama(key) && model.kind == ModelKind::kGpt2;
}

// The keys of [model] but for the vocabulary, which comes from the tokenizer.
std::vector<const ConfigKey*> keys_of(const ModelConfig& model) {
  std::vector<const ConfigKey*> keys;
  for (const ConfigKey& key : config_keys()) {
    if (key.section == "model" && key.name != "vocabulary" && !means_nothing(key, model)) keys.push_back(&key);
  }
  return keys;
}

std::string text_of(const KeyValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  return word != nullptr ? *word : toml_text(value);
}

// Returns the settings that config.json gives; CONFIG, the environment and --set are applied after them. Rotary
// positions have no end: a context beyond what a key may hold is cut there.
std::vector<std::string> defaults_of(const ModelConfig& model) {
  Config config;
  config.model = model;
  const double context_max = find_config_key("model.context")->range.most;
  if (model.kind == ModelKind::kLlama && model.context > context_max) {
    config.model.context = static_cast<int>(context_max);
  }
  std::vector<std::string> defaults;
  for (const ConfigKey* key : keys_of(model)) {
    defaults.push_back(compose(key->path(), "=", text_of(key->get(config))));
  }
  for (const char* tokenizer : {"bytes", "gpt2"}) {
    if (named_vocabulary(tokenizer) == model.vocabulary) defaults.push_back(compose("data.tokenizer=", tokenizer));
  }
  if (model.layers < Config{}.pipeline.stages) defaults.push_back("pipeline.stages=1");
  return defaults;
}

// True for a key that a run may choose otherwise than the checkpoint: how it is trained, and with rotary positions how
// long its sequences are.
bool is_free(const ConfigKey& key, const ModelConfig& chosen, const ModelConfig& described) {
  const bool is_shorter = described.kind == ModelKind::kLlama && chosen.context <= described.context;
  return key.name == "dropout" || key.name == "init_std" || (key.name == "context" && is_shorter);
}

// The checkpoint decides about its shape.
Status check_agrees(const Config& chosen, const Described& described) {
  Config said;
  said.model = described.description.model;
  const auto disagree = [&](const std::string& key, const std::string& path, const KeyValue& here,
                            const KeyValue& there, const std::string& advice) {
    return fail(Error::kUsage, compose(key, " is ", text_of(here), ", and ", described.where, " says ",
                                       described.description.names.at(path), " = ", text_of(there), advice));
  };
  for (const ConfigKey* key : keys_of(said.model)) {
    if (is_free(*key, chosen.model, said.model) || key->get(chosen) == key->get(said)) continue;
    return disagree(key->path(), key->path(), key->get(chosen), key->get(said), ". Leave [model] out.");
  }
  const int vocabulary = chosen.model.vocabulary;
  if (vocabulary == said.model.vocabulary) return Done{};
  return disagree("the tokenizer's vocabulary", "model.vocabulary", KeyValue(std::int64_t{vocabulary}),
                  KeyValue(std::int64_t{said.model.vocabulary}),
                  advice_on_vocabulary(vocabulary, said.model.vocabulary));
}

// Runs before the configuration's own check, which names keys that are not in the file.
Status check_heads(const Described& described) {
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

// Names the files that are there instead of the one, and the call of transformers that writes it.
std::string advice_on_files(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "pytorch_model.bin", error)) {
    return "pytorch_model.bin is not taken. In transformers, model.save_pretrained(DIR) writes model.safetensors.";
  }
  return "The weights must be in a file of that name, or in those of a model.safetensors.index.json.";
}

// The names of the files with weights.
Result<std::vector<std::string>> weight_files(const fs::path& folder) {
  const fs::path index = folder / "model.safetensors.index.json";
  std::error_code error;
  const bool is_one = fs::exists(folder / "model.safetensors", error) || !fs::exists(index, error);
  if (is_one) return std::vector<std::string>{"model.safetensors"};
  const auto text = read_file(index.string());
  if (!text) return fail(Error::kInvalidData, text.failure().message);
  return files_of_index(*text, index.string());
}

Result<std::vector<MappedFile>> map_weights(const fs::path& folder, const std::vector<std::string>& names) {
  std::vector<MappedFile> files;
  for (const std::string& name : names) {
    auto file = MappedFile::open(folder / name);
    if (!file) {
      const std::string advice = names.size() == 1 ? ". " + advice_on_files(folder) : "";
      return fail(Error::kInvalidData,
                  compose((folder / name).string(), " cannot be read: ", file.failure().message, advice));
    }
    files.push_back(std::move(*file));
  }
  return files;
}

// The files stay mapped while the weights are used.
struct LoadedWeights {
  std::vector<MappedFile> files;
  ImportedWeights weights;
};

Result<LoadedWeights> load_weights(const fs::path& folder, const ModelDescription& description) {
  const auto names = weight_files(folder);
  if (!names) return names.failure();
  auto files = map_weights(folder, *names);
  if (!files) return files.failure();
  std::vector<WeightFile> parts;
  for (std::size_t i = 0; i < names->size(); ++i) {
    parts.push_back({(*files)[i].bytes(), (folder / (*names)[i]).string()});
  }
  const std::string where = names->size() == 1 ? parts.front().where : folder.string();
  auto weights = import_weights(parts, description, model_tensors(description.model), where);
  if (!weights) return weights.failure();
  return LoadedWeights{std::move(*files), std::move(*weights)};
}

// A stage's weights and the state of an optimiser that has made no step.
SaveShard shard_of(const StagePlan& plan, const ImportedWeights& weights, const Config& config) {
  std::vector<std::string> names;
  std::size_t largest = 0;
  for (const TensorSpec& tensor : plan.tensors) {
    names.push_back(tensor.name);
    largest = std::max(largest, static_cast<std::size_t>(element_count(tensor)) * sizeof(float));
  }
  const std::vector<std::byte> zeros(largest);
  std::vector<StoredTensor> tensors = weights.of(names);
  const std::size_t weight_count = tensors.size();
  for (const InnerPart& part : inner_parts(config)) {
    for (std::size_t i = 0; i < weight_count; ++i) {
      StoredTensor empty = tensors[i];
      if (part.size == PartSize::kOneValue) empty.shape = {1};
      const std::size_t bytes = part.size == PartSize::kOneValue ? sizeof(float) : empty.bytes.size();
      empty.name = with_prefix(part.prefix, names[i]);
      empty.bytes = std::span(zeros).first(bytes);
      tensors.push_back(std::move(empty));
    }
  }
  SaveShard shard;
  shard.image = build_safetensors(std::move(tensors));
  return shard;
}

// The checkpoint after 0 steps, cut as the run will be; its weights' SHA-256.
Result<std::string> write_checkpoint(CheckpointWriterSettings settings, const Config& config, RunId id,
                                     const ImportedWeights& weights) {
  const auto plans = partition(config);
  if (!plans) return plans.failure();
  CheckpointWriter writer(std::move(settings));
  std::string digest;
  for (std::uint32_t stage = 0; stage < plans->size(); ++stage) {
    SaveShard shard = shard_of((*plans)[stage], weights, config);
    shard.run = id;
    shard.stage = StageId{stage};
    shard.stages = static_cast<std::uint32_t>(plans->size());
    const auto manifest = writer.add(shard);
    if (!manifest) return manifest.failure();
    if (*manifest) digest = (*manifest)->weights_sha256;
  }
  return digest;
}

// A whole run directory, which will lie where the chosen one shall.
Result<std::string> make_run(const RunDirectory& run, const ChosenRun& chosen, const RecordedText& trained_on,
                             const ImportedWeights& weights) {
  const Config& config = chosen.config;
  if (auto status = prepare_run_directory(run, config, chosen.directory); !status) return status.failure();
  if (auto status = record_text(run, trained_on); !status) return status.failure();
  const auto text = read_file(run.config());
  if (!text) return text.failure();
  const auto authority = Authority::open(run.certs());
  if (!authority) return authority.failure();
  return write_checkpoint({.folder = run.checkpoints(config),
                           .keep = config.checkpoint.keep,
                           .run = run_text(authority->run()),
                           .config_sha256 = sha256_hex(std::string_view(*text)),
                           .corpus_sha256 = trained_on.sha256},
                          config, authority->run(), weights);
}

// There whole or not at all: a run without its checkpoint would start from other weights when it is resumed.
Result<std::string> make_in_place(const ChosenRun& chosen, const RecordedText& trained_on,
                                  const ImportedWeights& weights) {
  const fs::path place = chosen.directory;
  std::error_code error;
  fs::create_directories(place.parent_path(), error);
  if (error) return fail(Error::kIo, compose("cannot make ", place.parent_path().string(), ": ", error.message()));
  const auto beside = ScratchFolder::make(place.parent_path(), place.filename().string() + ".import-");
  if (!beside) return beside.failure();
  const fs::path made = beside->path() / "run";
  fs::create_directory(made, error);
  auto digest = make_run(RunDirectory{made}, chosen, trained_on, weights);
  if (!digest) return digest;
  fs::rename(made, place, error);
  if (error) return fail(Error::kIo, compose("cannot make ", place.string(), ": ", error.message()));
  return digest;
}

}  // namespace

Result<int> run_import(const ImportOptions& options) {
  const auto described = read_description(options.from);
  if (!described) return described.failure();
  if (auto status = check_heads(*described); !status) return status.failure();
  RunChoice choice = options.run;
  choice.defaults = defaults_of(described->description.model);
  const auto chosen = choose_run(choice, surroundings_here());
  if (!chosen) return chosen.failure();
  if (auto status = check_agrees(chosen->config, *described); !status) return status.failure();
  const auto loaded = load_weights(options.from, described->description);
  if (!loaded) return loaded.failure();
  const auto tokens = open_tokens(chosen->config.data, chosen->config.model.context);
  if (!tokens) return tokens.failure();
  const auto digest = make_in_place(*chosen, record_of(**tokens), loaded->weights);
  if (!digest) return digest.failure();
  if (!chosen->warning.empty()) say("warning: ", chosen->warning);
  say("imported as the checkpoint after 0 steps; weights ", *digest);
  say("go on with: shoal train --resume ", shell_word(chosen->directory));
  print(chosen->directory, "\n");
  return 0;
}

}  // namespace shoal
