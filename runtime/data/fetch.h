// Tools for fetching anything: a folder to work in, programs whose words are kept, and a finished file that is either
// there whole or not at all. Also the place where finished files are kept from one run to the next.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/machine/scratch_folder.h"

namespace shoal {

// The value of an environment variable; empty when it is not set.
[[nodiscard]] std::string environment_value(const char* name);

// Returns the folder of finished files: $SHOAL_DATA, or shoal/corpora below $XDG_CACHE_HOME, or ~/.cache/shoal/corpora.
// The folder may not exist yet. kUsage when neither variable nor HOME is set.
[[nodiscard]] Result<std::filesystem::path> corpora_folder();

// A file in the folder that SHOAL_CORPORA names, where it is set and has it; otherwise an empty path. Errors:
// kInvalidData, the folder cannot be looked into.
[[nodiscard]] Result<std::filesystem::path> local_copy(const std::string& file);

// A folder to fetch into, below `parent`, which is made where it is missing. Errors: kIo, saying which variable names
// another folder.
[[nodiscard]] Result<ScratchFolder> make_fetch_folder(const std::filesystem::path& parent);

// The last line of a log that says anything, for an error message.
[[nodiscard]] std::string last_line(const std::filesystem::path& log);

// Runs a program in `folder` with its output in folder/log; an exit status other than 0 becomes `error` with the log's
// last line.
[[nodiscard]] Status run_logged(std::vector<std::string> arguments, const std::filesystem::path& folder, Error error);

// Gives a finished file of the scratch folder its name, atomically: a file of that name is replaced. Errors: kIo.
[[nodiscard]] Status take_its_place(const std::filesystem::path& finished, const std::filesystem::path& place);

}  // namespace shoal
