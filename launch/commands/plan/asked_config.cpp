// The words of a warning, and the check of the text, are those of a run (launch/start_run.h).
#include "launch/commands/plan/asked_config.h"

#include <optional>
#include <utility>

#include "launch/configs/presets.h"
#include "launch/start_run.h"
#include "runtime/base/config_file.h"
#include "runtime/data/tokenizers/tokenizer.h"

namespace shoal {
namespace {

Result<LoadedConfig> load(const Options& options, const std::optional<std::string>& file) {
  return load_config_and_idle_keys({file, shoal_environment(), options.values("--set")});
}

Result<AskedConfig> settled(LoadedConfig loaded) {
  if (auto status = settle_vocabulary(loaded.config); !status) return status.failure();
  return AskedConfig{std::move(loaded.config), warning_of(std::move(loaded.idle))};
}

}  // namespace

Result<AskedConfig> config_of(const Options& options) {
  const auto file = options.positional(0);
  auto loaded = load(options, file);
  if (!loaded) return file ? with_preset_named(loaded.failure(), *file) : loaded.failure();
  if (auto status = check_corpus_kind(loaded->config, surroundings_here().folder); !status) return status.failure();
  return settled(std::move(*loaded));
}

Result<AskedConfig> config_of_run(const Options& options, const std::string& run_directory) {
  auto loaded = load(options, run_directory + "/config.toml");
  if (!loaded) return loaded.failure();
  std::erase_if(loaded->idle, [](const IdleKey& key) { return key.stands_in_file; });
  return settled(std::move(*loaded));
}

}  // namespace shoal
