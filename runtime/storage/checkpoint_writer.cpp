// The disk side of saving a checkpoint (see the header for the order of writes).
#include "runtime/storage/checkpoint_writer.h"

#include <system_error>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/sha256.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/storage/safetensors.h"

namespace shoal {
namespace {

constexpr std::size_t kPartialsMax = 4;  // unfinished checkpoints remembered; older ones lost a writer

bool is_weight(const std::string& name) { return !name.starts_with("optimizer."); }

}  // namespace

std::filesystem::path CheckpointWriter::partial_folder(const SaveShard& shard) const {
  return settings_.folder / compose(".step_", shard.step, ".branch_", shard.branch, ".partial");
}

Result<std::optional<CheckpointManifest>> CheckpointWriter::add(const SaveShard& shard) {
  while (partials_.size() > kPartialsMax) partials_.erase(partials_.begin());
  const auto key = std::pair(shard.branch.value, shard.step);
  Partial& partial = partials_[key];
  partial.manifest.run = settings_.run;
  partial.manifest.branch = shard.branch.value;
  partial.manifest.step = shard.step;
  partial.manifest.optimizer_step = shard.optimizer_step;
  partial.manifest.tokens_total = shard.tokens_total;
  partial.manifest.config_sha256 = settings_.config_sha256;
  partial.manifest.corpus_sha256 = settings_.corpus_sha256;
  if (auto written = write_shard(shard, partial); !written) return written.failure();
  if (partial.tensor_sha256.size() < shard.stages) return std::optional<CheckpointManifest>();
  if (auto completed = complete(shard, partial); !completed) return completed.failure();
  std::optional<CheckpointManifest> manifest = partial.manifest;
  partials_.erase(key);
  prune();
  return manifest;
}

Status CheckpointWriter::write_shard(const SaveShard& shard, Partial& partial) {
  const std::span<const std::byte> image(shard.image.has_value() ? shard.image.bytes->data() : nullptr,
                                         shard.image.byte_count());
  const auto tensors = parse_safetensors(image, compose("the shard of stage ", shard.stage));
  if (!tensors) return tensors.failure();
  std::error_code error;
  const auto folder = partial_folder(shard);
  std::filesystem::create_directories(folder, error);
  if (error) return fail(Error::kIo, compose("cannot make ", folder.string(), ": ", error.message()));
  const std::string name = compose("stage_", shard.stage, ".safetensors");
  const std::string_view bytes(reinterpret_cast<const char*>(image.data()), image.size());
  if (auto written = replace_file((folder / name).string(), bytes); !written) return written.failure();
  partial.manifest.files[name] = {sha256_hex(image), image.size()};
  auto& hashes = partial.tensor_sha256[shard.stage.value];
  hashes.clear();
  for (const auto& tensor : tensors.value()) {
    if (is_weight(tensor.name)) hashes[tensor.name] = sha256_hex(tensor.bytes);
  }
  return Done{};
}

Status CheckpointWriter::complete(const SaveShard& shard, Partial& partial) {
  std::map<std::string, std::string> all;
  for (const auto& [stage, hashes] : partial.tensor_sha256) all.insert(hashes.begin(), hashes.end());
  partial.manifest.weights_sha256 = weights_sha256(all);
  const auto folder = partial_folder(shard);
  const auto target = checkpoint_folder(settings_.folder, shard.step);
  if (auto written = replace_file((folder / "manifest.json").string(), to_json(partial.manifest)); !written) {
    return written.failure();
  }
  std::error_code error;
  std::filesystem::remove_all(target, error);  // the same step of an older branch
  std::filesystem::rename(folder, target, error);
  if (error) return fail(Error::kIo, compose("cannot rename ", folder.string(), ": ", error.message()));
  return sync_folder(settings_.folder.string());
}

void CheckpointWriter::prune() const {
  if (settings_.keep == 0) return;
  auto steps = list_checkpoints(settings_.folder);
  for (std::size_t i = static_cast<std::size_t>(settings_.keep); i < steps.size(); ++i) {
    std::error_code error;
    std::filesystem::remove_all(checkpoint_folder(settings_.folder, steps[i]), error);
    if (error) log_warn("storage", "cannot remove checkpoint step_", steps[i], ": ", error.message());
  }
}

}  // namespace shoal
