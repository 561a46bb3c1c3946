// The disk side of saving a checkpoint (see the header for the order of writes).
#include "runtime/storage/checkpoint_writer.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <vector>

#include "runtime/base/bound.h"
#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/machine/disk_space.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/storage/image/image_bytes.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

const Bound kPartialsMax{"storage.unfinished_checkpoints",
                         4};  // unfinished checkpoints at a time: the oldest gives way, or is not begun
constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kReplaced = ".replaced";  // folder_aside()
constexpr std::string_view kPruned = ".pruned";

// A checkpoint's folder under a name by which nobody finds it.
fs::path name_to_prune(const fs::path& folder) {
  return folder.parent_path() / compose(".", folder.filename().string(), kPruned);
}

// Swaps two names at once. False: one of them is not there, or the file system cannot.
bool swap_names(const fs::path& one, const fs::path& other) {
  return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
}

std::span<const std::byte> bytes_of(const TensorBlob& image) {
  if (!image.has_value()) return {};
  return {image.bytes->data(), image.byte_count()};
}

std::string file_name_of(StageId stage) { return compose("stage_", stage, ".safetensors"); }

bool is_left_over(const fs::path& path) {
  const std::string name = path.filename().string();
  const bool is_hidden = name.ends_with(kPartial) || name.ends_with(kReplaced) || name.ends_with(kPruned);
  return name.starts_with(".step_") && is_hidden;
}

}  // namespace

CheckpointWriter::CheckpointWriter(CheckpointWriterSettings settings) : settings_(std::move(settings)) {
  std::error_code ignored;
  fs::create_directories(settings_.folder, ignored);  // the first shard tells
}

fs::path CheckpointWriter::partial_folder(Key key) const {
  return settings_.folder / compose(".step_", key.second, ".branch_", key.first, kPartial);
}

Result<std::optional<CheckpointManifest>> CheckpointWriter::add_image(SaveShard shard, ImageSource& image) {
  shard.bytes_total = image.byte_count();
  while (true) {
    auto piece = image.read(shard.offset, kImagePieceBytes);
    if (!piece) return piece.failure();
    shard.image = std::move(*piece);
    auto manifest = add(shard);
    if (!manifest) return manifest.failure();
    shard.offset += shard.image.byte_count();
    if (shard.offset == shard.bytes_total) return manifest;
  }
}

Result<std::optional<CheckpointManifest>> CheckpointWriter::add(const SaveShard& shard, const Written& told) {
  if (!leftovers_cleared_) clear_leftovers();
  if (auto fits = check_piece(shard); !fits) return fits.failure();
  const Key key(shard.branch.value, shard.step);
  auto partial = begin(shard);
  if (!partial) return partial.failure();
  const auto written = write_piece(shard, *partial.value(), told);
  if (!written) {
    if (written.failure().error == Error::kIo) give_up(key);
    return written.failure();
  }
  const bool is_whole = *written && partial.value()->tensor_sha256.size() == shard.stages;
  if (!is_whole) return std::optional<CheckpointManifest>();
  if (auto completed = complete(key, *partial.value()); !completed) {
    give_up(key);
    return completed.failure();
  }
  std::optional<CheckpointManifest> manifest = std::move(partial.value()->manifest);
  partials_.erase(key);
  newest_branch_ = std::max(newest_branch_, key.first);
  give_up_older_than(key);
  prune();
  return manifest;
}

// A further piece is of a shard that was begun: it neither makes a checkpoint nor puts another one out.
Status CheckpointWriter::check_piece(const SaveShard& shard) const {
  const std::uint64_t total = image_bytes(shard);
  const auto partial = partials_.find({shard.branch.value, shard.step});
  const Begun* begun = nullptr;
  if (shard.offset > 0 && partial != partials_.end()) {
    const auto found = partial->second.begun.find(shard.stage.value);
    if (found != partial->second.begun.end()) begun = &found->second;
  }
  const std::uint64_t taken = begun != nullptr ? begun->digests.taken() : 0;
  const bool continues = shard.offset == taken && (begun == nullptr || begun->digests.byte_count() == total);
  if (continues && shard.image.byte_count() <= total - std::min(total, shard.offset)) return Done{};
  return fail(Error::kInvalidData, compose("a piece of the shard of stage ", shard.stage, " of step ", shard.step, ", ",
                                           shard.image.byte_count(), " bytes from ", shard.offset, " on, of ", total,
                                           ", does not go on where the shard ends so far, which is at ", taken));
}

