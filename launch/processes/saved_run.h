// What commands need of a run that is not running: its configuration, a verified checkpoint, its tokenizer.
// Nothing here writes: a damaged run is described, never repaired.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/data/tokenizers/tokenizer.h"
#include "runtime/storage/checkpoint_reader.h"

namespace shoal {

struct SavedRun {
  Config config;
  Checkpoint checkpoint;
  std::shared_ptr<const Tokenizer> tokenizer;
};

// With the checkpoint after `step` steps of this run (of any run where a copy was made without its certs/), or the
// newest good one; passed-over ones are named on stderr. Errors: kInvalidData when there is none,
// or the tokenizer is not the run's; those of make_tokenizer().
[[nodiscard]] Result<SavedRun> open_saved_run(const std::string& run_directory, std::optional<std::uint64_t> step);

}  // namespace shoal
