// The first of two that come at once wins: a link to a name that is there already fails.
#include "runtime/storage/checkpoint_claim.h"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/storage/checkpoint_reader.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

fs::path claim_in(const fs::path& folder) { return folder / ".run"; }

std::string text_of(const CheckpointOwner& owner) { return compose(owner.run, "\n", owner.directory, "\n"); }

// Nothing where nobody has claimed the folder.
Result<std::optional<CheckpointOwner>> claimed_by(const fs::path& folder) {
  const fs::path claim = claim_in(folder);
  std::error_code error;
  const bool is_gone = fs::symlink_status(claim, error).type() == fs::file_type::not_found;
  if (is_gone) return std::optional<CheckpointOwner>();
  const auto text = read_file(claim.string());
  if (!text) return fail(Error::kIo, compose(text.failure().message, "; it says whose checkpoints these are"));
  const auto end = text->find('\n');
  if (end != std::string::npos) {
    return std::optional(
        CheckpointOwner{text->substr(0, end), text->substr(end + 1, text->find('\n', end + 1) - end - 1)});
  }
  return fail(Error::kUsage, compose(claim.string(), " does not say whose checkpoints these are; remove it if ",
                                     folder.string(), " belongs to no other run"));
}

Failure is_others(const fs::path& folder, const std::string& whose) {
  return fail(Error::kUsage, compose("checkpoint.dir ", folder.string(), " holds the checkpoints of ", whose,
                                     "; name a folder of its own for each run, or remove that one if its run is gone"));
}

Status check_claim(const fs::path& folder, const CheckpointOwner& asking) {
  const auto owner = claimed_by(folder);
  if (!owner) return owner.failure();
  if (!*owner || (*owner)->run == asking.run) return Done{};
  return is_others(folder, compose("run ", (*owner)->run, " (", (*owner)->directory, ")"));
}

}  // namespace

std::optional<CheckpointManifest> others_manifest(const fs::path& folder, const std::string& run) {
  for (const std::uint64_t step : list_checkpoints(folder, {}, Damaged::kLeftOut)) {
    auto manifest = read_manifest(checkpoint_folder(folder, step));
    if (manifest && manifest->run != run) return std::move(*manifest);
  }
  return std::nullopt;
}

Status check_checkpoints(const fs::path& folder, const CheckpointOwner& asking) {
  if (auto free = check_claim(folder, asking); !free) return free;
  const auto found = others_manifest(folder, asking.run);
  if (!found) return Done{};
  return is_others(folder, compose("run ", found->run, " (step_", found->step, ")"));
}

Status claim_checkpoints(const fs::path& folder, const CheckpointOwner& asking) {
  if (auto free = check_checkpoints(folder, asking); !free) return free;
  const auto owner = claimed_by(folder);
  if (!owner) return owner.failure();
  if (*owner) return Done{};
  const fs::path claim = claim_in(folder);
  const fs::path own = folder / compose(".run.", asking.run);
  if (auto written = replace_file(own.string(), text_of(asking)); !written) return written;
  const bool is_taken = ::link(own.c_str(), claim.c_str()) != 0 && errno == EEXIST;
  std::error_code error;
  if (is_taken || fs::exists(claim, error)) {
    fs::remove(own, error);
    return check_claim(folder, asking);
  }
  fs::rename(own, claim, error);  // the file system has no links
  if (error) return fail(Error::kIo, compose("cannot make ", claim.string(), ": ", error.message()));
  return Done{};
}

}  // namespace shoal
