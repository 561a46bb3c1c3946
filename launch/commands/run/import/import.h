// `shoal import DIR --to RUN`: a run directory whose first checkpoint is a model that others trained.
// The inverse of `shoal export`, whose folder it takes as well.
#pragma once

#include <string>

#include "launch/start_run.h"
#include "runtime/base/error.h"

namespace shoal {

struct ImportOptions {
  std::string from;  // the folder with config.json and model.safetensors
  RunChoice run;     // `out` is the directory to make
};
// Nothing is left at that directory unless all of it is there. Errors: kUsage (a directory that is not empty, a
// configuration against config.json), kInvalidData (files that cannot be used), kIo, and those of obtaining the corpus.
[[nodiscard]] Result<int> run_import(const ImportOptions& options);

}  // namespace shoal
