// Claims a folder of checkpoints outside of a run's directory (checkpoint.dir) for one run at a time.
//
//   FOLDER/.run   two lines: the run, and its directory; made by the run that comes first
//
// Two runs with one configuration would otherwise name their checkpoints alike. A folder without that file belongs to
// the run whose checkpoints are in it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/base/error.h"
#include "runtime/storage/checkpoint_manifest.h"

namespace shoal {

struct CheckpointOwner {
  std::string run;        // as in manifests; empty: a run that is to be begun
  std::string directory;  // the run's directory, for people
};

// Returns the manifest of the newest checkpoint there that is not of `run`; nothing if all are.
[[nodiscard]] std::optional<CheckpointManifest> others_manifest(const std::filesystem::path& folder,
                                                                const std::string& run);

// Changes nothing. Errors: kUsage, the folder is another run's: whose, and what to do; or it does not say whose. kIo:
// the claim cannot be read.
[[nodiscard]] Status check_checkpoints(const std::filesystem::path& folder, const CheckpointOwner& asking);

// The same, and from here on the folder, which exists, is the asking one's. Errors: kUsage, kIo.
[[nodiscard]] Status claim_checkpoints(const std::filesystem::path& folder, const CheckpointOwner& asking);

}  // namespace shoal
