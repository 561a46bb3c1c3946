// Writes checkpoints off the training path: shards as they arrive, the manifest last, the folder renamed into place.
//
//   checkpoints/.step_N.branch_B.partial/stage_K.safetensors (fsync) ... manifest.json (fsync) ─rename─▶ step_N (fsync)
//
// Whatever fails leaves the checkpoints before it as they were. Used by the storage actor and by `train --single`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "messages/storage.h"
#include "runtime/base/error.h"
#include "runtime/storage/checkpoint_manifest.h"

namespace shoal {

struct CheckpointWriterSettings {
  std::filesystem::path folder;  // checkpoints/
  int keep = 3;                  // newest ones kept; 0: all
  std::string run;
  std::string config_sha256;
  std::string corpus_sha256;
};

class CheckpointWriter {
 public:
  explicit CheckpointWriter(CheckpointWriterSettings settings) : settings_(std::move(settings)) {}

  // Writes one stage's shard. With the last missing one the checkpoint is completed and its manifest returned. A shard
  // that is there already is written again. Errors: kIo (the disk), kInvalidData (not a safetensors image).
  [[nodiscard]] Result<std::optional<CheckpointManifest>> add(const SaveShard& shard);

 private:
  struct Partial {
    CheckpointManifest manifest;
    std::map<std::uint32_t, std::map<std::string, std::string>> tensor_sha256;  // per stage, of the weights
  };

  [[nodiscard]] std::filesystem::path partial_folder(const SaveShard& shard) const;
  [[nodiscard]] Status write_shard(const SaveShard& shard, Partial& partial);
  [[nodiscard]] Status complete(const SaveShard& shard, Partial& partial);
  void prune() const;

  CheckpointWriterSettings settings_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Partial> partials_;  // by (branch, step)
};

}  // namespace shoal
