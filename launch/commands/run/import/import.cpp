// `shoal import`: what the folder says is checked first, then the run is made beside its place and renamed.
#include "launch/commands/run/import/import.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "launch/commands/run/import/import_choice.h"
#include "launch/commands/run/model_tensors.h"
#include "launch/commands/run/vocabulary_advice.h"
#include "launch/processes/run_directory.h"
#include "launch/processes/text/recorded_text.h"
#include "launch/say.h"
#include "model/partition.h"
#include "runtime/base/file.h"
#include "runtime/base/machine/heap.h"
#include "runtime/base/machine/scratch_folder.h"
#include "runtime/base/sha256.h"
#include "runtime/base/text/shell_word.h"
#include "runtime/data/mapped_file.h"
#include "runtime/data/tokenizers/tokenizer.h"
#include "runtime/data/tokens.h"
#include "runtime/storage/checkpoint_writer.h"
#include "runtime/storage/hugging_face/imported_image.h"
#include "runtime/storage/hugging_face/weights_import.h"
#include "runtime/storage/inner_parts.h"
#include "runtime/transport/certificates.h"
#include "runtime/transport/identity.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

Result<DescribedModel> read_description(const fs::path& folder) {
  const std::string path = (folder / "config.json").string();
  const auto text = read_file(path);
  if (!text) {
    return fail(Error::kUsage,
                compose(folder.string(), " holds no model in the Hugging Face layout: ", text.failure().message));
  }
  auto description = parse_description(*text, path);
  if (!description) return description.failure();
  return DescribedModel{std::move(*description), path};
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

// Returns what data.tokenizer names it by; empty: there is none.
std::string tokenizer_beside(const fs::path& folder) {
  std::error_code error;
  const fs::path path = fs::absolute(folder, error) / "tokenizer.json";
  return fs::is_regular_file(path, error) ? name_or_path(path.lexically_normal().string()) : std::string();
}

// The checkpoint after 0 steps, cut as the run will be, of an optimiser that has made no step; its weights' SHA-256.
Result<std::string> write_checkpoint(CheckpointWriterSettings settings, const Config& config, RunId id,
                                     const ImportedWeights& weights) {
  const auto plans = partition(config);
  if (!plans) return plans.failure();
  CheckpointWriter writer(std::move(settings));
  std::string digest;
  for (std::uint32_t stage = 0; stage < plans->size(); ++stage) {
    std::vector<std::string> names;
    for (const TensorSpec& tensor : (*plans)[stage].tensors) names.push_back(tensor.name);
    ImportedImage image(weights, names, inner_parts(config));
    SaveShard shard;
    shard.run = id;
    shard.stage = StageId{stage};
    shard.stages = static_cast<std::uint32_t>(plans->size());
    const auto manifest = writer.add_image(std::move(shard), image);
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
  remove_unfinished(RunDirectory{place}.config());
  fs::rename(made, place, error);
  if (error) return fail(Error::kIo, compose("cannot make ", place.string(), ": ", error.message()));
  return digest;
}

}  // namespace

Result<int> run_import(const ImportOptions& options) {
  give_pieces_back();
  const auto described = read_description(options.from);
  if (!described) return described.failure();
  if (auto status = check_ranges(*described); !status) return status.failure();
  if (auto status = check_heads(*described); !status) return status.failure();
  RunChoice choice = options.run;
  choice.defaults = settings_of(described->description.model, tokenizer_beside(options.from));
  auto chosen = choose_run(choice, surroundings_here());
  if (!chosen) return chosen.failure();
  keep_rows(chosen->config, *described);
  if (auto status = check_agrees(chosen->config, *described); !status) return status.failure();
  const auto loaded = load_weights(options.from, described->description);
  if (!loaded) return loaded.failure();
  const auto tokens = open_tokens(chosen->config);
  if (!tokens) return tokens.failure();
  const auto digest = make_in_place(*chosen, record_of(**tokens), loaded->weights);
  if (!digest) return digest.failure();
  if (!chosen->warning.empty()) say("warning: ", chosen->warning);
  if (const int extra = chosen->config.model.extra_tokens; extra > 0) {
    say(extra > kPaddingMax ? "warning: is it the model's tokenizer? The" : "the", " last ", extra,
        " rows of the vocabulary are of no token of data.tokenizer (model.extra_tokens)");
  }
  if (described->description.model.context > chosen->config.model.context) {
    say("model.context = ", chosen->config.model.context, ", where ", described->where, " says ",
        described->description.names.at("model.context"), " = ", described->description.model.context,
        ": --set model.context=N chooses how long the sequences are that it is trained on");
  }
  say("imported as the checkpoint after 0 steps; weights ", *digest);
  say("go on with: shoal train --resume ", shell_word(chosen->directory));
  print(chosen->directory, "\n");
  return 0;
}

}  // namespace shoal
