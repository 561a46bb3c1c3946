// The reading side of checkpoints (see the header for what is verified).
#include "runtime/storage/checkpoint_reader.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/storage/safetensors.h"
#include "runtime/storage/state_names.h"

namespace shoal {
namespace {

constexpr std::string_view kPrefix = "step_";

std::optional<std::uint64_t> step_of(const std::string& folder_name) {
  if (!folder_name.starts_with(kPrefix)) return std::nullopt;
  std::uint64_t step = 0;
  const char* begin = folder_name.data() + kPrefix.size();
  const char* end = folder_name.data() + folder_name.size();
  const auto [at, error] = std::from_chars(begin, end, step);
  return error == std::errc() && at == end ? std::optional(step) : std::nullopt;
}

Result<std::shared_ptr<AlignedBuffer>> read_verified(const std::filesystem::path& path,
                                                     const CheckpointFile& expected) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return fail(Error::kInvalidData, compose(path.string(), " is missing: ", error.message()));
  if (size != expected.bytes) {
    return fail(Error::kInvalidData,
                compose(path.string(), " has ", size, " bytes, its manifest says ", expected.bytes));
  }
  auto buffer = std::make_shared<AlignedBuffer>(size);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(buffer->data()), static_cast<std::streamsize>(size));
  if (!file) return fail(Error::kIo, compose("cannot read ", path.string(), " to its end"));
  if (sha256_hex(std::span<const std::byte>(buffer->data(), buffer->size())) != expected.sha256) {
    return fail(Error::kInvalidData, compose(path.string(), " was changed: its SHA-256 is not the manifest's"));
  }
  return buffer;
}

// Every tensor of every shard, ascending by name. No name is there twice.
Result<std::vector<StoredTensor>> all_tensors(const std::map<std::string, std::shared_ptr<AlignedBuffer>>& images,
                                              const std::filesystem::path& folder) {
  std::vector<StoredTensor> all;
  for (const auto& [name, image] : images) {
    auto tensors = parse_safetensors({image->data(), image->size()}, (folder / name).string());
    if (!tensors) return tensors.failure();
    all.insert(all.end(), tensors->begin(), tensors->end());
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name == b.name; });
  if (twice != all.end()) {
    return fail(Error::kInvalidData, compose(folder.string(), " holds the tensor ", twice->name, " twice"));
  }
  return all;
}

bool is_weight(const StoredTensor& tensor) { return is_weight_name(tensor.name); }

// What orders checkpoints: a later branch is newer whatever its step; one without a readable manifest comes last.
struct Age {
  bool is_readable = false;
  std::uint32_t branch = 0;
  std::uint64_t step = 0;
  friend auto operator<=>(const Age&, const Age&) = default;
};

// Nothing for one that is not asked for.
std::optional<Age> age_of(const std::filesystem::path& folder, std::uint64_t step, const std::string& run,
                          Damaged damaged) {
  const auto manifest = read_manifest(folder);
  if (!manifest) return damaged == Damaged::kIncluded ? std::optional(Age{false, 0, step}) : std::nullopt;
  const bool is_ours = run.empty() || manifest->run == run;
  return is_ours ? std::optional(Age{true, manifest->branch, step}) : std::nullopt;
}

Failure no_such_step(const std::filesystem::path& checkpoints, const std::string& run, std::uint64_t step) {
  std::string there;
  for (const std::uint64_t one : list_checkpoints(checkpoints, run)) there += compose(there.empty() ? "" : ", ", one);
  return fail(Error::kInvalidData, compose("no checkpoint of step ", step, " in ", checkpoints.string(),
                                           "; there are: ", there.empty() ? "none" : there));
}

}  // namespace

std::filesystem::path checkpoint_folder(const std::filesystem::path& checkpoints, std::uint64_t step) {
  return checkpoints / compose(kPrefix, step);
}

Result<CheckpointManifest> read_manifest(const std::filesystem::path& folder) {
  const std::string path = (folder / "manifest.json").string();
  const auto text = read_file(path);
  if (!text) return text.failure();
  return parse_checkpoint_manifest(*text, path);
}

std::vector<std::uint64_t> list_checkpoints(const std::filesystem::path& checkpoints, const std::string& run,
                                            Damaged damaged) {
  std::vector<Age> ages;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoints, error)) {
    const auto step = step_of(entry.path().filename().string());
    std::error_code refused;
    if (!step || !std::filesystem::exists(entry.path() / "manifest.json", refused)) continue;
    if (const auto age = age_of(entry.path(), *step, run, damaged)) ages.push_back(*age);
  }
  std::sort(ages.begin(), ages.end(), std::greater<>());
  std::vector<std::uint64_t> steps;
  for (const Age& age : ages) steps.push_back(age.step);
  return steps;
}

