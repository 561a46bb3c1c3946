// The weights a run had, as its files say: what S-5 compares. Reads what is on disk; the run may be over or still go
// on, and a line or a manifest that is damaged is passed over.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/base/error.h"

namespace shoal {

// Steps applied -> weights_sha256, from the final lines of metrics.jsonl and the manifests of the checkpoints that are
// still there. Errors: kInvalidData when there are none, kUsage when there is no such directory, kIo.
[[nodiscard]] Result<std::map<std::uint64_t, std::string>> weights_of_run(const std::string& run_directory);

// Why the two runs differ, or nothing. `compared` is the number of steps applied at which they were compared. Errors:
// kInvalidData when they have no step in common.
struct WeightsComparison {
  std::uint64_t steps = 0;  // the last that was compared
  std::uint64_t compared_count = 0;
  std::string difference;  // empty: none
};
[[nodiscard]] Result<WeightsComparison> compare_weights(const std::string& run_directory,
                                                        const std::string& against_directory);

}  // namespace shoal
