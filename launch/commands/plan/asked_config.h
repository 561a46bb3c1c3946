// Reads the configuration of a command that starts no run: `plan`, `init`, `data order`, `simulate step`.
// It is checked as that of a new run, and a warning names the keys that have no effect.
#pragma once

#include <string>

#include "launch/options.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

struct AskedConfig {
  Config config;
  std::string warning;  // for the person; empty: nothing to say
};

// Reads CONFIG (or none), the environment and --set. Errors: kUsage, and those of settle_vocabulary().
[[nodiscard]] Result<AskedConfig> config_of(const Options& options);
// Reads a run's configuration in the place of CONFIG. What it holds was checked, and warned of, when the run began.
[[nodiscard]] Result<AskedConfig> config_of_run(const Options& options, const std::string& run_directory);

}  // namespace shoal