Result<Checkpoint> Checkpoint::open(const std::filesystem::path& folder, const std::string& run) {
  std::error_code error;
  if (!std::filesystem::exists(folder / "manifest.json", error)) {
    return fail(Error::kInvalidData, compose(folder.string(), " is no checkpoint: it has no manifest.json"));
  }
  auto manifest = read_manifest(folder);
  if (!manifest) return manifest.failure();
  if (!run.empty() && manifest->run != run) {
    return fail(Error::kInvalidData, compose(folder.string(), " belongs to run ", manifest->run, ", not to ", run));
  }
  const auto step = step_of(folder.filename().string());
  if (step && *step != manifest->step) {
    return fail(Error::kInvalidData, compose(folder.string(), " holds the checkpoint of step ", manifest->step));
  }
  Checkpoint checkpoint;
  checkpoint.manifest_ = std::move(manifest.value());
  for (const auto& [name, file] : checkpoint.manifest_.files) {
    auto image = read_verified(folder / name, file);
    if (!image) return image.failure();
    checkpoint.images_[name] = std::move(image.value());
  }
  auto tensors = all_tensors(checkpoint.images_, folder);
  if (!tensors) return tensors.failure();
  checkpoint.tensors_ = std::move(tensors.value());
  return checkpoint;
}

std::vector<std::string> Checkpoint::weight_names() const {
  std::vector<std::string> names;
  for (const auto& tensor : tensors_) {
    if (is_weight(tensor)) names.push_back(tensor.name);
  }
  return names;
}

Result<TensorBlob> Checkpoint::image_of(const std::vector<std::string>& names) const {
  std::vector<StoredTensor> wanted;
  for (const auto& name : std::set<std::string>(names.begin(), names.end())) {
    const auto* weight = find_tensor(tensors_, name);
    if (weight == nullptr || !is_weight(*weight)) {
      return fail(Error::kInvalidData, compose("the checkpoint of step ", manifest_.step, " has no weights ", name,
                                               "; it belongs to another model"));
    }
    wanted.push_back(*weight);
    for (const std::string_view prefix : kStatePrefixes) {
      if (const auto* state = find_tensor(tensors_, with_prefix(prefix, name))) wanted.push_back(*state);
    }
  }
  return build_safetensors(std::move(wanted));
}

TensorBlob Checkpoint::weights_image() const {
  std::vector<StoredTensor> weights;
  for (const auto& tensor : tensors_) {
    if (!is_weight(tensor)) continue;
    weights.push_back(tensor);
    const auto* agreed = find_tensor(tensors_, with_prefix(kAgreedPrefix, tensor.name));
    if (agreed != nullptr) weights.back().bytes = agreed->bytes;
  }
  return build_safetensors(std::move(weights));
}

namespace {

constexpr int kLooksMax = 10;

FoundCheckpoint newest_of(const std::vector<std::uint64_t>& listed, const std::filesystem::path& checkpoints,
                          const std::string& run, std::uint64_t not_beyond) {
  FoundCheckpoint found;
  for (const std::uint64_t candidate : listed) {
    if (candidate > not_beyond) continue;
    const auto folder = checkpoint_folder(checkpoints, candidate);
    if (found.checkpoint) {
      // Only those without a readable manifest are listed out of turn: one of a later step was passed over.
      auto manifest = read_manifest(folder);
      const bool is_later = candidate > found.checkpoint->manifest().step;
      if (!manifest && is_later) found.skipped.push_back(manifest.failure().message);
      continue;
    }
    auto opened = Checkpoint::open(folder, run);
    if (opened) {
      found.checkpoint = std::move(opened.value());
    } else {
      found.skipped.push_back(opened.failure().message);
    }
  }
  return found;
}

}  // namespace

// A checkpoint that is passed over, or not even listed, may have been removed meanwhile because a newer one came to its
// end.
Result<FoundCheckpoint> find_checkpoint(const std::filesystem::path& checkpoints, const std::string& run,
                                        std::optional<std::uint64_t> step, std::uint64_t not_beyond) {
  FoundCheckpoint found;
  if (step) {
    const auto folder = checkpoint_folder(checkpoints, *step);
    if (std::error_code error; !std::filesystem::exists(folder, error)) return no_such_step(checkpoints, run, *step);
    auto opened = Checkpoint::open(folder, run);
    if (!opened) return opened.failure();
    found.checkpoint = std::move(opened.value());
    return found;
  }
  auto listed = list_checkpoints(checkpoints, run);
  for (int look = 1;; ++look) {
    found = newest_of(listed, checkpoints, run, not_beyond);
    const bool is_whole = found.checkpoint && found.skipped.empty();
    if (is_whole || look == kLooksMax) break;
    const auto before = std::exchange(listed, list_checkpoints(checkpoints, run));
    if (listed == before) break;
  }
  if (!found.checkpoint && !found.skipped.empty()) {
    return fail(Error::kInvalidData, compose("no checkpoint in ", checkpoints.string(),
                                             " can be used. The newest: ", found.skipped.front()));
  }
  return found;
}

}  // namespace shoal
