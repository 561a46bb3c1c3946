// Names the configurations that come with the program, for a person who gives such a name where a file is expected.
// They are files of the repository, in launch/configs: the program holds their names alone.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

// Returns the names of the files, without .toml.
[[nodiscard]] const std::vector<std::string>& preset_names();

// Adds to the refusal of CONFIG which file of launch/configs may be meant, where `config` is no file: the one of that
// name, the nearest, or all of them. Leaves the refusal as it is where `config` is a file.
[[nodiscard]] Failure with_preset_named(const Failure& refusal, const std::string& config);

}  // namespace shoal
