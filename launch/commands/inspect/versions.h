// What this program was built with, and what it finds: shared by `shoal version` and `shoal doctor`.
// The worker holds LibTorch, so it is asked by starting it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

// "0.1.0".
[[nodiscard]] std::string program_version();

// Name and version of each library, as loaded where that can be asked, else as compiled against.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> library_versions();

// What decides the bits of the arithmetic on this machine, as shoal-worker states it (it holds LibTorch).
// Errors: kIo, kInternal when the worker is missing or cannot run here.
[[nodiscard]] Result<std::string> worker_fingerprint();

}  // namespace shoal
