// Writes checkpoints off the training path: shards as they arrive, the manifest last, the folder renamed into place. A
// shard may come in pieces: each is written at once, under another name until the last one, and none is kept in memory.
//
//   checkpoints/.step_N.branch_B.partial/stage_K.safetensors (fsync) ... manifest.json (fsync) ─rename─▶ step_N (fsync)
//   a step_N of an older branch and the new one swap their names, and the old one is removed; where the file system
//   cannot do that, the old one steps aside first (.step_N.replaced), where readers find it, and is back if that rename
//   fails
//   one that is pruned is removed under another name (.step_N.pruned)
//
// Whatever fails leaves the checkpoints before it as they were, and frees the space that the failed one took; what a
// killed writer left is cleared by the next one. Those of another run are neither pruned nor replaced, those of a later
// branch not replaced: once one of a branch is saved, shards of the branches before it are refused. Used by the storage
// actor and by `train --single`; one writer per folder at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "messages/storage.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/storage/checkpoint_manifest.h"
#include "runtime/storage/image/image_digests.h"
#include "runtime/storage/image/image_source.h"

namespace shoal {

struct CheckpointWriterSettings {
  std::filesystem::path folder;  // checkpoints/
  int keep = 3;                  // newest ones kept; 0: all
  std::string run;
  std::string config_sha256;
  std::string corpus_sha256;
  // The folder of the journal: it keeps some of its disk (disk_space.h). Empty: there is none, as in one process.
  std::filesystem::path journal_folder{};
};

class CheckpointWriter {
 public:
  // Makes the folder. One that goes later, with a run's directory that is moved, is not made again.
  explicit CheckpointWriter(CheckpointWriterSettings settings);

  // Writes one stage's shard, or a piece of it. A piece at offset 0 begins that shard anew; a further one continues it
  // where it ends so far. With the end of the last missing shard the checkpoint is completed and its manifest returned;
  // older unfinished checkpoints are given up. A shard that is there already is written again, and the one before
  // counts until the other is whole. Errors: kIo (the disk; the checkpoint is given up), kInvalidData (not a
  // safetensors image: what came of it is given up; a piece that continues nothing; a shard that does not agree with
  // the others, or of a branch that was left). `told` hears how many bytes of the shard's image are on the disk.
  [[nodiscard]] Result<std::optional<CheckpointManifest>> add(
      const SaveShard& shard, const Written& told = [](std::uint64_t) {});
  // Writes one stage's shard from its image, piece by piece: as add() of its last piece. Errors: those of add() and of
  // the image.
  [[nodiscard]] Result<std::optional<CheckpointManifest>> add_image(SaveShard shard, ImageSource& image);
  [[nodiscard]] const CheckpointWriterSettings& settings() const { return settings_; }

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // (branch, step)
  // A shard of which pieces came.
  struct Begun {
    ImageDigests digests;
    std::optional<FileReplacement> file{};  // from the first piece that was found good
  };
  struct Partial {
    CheckpointManifest manifest;
    std::uint32_t stages = 0;
    std::map<std::uint32_t, Begun> begun;                                       // per stage
    std::map<std::uint32_t, std::map<std::string, std::string>> tensor_sha256;  // per stage, of the weights
  };

  [[nodiscard]] std::filesystem::path partial_folder(Key key) const;
  [[nodiscard]] Status check_piece(const SaveShard& shard) const;
  [[nodiscard]] Result<Partial*> begin(const SaveShard& shard);
  // True: it was the shard's last piece.
  [[nodiscard]] Result<bool> write_piece(const SaveShard& shard, Partial& partial, const Written& told);
  [[nodiscard]] Result<FileReplacement> begin_file(const SaveShard& shard) const;
  [[nodiscard]] Status check_space_beside_journal(const std::string& path, std::uint64_t wanted) const;
  [[nodiscard]] Status complete(Key key, Partial& partial);
  [[nodiscard]] Status take_name(const std::filesystem::path& folder, Key key) const;
  [[nodiscard]] Status step_aside(const std::filesystem::path& folder, Key key) const;
  void give_up(Key key);
  void give_up_older_than(Key key);
  void clear_leftovers();
  void prune() const;

  CheckpointWriterSettings settings_;
  bool leftovers_cleared_ = false;
  std::uint32_t newest_branch_ = 0;  // of those that were completed here
  std::map<Key, Partial> partials_;  // at most kPartialsMax
};

}  // namespace shoal
