// `shoal export`: a checkpoint's weights as Hugging Face's GPT-2.
#include <system_error>

#include "launch/commands/inspect/inspect.h"
#include "launch/processes/run_directory.h"
#include "launch/processes/saved_run.h"
#include "launch/say.h"
#include "runtime/base/file.h"
#include "runtime/storage/gpt2_export.h"

namespace shoal {

Result<int> run_export(const ExportOptions& options) {
  const auto run = open_saved_run(options.run_directory, options.step);
  if (!run) return run.failure();
  const Checkpoint& checkpoint = run->checkpoint;
  const auto exported = export_gpt2(checkpoint.manifest(), checkpoint.weights_image(), run->config.model);
  if (!exported) return exported.failure();
  const std::filesystem::path folder = options.to;
  std::error_code error;
  if (std::filesystem::exists(RunDirectory{folder}.config(), error)) {
    return fail(Error::kUsage, compose("--to ", options.to, ": it is a run's directory; name another folder"));
  }
  std::filesystem::create_directories(folder, error);
  if (error) return fail(Error::kIo, compose("cannot make ", folder.string(), ": ", error.message()));
  const TensorBlob& model = exported->model;
  const std::string_view bytes(model.as<char>(), model.byte_count());
  const auto model_written = replace_file((folder / "model.safetensors").string(), bytes);
  if (!model_written) return model_written.failure();
  const auto config_written = replace_file((folder / "config.json").string(), exported->config_json);
  if (!config_written) return config_written.failure();
  say("step ", checkpoint.manifest().step, " exported; weights ", checkpoint.manifest().weights_sha256);
  print((folder / "config.json").string(), "\n", (folder / "model.safetensors").string(), "\n");
  return 0;
}

}  // namespace shoal
