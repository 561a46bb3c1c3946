// `shoal export`: a checkpoint's weights as transformers loads them, and the tokenizer beside them.
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "launch/commands/inspect/inspect.h"
#include "launch/commands/run/model_tensors.h"
#include "launch/processes/run_directory.h"
#include "launch/processes/saved_run.h"
#include "launch/say.h"
#include "runtime/base/file.h"
#include "runtime/data/tokenizers/hugging_face_tokenizer.h"
#include "runtime/storage/hugging_face/weights_export.h"

namespace shoal {
namespace {

using Files = std::map<std::string, std::string>;  // by name

// A published model's tokenizer goes along as it is; what may lie beside its tokenizer.json, too.
Result<Files> files_of_tokenizer(const SavedRun& run) {
  const int context = run.config.model.context;
  const std::filesystem::path own = run.config.data.tokenizer;
  if (own.extension() != ".json") {
    HuggingFaceTokenizer described = hugging_face_tokenizer(*run.tokenizer, context);
    return Files{{"tokenizer.json", std::move(described.tokenizer_json)},
                 {"tokenizer_config.json", std::move(described.config_json)}};
  }
  auto text = read_file(own.string());
  if (!text) return fail(Error::kInvalidData, text.failure().message);
  Files files = {{"tokenizer.json", std::move(*text)},
                 {"tokenizer_config.json", tokenizer_config_json(*run.tokenizer, context)}};
  for (const char* name :
       {"tokenizer_config.json", "special_tokens_map.json", "generation_config.json", "chat_template.jinja"}) {
    if (auto beside = read_file((own.parent_path() / name).string())) files[name] = std::move(*beside);
  }
  return files;
}

}  // namespace

Result<int> run_export(const ExportOptions& options) {
  const auto run = open_saved_run(options.run_directory, options.step);
  if (!run) return run.failure();
  const Checkpoint& checkpoint = run->checkpoint;
  const auto weights = checkpoint.weights_image();
  if (!weights) return weights.failure();
  const auto exported = export_model(checkpoint.manifest(), *weights, run->config.model,
                                     model_tensors(run->config.model), run->tokenizer->end_of_text());
  if (!exported) return exported.failure();
  const std::filesystem::path folder = options.to;
  std::error_code error;
  if (std::filesystem::exists(RunDirectory{folder}.config(), error)) {
    return fail(Error::kUsage, compose("--to ", options.to, ": it is a run's directory; name another folder"));
  }
  std::filesystem::create_directories(folder, error);
  if (error) return fail(Error::kIo, compose("cannot make ", folder.string(), ": ", error.message()));
  const auto described = files_of_tokenizer(*run);
  if (!described) return described.failure();
  const TensorBlob& model = exported->model;
  std::map<std::string, std::string_view> files = {{"config.json", exported->config_json},
                                                   {"model.safetensors", {model.as<char>(), model.byte_count()}}};
  files.insert(described->begin(), described->end());
  for (const auto& [name, bytes] : files) {
    if (const auto written = replace_file((folder / name).string(), bytes); !written) return written.failure();
  }
  say("step ", checkpoint.manifest().step, " exported; weights ", checkpoint.manifest().weights_sha256);
  for (const auto& [name, bytes] : files) print((folder / name).string(), "\n");
  return 0;
}

}  // namespace shoal
