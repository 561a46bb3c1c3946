// Finds, verifies and reads checkpoints. A checkpoint is used whole or not at all: every file's size and SHA-256 is
// compared with the manifest before a tensor is believed. No file is in memory whole: they stay open, and what is read
// of them later is verified once more (image/verified_file.h).
//
// Tensors have global names, so a checkpoint of any number of stages loads into any other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/tensor_blob.h"
#include "runtime/base/error.h"
#include "runtime/storage/checkpoint_manifest.h"
#include "runtime/storage/image/image_source.h"
#include "runtime/storage/image/stored_image.h"

namespace shoal {

// checkpoints/step_N, and checkpoints/.step_N.replaced: the name of one that steps aside for another of its step, where
// the file system cannot swap the two.
[[nodiscard]] std::filesystem::path folder_of_step(const std::filesystem::path& checkpoints, std::uint64_t step);
[[nodiscard]] std::filesystem::path folder_aside(const std::filesystem::path& checkpoints, std::uint64_t step);
// Where the checkpoint of that step is: aside if its writer was killed before the other one took its place, else at
// step_N, whether there is one or not.
[[nodiscard]] std::filesystem::path checkpoint_folder(const std::filesystem::path& checkpoints, std::uint64_t step);
// Reads the manifest of such a folder and no other byte. Errors: kIo (there is none), kInvalidData.
[[nodiscard]] Result<CheckpointManifest> read_manifest(const std::filesystem::path& folder);
// Says which of a folder's checkpoints are listed. A damaged manifest does not tell whose it is.
enum class Damaged { kIncluded, kLeftOut };
// Steps of the finished checkpoints of a run there (folders with a manifest; `run` empty: of any), newest first: by
// branch, then by step, because a roll-back leaves higher steps of a dead branch behind. Those whose manifest is
// damaged come last.
[[nodiscard]] std::vector<std::uint64_t> list_checkpoints(const std::filesystem::path& checkpoints,
                                                          const std::string& run = {},
                                                          Damaged damaged = Damaged::kIncluded);

// Copies read the same open files, also when these were pruned since.
class Checkpoint {
 public:
  // Reads and verifies. Errors: kInvalidData saying which file is truncated, changed, missing or of another run
  // (`run` empty: any), kIo.
  [[nodiscard]] static Result<Checkpoint> open(const std::filesystem::path& folder, const std::string& run = {});

  [[nodiscard]] const CheckpointManifest& manifest() const { return manifest_; }
  // A safetensors image of these weights and of their optimizer.* tensors where there are any, to be read in pieces;
  // it may outlive this. Errors: kInvalidData naming a tensor the checkpoint lacks.
  [[nodiscard]] Result<std::shared_ptr<ImageSource>> source_of(const std::vector<std::string>& names) const;
  // The same image in memory, uint8 [n]. Errors: also those of reading it, kInvalidData (a file was changed since it
  // was opened) and kIo.
  [[nodiscard]] Result<TensorBlob> image_of(const std::vector<std::string>& names) const;
  // Image of every weight, without optimiser state. Errors: those of reading it; kInvalidData where an agreed weight is
  // not of its weight's size.
  [[nodiscard]] Result<TensorBlob> weights_image() const;
  [[nodiscard]] std::vector<std::string> weight_names() const;

 private:
  CheckpointManifest manifest_;
  std::vector<FiledTensor> tensors_;  // ascending by name
};

// The newest good checkpoint of the run (`run` empty: of any), or the named one. Those that were passed over are in
// `skipped`, with the reason; those of more than `not_beyond` steps are not looked at. Errors: kInvalidData when none
// is good, or when the named one is not; kIo when the system refuses to read what may be one.
inline constexpr std::uint64_t kAnyStep = ~std::uint64_t{0};
struct FoundCheckpoint {
  std::optional<Checkpoint> checkpoint;  // empty: there is none at all
  std::vector<std::string> skipped;
  // Reason for passing over one that may be good and newer: the system refused to read it now. Empty: no such one.
  std::optional<std::string> unreadable{};
};
[[nodiscard]] Result<FoundCheckpoint> find_checkpoint(const std::filesystem::path& checkpoints, const std::string& run,
                                                      std::optional<std::uint64_t> step = std::nullopt,
                                                      std::uint64_t not_beyond = kAnyStep);

}  // namespace shoal
