// `shoal import`: what the folder says is checked first, then the run is made beside its place and renamed.
#include "launch/commands/run/import.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "launch/commands/run/vocabulary_advice.h"
#include "launch/processes/run_directory.h"
#include "launch/say.h"
#include "model/partition.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "runtime/base/machine/scratch_folder.h"
#include "runtime/base/sha256.h"
#include "runtime/base/text/shell_word.h"
#include "runtime/data/mapped_file.h"
#include "runtime/data/tokens.h"
#include "runtime/storage/checkpoint_writer.h"
#include "runtime/storage/gpt2_import.h"
#include "runtime/storage/inner_parts.h"
#include "runtime/storage/state_names.h"
#include "runtime/transport/certificates.h"
#include "runtime/transport/identity.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

struct Described {
  Gpt2Description gpt2;
  std::string where;  // config.json's path
};

Result<Described> read_description(const fs::path& folder) {
  const std::string path = (folder / "config.json").string();
  const auto text = read_file(path);
  if (!text) {
    return fail(Error::kUsage,
                compose(folder.string(), " holds no GPT-2 in the Hugging Face layout: ", text.failure().message));
  }
  auto description = parse_gpt2_config(*text, path);
  if (!description) return description.failure();
  return Described{*description, path};
}

// Returns the settings that config.json gives; CONFIG, the environment and --set are applied after them.
std::vector<std::string> defaults_of(const ModelConfig& model) {
  std::vector<std::string> defaults = {
      compose("model.layers=", model.layers),   compose("model.heads=", model.heads),
      compose("model.width=", model.width),     compose("model.context=", model.context),
      compose("model.dropout=", model.dropout), compose("model.init_std=", model.init_std)};
  for (const char* tokenizer : {"bytes", "gpt2"}) {
    if (named_vocabulary(tokenizer) == model.vocabulary) defaults.push_back(compose("data.tokenizer=", tokenizer));
  }
  if (model.layers < Config{}.pipeline.stages) defaults.push_back("pipeline.stages=1");
  return defaults;
}

// The checkpoint decides about its shape.
Status check_agrees(const ModelConfig& chosen, const Described& described) {
  const ModelConfig& model = described.gpt2.model;
  const std::string on_shape = ". Leave [model] out.";
  const struct {
    const char* key;
    int chosen;
    const char* json;
    int described;
    std::string advice;
  } pairs[] = {{"model.layers", chosen.layers, "n_layer", model.layers, on_shape},
               {"model.heads", chosen.heads, "n_head", model.heads, on_shape},
               {"model.width", chosen.width, "n_embd", model.width, on_shape},
               {"model.context", chosen.context, "n_positions", model.context, on_shape},
               {"the tokenizer's vocabulary", chosen.vocabulary, "vocab_size", model.vocabulary,
                advice_on_vocabulary(chosen.vocabulary, model.vocabulary)}};
  for (const auto& pair : pairs) {
    if (pair.chosen == pair.described) continue;
    return fail(Error::kUsage, compose(pair.key, " is ", pair.chosen, ", and ", described.where, " says ", pair.json,
                                       " = ", pair.described, pair.advice));
  }
  return Done{};
}

// Runs before the configuration's own check, which names keys that are not in the file.
Status check_heads(const Described& described) {
  const ModelConfig& model = described.gpt2.model;
  if (model.width % model.heads == 0) return Done{};
  return fail(Error::kInvalidData, compose(described.where, ": n_embd = ", model.width,
                                           " cannot be cut into n_head = ", model.heads, " heads of one size"));
}

// Names the files that are there instead of the one, and the call of transformers that writes it.
std::string advice_on_files(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "model.safetensors.index.json", error)) {
    return "The checkpoint is in several files, which are not taken. In transformers, "
           "model.save_pretrained(DIR, max_shard_size=\"100GB\") writes one.";
  }
  if (fs::exists(folder / "pytorch_model.bin", error)) {
    return "pytorch_model.bin is not taken. In transformers, model.save_pretrained(DIR) writes model.safetensors.";
  }
  return "All weights must be in one file of that name.";
}

Result<MappedFile> map_weights(const fs::path& folder) {
  auto file = MappedFile::open(folder / "model.safetensors");
  if (file) return file;
  return fail(Error::kInvalidData, compose((folder / "model.safetensors").string(),
                                           " cannot be read: ", file.failure().message, ". ", advice_on_files(folder)));
}

// A stage's weights and the state of an optimiser that has made no step.
SaveShard shard_of(const StagePlan& plan, const Gpt2Weights& weights, const Config& config) {
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
                                     const Gpt2Weights& weights) {
  const auto plans = partition(config.model, config.pipeline.stages);
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
Result<std::string> make_run(const RunDirectory& run, const ChosenRun& chosen, const std::string& corpus_sha256,
                             const Gpt2Weights& weights) {
  const Config& config = chosen.config;
  if (auto status = prepare_run_directory(run, config, chosen.directory); !status) return status.failure();
  const auto text = read_file(run.config());
  if (!text) return text.failure();
  const auto authority = Authority::open(run.certs());
  if (!authority) return authority.failure();
  return write_checkpoint({.folder = run.checkpoints(config),
                           .keep = config.checkpoint.keep,
                           .run = run_text(authority->run()),
                           .config_sha256 = sha256_hex(std::string_view(*text)),
                           .corpus_sha256 = corpus_sha256},
                          config, authority->run(), weights);
}

// There whole or not at all: a run without its checkpoint would start from other weights when it is resumed.
Result<std::string> make_in_place(const ChosenRun& chosen, const std::string& corpus_sha256,
                                  const Gpt2Weights& weights) {
  const fs::path place = chosen.directory;
  std::error_code error;
  fs::create_directories(place.parent_path(), error);
  if (error) return fail(Error::kIo, compose("cannot make ", place.parent_path().string(), ": ", error.message()));
  const auto beside = ScratchFolder::make(place.parent_path(), place.filename().string() + ".import-");
  if (!beside) return beside.failure();
  const fs::path made = beside->path() / "run";
  fs::create_directory(made, error);
  auto digest = make_run(RunDirectory{made}, chosen, corpus_sha256, weights);
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
  choice.defaults = defaults_of(described->gpt2.model);
  const auto chosen = choose_run(choice, surroundings_here());
  if (!chosen) return chosen.failure();
  if (auto status = check_agrees(chosen->config.model, *described); !status) return status.failure();
  const auto file = map_weights(options.from);
  if (!file) return file.failure();
  const auto weights =
      import_gpt2(file->bytes(), described->gpt2, (fs::path(options.from) / "model.safetensors").string());
  if (!weights) return weights.failure();
  const auto tokens = open_tokens(chosen->config.data, chosen->config.model.context);
  if (!tokens) return tokens.failure();
  const auto digest = make_in_place(*chosen, (*tokens)->corpus_sha256(), *weights);
  if (!digest) return digest.failure();
  if (!chosen->warning.empty()) say("warning: ", chosen->warning);
  say("imported as the checkpoint after 0 steps; weights ", *digest);
  say("go on with: shoal train --resume ", shell_word(chosen->directory));
  print(chosen->directory, "\n");
  return 0;
}

}  // namespace shoal
