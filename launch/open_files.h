// Limit of files and links that a process may have open at once. What a shell gives (1024, often less) is for programs
// that use select(), which nothing here does; a spawner of many nodes has several links to each.
#pragma once

#include <cstdint>

#include "runtime/base/error.h"

namespace shoal {

inline constexpr std::uint64_t kOpenFilesWanted = 65536;
inline constexpr std::uint64_t kOpenFilesLeast = 128;  // a node of 2x2 has 60 in use

// Raises the limit to what is wanted or the machine grants; children inherit it. It does not take all that is granted:
// some programs close every number below the limit before they begin.
void raise_open_file_limit();

[[nodiscard]] std::uint64_t open_files_allowed();

// Refuses too low a limit: the run would wait for links that cannot be made. kUsage.
[[nodiscard]] Status check_open_files(std::uint64_t allowed);

}  // namespace shoal
