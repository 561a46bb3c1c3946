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

// Returns the files that a published model's tokenizer consists of, by name, where the run has one of those: they go
// along as they are. Those beside tokenizer.json may be missing.
Result<std::map<std::string, std::string>> files_of_tokenizer(const std::filesystem::path& tokenizer) {
  std::map<std::string, std::string> files;
  if (tokenizer.extension() != ".json") return files;
  auto text = read_file(tokenizer.string());
  if (!text) return fail(Error::kInvalidData, text.failure().message);
  files["tokenizer.json"] = std::move(*text);
  for (const char* name :
       {"tokenizer_config.json", "special_tokens_map.json", "generation_config.json", "chat_template.jinja"}) {
    if (auto beside = read_file((tokenizer.parent_path() / name).string())) files[name] = std::move(*beside);
  }
  return files;
}

}  // namespace

Result<int> run_export(const ExportOptions& options) {
  const auto run = open_saved_run(options.run_directory, options.step);
  if (!run) return run.failure();
  const Checkpoint& checkpoint = run->checkpoint;
  const auto tokenizer = make_tokenizer(run->config.data.tokenizer);
  if (!tokenizer) return tokenizer.failure();
  const auto weights = checkpoint.weights_image();
  if (!weights) return weights.failure();
  const auto exported = export_model(checkpoint.manifest(), *weights, run->config.model,
                                     model_tensors(run->config.model), (*tokenizer)->end_of_text());
  if (!exported) return exported.failure();
  const std::filesystem::path folder = options.to;
  std::error_code error;
  if (std::filesystem::exists(RunDirectory{folder}.config(), error)) {
    return fail(Error::kUsage, compose("--to ", options.to, ": it is a run's directory; name another folder"));
  }
  std::filesystem::create_directories(folder, error);
  if (error) return fail(Error::kIo, compose("cannot make ", folder.string(), ": ", error.message()));
  const auto own = files_of_tokenizer(run->config.data.tokenizer);
  if (!own) return own.failure();
  const HuggingFaceTokenizer described = hugging_face_tokenizer(**tokenizer, run->config.model.context);
  const TensorBlob& model = exported->model;
  std::map<std::string, std::string_view> files = {{"config.json", exported->config_json},
                                                   {"model.safetensors", {model.as<char>(), model.byte_count()}},
                                                   {"tokenizer.json", described.tokenizer_json},
                                                   {"tokenizer_config.json", described.config_json}};
  for (const auto& [name, text] : *own) files[name] = text;
  for (const auto& [name, bytes] : files) {
    if (const auto written = replace_file((folder / name).string(), bytes); !written) return written.failure();
  }
  say("step ", checkpoint.manifest().step, " exported; weights ", checkpoint.manifest().weights_sha256);
  for (const auto& [name, bytes] : files) print((folder / name).string(), "\n");
  return 0;
}

}  // namespace shoal
