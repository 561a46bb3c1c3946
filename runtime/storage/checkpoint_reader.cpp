// The reading side of checkpoints (see the header for what is verified).
#include "runtime/storage/checkpoint_reader.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <system_error>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/storage/safetensors.h"

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
  if (!file) return fail(Error::kIo, compose("cannot read ", path.string()));
  if (sha256_hex(std::span<const std::byte>(buffer->data(), buffer->size())) != expected.sha256) {
    return fail(Error::kInvalidData, compose(path.string(), " was changed: its SHA-256 is not the manifest's"));
  }
  return buffer;
}

// Every tensor of every shard, by name.
Result<std::vector<StoredTensor>> all_tensors(const std::map<std::string, std::shared_ptr<AlignedBuffer>>& images) {
  std::vector<StoredTensor> all;
  for (const auto& [name, image] : images) {
    auto tensors = parse_safetensors({image->data(), image->size()}, name);
    if (!tensors) return tensors.failure();
    all.insert(all.end(), tensors->begin(), tensors->end());
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

}  // namespace

std::filesystem::path checkpoint_folder(const std::filesystem::path& checkpoints, std::uint64_t step) {
  return checkpoints / compose(kPrefix, step);
}

std::vector<std::uint64_t> list_checkpoints(const std::filesystem::path& checkpoints) {
  std::vector<std::uint64_t> steps;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoints, error)) {
    const auto step = step_of(entry.path().filename().string());
    if (step && std::filesystem::exists(entry.path() / "manifest.json", error)) steps.push_back(*step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

Result<Checkpoint> Checkpoint::open(const std::filesystem::path& folder, const std::string& run) {
  const auto path = folder / "manifest.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return fail(Error::kInvalidData, compose(folder.string(), " is no checkpoint: it has no manifest.json"));
  }
  auto text = read_file(path.string());
  if (!text) return text.failure();
  auto manifest = parse_checkpoint_manifest(*text, path.string());
  if (!manifest) return manifest.failure();
  if (!run.empty() && manifest->run != run) {
    return fail(Error::kInvalidData, compose(folder.string(), " belongs to run ", manifest->run, ", not to ", run));
  }
  Checkpoint checkpoint;
  checkpoint.manifest_ = std::move(manifest.value());
  for (const auto& [name, file] : checkpoint.manifest_.files) {
    auto image = read_verified(folder / name, file);
    if (!image) return image.failure();
    checkpoint.images_[name] = std::move(image.value());
  }
  if (auto tensors = all_tensors(checkpoint.images_); !tensors) return tensors.failure();
  return checkpoint;
}

std::vector<std::string> Checkpoint::weight_names() const {
  std::vector<std::string> names;
  const auto tensors = all_tensors(images_);
  if (!tensors) return names;
  for (const auto& tensor : tensors.value()) {
    if (!tensor.name.starts_with("optimizer.")) names.push_back(tensor.name);
  }
  return names;
}

Result<TensorBlob> Checkpoint::image_of(const std::vector<std::string>& names) const {
  const auto all = all_tensors(images_);
  if (!all) return all.failure();
  std::vector<StoredTensor> wanted;
  for (const auto& name : names) {
    const auto* weight = find_tensor(all.value(), name);
    if (weight == nullptr) {
      return fail(Error::kInvalidData, compose("the checkpoint of step ", manifest_.step, " has no tensor ", name,
                                               "; it belongs to another model"));
    }
    wanted.push_back(*weight);
    for (const char* prefix : {"optimizer.exp_avg.", "optimizer.exp_avg_sq."}) {
      if (const auto* state = find_tensor(all.value(), prefix + name)) wanted.push_back(*state);
    }
  }
  return build_safetensors(std::move(wanted));
}

Result<TensorBlob> Checkpoint::weights_image() const {
  const auto all = all_tensors(images_);
  if (!all) return all.failure();
  std::vector<StoredTensor> weights;
  for (const auto& tensor : all.value()) {
    if (!tensor.name.starts_with("optimizer.")) weights.push_back(tensor);
  }
  return build_safetensors(std::move(weights));
}

Result<FoundCheckpoint> find_checkpoint(const std::filesystem::path& checkpoints, const std::string& run,
                                        std::optional<std::uint64_t> step) {
  FoundCheckpoint found;
  if (step) {
    auto opened = Checkpoint::open(checkpoint_folder(checkpoints, *step), run);
    if (!opened) return opened.failure();
    found.checkpoint = std::move(opened.value());
    return found;
  }
  for (const std::uint64_t candidate : list_checkpoints(checkpoints)) {
    auto opened = Checkpoint::open(checkpoint_folder(checkpoints, candidate), run);
    if (opened) {
      found.checkpoint = std::move(opened.value());
      return found;
    }
    found.skipped.push_back(opened.failure().message);
  }
  if (!found.skipped.empty()) {
    return fail(Error::kInvalidData,
                compose("no good checkpoint in ", checkpoints.string(), ": ", found.skipped.front()));
  }
  return found;
}

}  // namespace shoal