Result<CheckpointWriter::Partial*> CheckpointWriter::begin(const SaveShard& shard) {
  if (shard.stage.value >= shard.stages) {
    return fail(Error::kInvalidData, compose("a shard of stage ", shard.stage, " of ", shard.stages, " stages"));
  }
  const Key key(shard.branch.value, shard.step);
  if (key.first < newest_branch_) {
    return fail(Error::kInvalidData, compose("a shard of step ", shard.step, " of branch ", shard.branch,
                                             ", which the run has left: branch ", newest_branch_, " is saved"));
  }
  const bool is_one_more = !partials_.contains(key) && kPartialsMax.is_reached_by(partials_.size());
  if (is_one_more && key < partials_.begin()->first) {
    return fail(Error::kInvalidData, compose("a shard of step ", shard.step, " of branch ", shard.branch, ", while ",
                                             partials_.size(), " later checkpoints are unfinished"));
  }
  if (is_one_more) give_up(partials_.begin()->first);
  const auto [found, is_new] = partials_.try_emplace(key);
  Partial& partial = found->second;
  CheckpointManifest& manifest = partial.manifest;
  if (is_new) {
    partial.stages = shard.stages;
    manifest.run = settings_.run;
    manifest.branch = shard.branch.value;
    manifest.step = shard.step;
    manifest.optimizer_step = shard.optimizer_step;
    manifest.tokens_total = shard.tokens_total;
    manifest.config_sha256 = settings_.config_sha256;
    manifest.corpus_sha256 = settings_.corpus_sha256;
  }
  if (partial.stages != shard.stages || manifest.optimizer_step != shard.optimizer_step ||
      manifest.tokens_total != shard.tokens_total) {
    return fail(Error::kInvalidData, compose("the shard of stage ", shard.stage, " and the others of step ", shard.step,
                                             " disagree about stages, updates or tokens"));
  }
  return &partial;
}

Result<bool> CheckpointWriter::write_piece(const SaveShard& shard, Partial& partial, const Written& told) {
  const std::uint32_t stage = shard.stage.value;
  const auto piece = bytes_of(shard.image);
  if (shard.offset == 0) {
    const std::string where = compose("the shard of stage ", shard.stage);
    partial.begun.erase(stage);
    partial.begun.emplace(stage, Begun{ImageDigests(image_bytes(shard), where)});
  }
  Begun& begun = partial.begun.at(stage);
  if (auto taken = begun.digests.add(piece); !taken) {
    partial.begun.erase(stage);
    return taken.failure();
  }
  if (!begun.file) {
    auto file = begin_file(shard);
    if (!file) return file.failure();
    begun.file = std::move(file.value());
  }
  const std::string path = (partial_folder({shard.branch.value, shard.step}) / file_name_of(shard.stage)).string();
  if (auto fits = check_space_beside_journal(path, piece.size()); !fits) return fits.failure();
  const std::string_view bytes(reinterpret_cast<const char*>(piece.data()), piece.size());
  if (auto written = begun.file->append_durably(bytes, told); !written) return written.failure();
  if (!begun.digests.is_whole()) return false;
  if (auto finished = begun.file->finish(); !finished) return finished.failure();
  auto digests = begun.digests.finish();
  partial.manifest.files[file_name_of(shard.stage)] = {std::move(digests.image), image_bytes(shard)};
  partial.tensor_sha256[stage] = std::move(digests.weights);
  partial.begun.erase(stage);
  return true;
}

// Refuses a shard for which there is no space as a whole.
Result<FileReplacement> CheckpointWriter::begin_file(const SaveShard& shard) const {
  std::error_code error;
  const auto folder = partial_folder({shard.branch.value, shard.step});
  // A person who made room by removing all checkpoints left the folder around them.
  const fs::path around = (fs::absolute(settings_.folder) / "..").lexically_normal();
  if (!fs::is_directory(around, error)) {
    return fail(Error::kIo, compose(around.string(), " is gone: was the run's directory moved?"));
  }
  fs::create_directories(folder, error);
  if (error) return fail(Error::kIo, compose("cannot make ", folder.string(), ": ", error.message()));
  const std::string path = (folder / file_name_of(shard.stage)).string();
  if (auto fits = check_space_beside_journal(path, image_bytes(shard)); !fits) return fits.failure();
  return FileReplacement::begin(path);
}

// Checks the space anew for each piece: files of others, and shards beside this one, take it meanwhile.
Status CheckpointWriter::check_space_beside_journal(const std::string& path, std::uint64_t wanted) const {
  const std::string journal = settings_.journal_folder.string();
  const bool is_beside = !journal.empty() && is_on_disk_of(settings_.folder.string(), journal);
  return check_space(path, wanted, is_beside ? kLeftForTheJournal : 0);
}

