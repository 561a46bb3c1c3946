// The last file of a checkpoint: what it is a checkpoint of, and the hashes that make every other byte checkable.
//
//   step_N/stage_0.safetensors ... step_N/manifest.json        a folder without a manifest is no checkpoint
//
// A manifest is written after its shards are on disk, in a folder that is renamed into place, so that a checkpoint is
// there whole or not at all. Its own bytes are covered too: `manifest_sha256`, its last key, is the SHA-256 of the
// file's text with 64 zeros in that place.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/base/error.h"

namespace shoal {

struct CheckpointFile {
  std::string sha256;  // hex
  std::uint64_t bytes = 0;
  friend bool operator==(const CheckpointFile&, const CheckpointFile&) = default;
};

struct CheckpointManifest {
  std::string run;  // hex, as in spawner.json
  std::uint32_t branch = 0;
  std::uint64_t step = 0;            // steps applied
  std::uint64_t optimizer_step = 0;  // updates applied (skipped steps do not count)
  std::uint64_t tokens_total = 0;
  std::string config_sha256;
  std::string corpus_sha256;
  std::string weights_sha256;  // DESIGN.md §8
  std::map<std::string, CheckpointFile> files;
  friend bool operator==(const CheckpointManifest&, const CheckpointManifest&) = default;
};

[[nodiscard]] std::string to_json(const CheckpointManifest& manifest);
// Errors: kInvalidData naming the missing or ill-typed key, or saying that the text was changed; `where` is the path
// for the sentence.
[[nodiscard]] Result<CheckpointManifest> parse_checkpoint_manifest(const std::string& text, const std::string& where);

// SHA-256 over the lines "<name> <hex SHA-256 of the tensor's fp32 bytes>\n", names in byte order.
[[nodiscard]] std::string weights_sha256(const std::map<std::string, std::string>& tensor_sha256);

}  // namespace shoal
