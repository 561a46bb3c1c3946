// `shoal init CONFIG --out FILE`: the initial weights of a run as safetensors, for other programs to start from.
// The tensors and their names are those of checkpoints, which start as these.
#pragma once

#include <string>

#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

struct InitOptions {
  Config config;
  std::string out;        // the file
  std::string warning{};  // for the person; empty: nothing to say
};
[[nodiscard]] Result<int> run_init(const InitOptions& options);

}  // namespace shoal