Status CheckpointWriter::complete(Key key, Partial& partial) {
  partial.begun.clear();  // a shard that is there, on its way once more
  std::map<std::string, std::string> all;
  for (const auto& [stage, hashes] : partial.tensor_sha256) {
    for (const auto& [name, hash] : hashes) {
      if (all.emplace(name, hash).second) continue;
      return fail(Error::kInvalidData, compose("two stages save the tensor ", name, " of step ", key.second));
    }
  }
  partial.manifest.weights_sha256 = weights_sha256(all);
  const auto folder = partial_folder(key);
  if (auto written = replace_file((folder / "manifest.json").string(), to_json(partial.manifest)); !written) {
    return written.failure();
  }
  return take_name(folder, key);
}

Status CheckpointWriter::take_name(const fs::path& folder, Key key) const {
  const auto target = folder_of_step(settings_.folder, key.second);
  const auto there = read_manifest(target);
  if (there && there->run != settings_.run) {
    return fail(Error::kInvalidData, compose(target.string(), " is a checkpoint of run ", there->run,
                                             ", and stays; give each run a checkpoint.dir of its own"));
  }
  if (there && there->branch > key.first) {
    return fail(Error::kInvalidData, compose(target.string(), " is a checkpoint of branch ", there->branch,
                                             ", and stays: one of branch ", key.first, " came late"));
  }
  std::error_code error;
  if (swap_names(folder, target)) {
    if (auto synced = sync_folder(settings_.folder.string()); !synced) {
      (void)swap_names(folder, target);
      return synced.failure();
    }
    fs::remove_all(folder, error);
    return Done{};
  }
  return step_aside(folder, key);
}

// Where names cannot be swapped: a reader finds the one that steps aside under its other name.
Status CheckpointWriter::step_aside(const fs::path& folder, Key key) const {
  const auto target = folder_of_step(settings_.folder, key.second);
  const auto aside = folder_aside(settings_.folder, key.second);
  std::error_code error;
  fs::remove_all(aside, error);
  std::error_code nothing_there;
  fs::rename(target, aside, nothing_there);
  fs::rename(folder, target, error);
  if (error) {
    const Failure failure = fail(Error::kIo, compose("cannot rename ", folder.string(), ": ", error.message()));
    if (!nothing_there) fs::rename(aside, target, error);
    return failure;
  }
  if (auto synced = sync_folder(settings_.folder.string()); !synced) return synced.failure();
  fs::remove_all(aside, error);
  return Done{};
}

void CheckpointWriter::give_up(Key key) {
  partials_.erase(key);
  std::error_code error;
  fs::remove_all(partial_folder(key), error);
}

void CheckpointWriter::give_up_older_than(Key key) {
  while (!partials_.empty() && partials_.begin()->first < key) {
    log_warn("storage", "the checkpoint of step ", partials_.begin()->first.second, " was never finished");
    give_up(partials_.begin()->first);
  }
}

// Clears what a killed writer left behind: unfinished and half removed folders go; a checkpoint that had stepped aside
// returns, or stays where readers find it.
void CheckpointWriter::clear_leftovers() {
  leftovers_cleared_ = true;
  std::error_code error;
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(settings_.folder, error)) {
    if (is_left_over(entry.path())) left.push_back(entry.path());
  }
  for (const auto& path : left) {
    const std::string name = path.filename().string();
    const auto target = settings_.folder / name.substr(1, name.size() - 1 - kReplaced.size());
    if (name.ends_with(kReplaced) && !fs::exists(target, error)) {
      fs::rename(path, target, error);
    } else {
      fs::remove_all(path, error);
    }
  }
}

// Takes a checkpoint's name first: to remove its files takes a while, and a writer that is killed in the middle of it
// leaves a name that the next one clears.
void CheckpointWriter::prune() const {
  if (settings_.keep == 0) return;
  const auto steps = list_checkpoints(settings_.folder, settings_.run, Damaged::kLeftOut);
  for (std::size_t i = static_cast<std::size_t>(settings_.keep); i < steps.size(); ++i) {
    const auto folder = checkpoint_folder(settings_.folder, steps[i]);
    const auto pruned = name_to_prune(folder_of_step(settings_.folder, steps[i]));
    std::error_code error;
    fs::remove_all(pruned, error);
    fs::rename(folder, pruned, error);
    if (!error) fs::remove_all(pruned, error);
    if (error) log_warn("storage", "cannot remove checkpoint step_", steps[i], ": ", error.message());
  }
}

}  // namespace shoal
