// Looks for a damaged file among a library and those that it needs, before the loader maps them (shared_object.h).
//
// A library is found where the loader would find it: in the folders that the one which needs it names, in those of the
// ones that need that one, and in LD_LIBRARY_PATH. What lies in the system's own folders is not looked at.
#pragma once

#include <optional>
#include <string>

namespace shoal {

struct DamagedFile {
  std::string path;
  std::string why;  // "it has 1000 of at least 3000 bytes"
};

// Returns the first file that is cut or damaged, the library itself before those that it needs. A file that cannot be
// read is the loader's to refuse. library_path: as LD_LIBRARY_PATH has it.
[[nodiscard]] std::optional<DamagedFile> find_damaged_file(const std::string& library, const std::string& library_path);

}  // namespace shoal
