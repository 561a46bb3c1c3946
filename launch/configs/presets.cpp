// A test holds the names to the files.
#include "launch/configs/presets.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "runtime/base/arithmetic/nearest.h"
#include "runtime/base/compose.h"
#include "runtime/base/text/enumerate.h"

namespace shoal {
namespace {

std::string file_of(const std::string& preset) { return compose("launch/configs/", preset, ".toml"); }

// A path is of another file, unless its name is that of a preset or close to one.
std::string which_may_be_meant(const std::filesystem::path& config) {
  const bool is_toml = config.extension() == ".toml";
  const std::string name = (is_toml ? config.stem() : config.filename()).string();
  if (std::ranges::count(preset_names(), name) > 0) {
    return compose("; ", name, " comes with the program, in its repository: give the path of ", file_of(name));
  }
  if (const auto nearest = nearest_name(name, preset_names())) {
    return compose("; did you mean ", file_of(*nearest), " of the program's repository?");
  }
  if (is_toml || config.has_parent_path()) return {};
  return compose("; CONFIG is a TOML file, and launch/configs of the program's repository has ",
                 enumerate(preset_names()));
}

}  // namespace

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> names = {"bench-large", "bench-small", "default", "gpt2-large",
                                                 "gpt2-medium", "gpt2-small",  "gpt2-xl", "llama-125m",
                                                 "llama-1b",    "llama-350m"};
  return names;
}

Failure with_preset_named(const Failure& refusal, const std::string& config) {
  std::error_code unknown;
  if (std::filesystem::is_regular_file(config, unknown)) return refusal;
  return fail(refusal.error, refusal.message + which_may_be_meant(config));
}

}  // namespace shoal
