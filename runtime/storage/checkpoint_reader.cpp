// The reading side of checkpoints (see the header for what is verified).
#include "runtime/storage/checkpoint_reader.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <functional>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/storage/state_names.h"

namespace shoal {
namespace {

constexpr std::string_view kStepPrefix = "step_";
constexpr std::string_view kAsidePrefix = ".step_";
constexpr std::string_view kAsideEnd = ".replaced";
constexpr const char* kManifest = "manifest.json";

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && at == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// Of either name of a folder.
std::optional<std::uint64_t> step_of(std::string_view folder_name) {
  if (folder_name.starts_with(kStepPrefix)) return number_in(folder_name.substr(kStepPrefix.size()));
  const bool is_aside = folder_name.starts_with(kAsidePrefix) && folder_name.ends_with(kAsideEnd) &&
                        folder_name.size() > kAsidePrefix.size() + kAsideEnd.size();
  if (!is_aside) return std::nullopt;
  folder_name.remove_suffix(kAsideEnd.size());
  return number_in(folder_name.substr(kAsidePrefix.size()));
}

// Every tensor of every file, ascending by name. No name is there twice.
Result<std::vector<FiledTensor>> all_tensors(const CheckpointManifest& manifest, const std::filesystem::path& folder) {
  std::vector<FiledTensor> all;
  for (const auto& [name, expected] : manifest.files) {
    const auto file = VerifiedFile::open(folder / name, expected);
    if (!file) return file.failure();
    auto tensors = tensors_in(*file);
    if (!tensors) return tensors.failure();
    std::move(tensors->begin(), tensors->end(), std::back_inserter(all));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.place.name < b.place.name; });
  const auto twice = std::adjacent_find(all.begin(), all.end(),
                                        [](const auto& a, const auto& b) { return a.place.name == b.place.name; });
  if (twice != all.end()) {
    return fail(Error::kInvalidData, compose(folder.string(), " holds the tensor ", twice->place.name, " twice"));
  }
  return all;
}

// The tensor of that name, or nullptr. `tensors` is ascending by name.
const FiledTensor* find(const std::vector<FiledTensor>& tensors, const std::string& name) {
  const auto found =
      std::lower_bound(tensors.begin(), tensors.end(), name,
                       [](const FiledTensor& tensor, const std::string& key) { return tensor.place.name < key; });
  return found != tensors.end() && found->place.name == name ? &*found : nullptr;
}

bool is_weight(const FiledTensor& tensor) { return is_weight_name(tensor.place.name); }

// Takes the bytes of the agreed weight for a weight's own.
Status take_bytes(FiledTensor& weight, const FiledTensor& agreed) {
  if (agreed.place.end - agreed.place.begin != weight.place.end - weight.place.begin) {
    return fail(Error::kInvalidData,
                compose(agreed.file->path(), ": ", agreed.place.name, " is not of the size of ", weight.place.name));
  }
  weight.file = agreed.file;
  weight.place.begin = agreed.place.begin;
  weight.place.end = agreed.place.end;
  return Done{};
}

// Orders checkpoints: a later branch is newer whatever its step; one without a readable manifest comes last.
struct Age {
  bool is_readable = false;
  std::uint32_t branch = 0;
  std::uint64_t step = 0;
  friend auto operator<=>(const Age&, const Age&) = default;
};

// True when the path certainly does not exist, as when it was pruned meanwhile.
bool is_gone(const std::filesystem::path& path) {
  std::error_code refused;
  return !std::filesystem::exists(path, refused) && !refused;
}

// True when the system refuses a checkpoint, and may read it another time; false when its content is at fault.
bool is_unreadable(const Failure& failure, const std::filesystem::path& folder) {
  return failure.error == Error::kIo && !is_gone(folder / kManifest);
}

// Content of a folder of checkpoints, newest first.
struct Listed {
  std::vector<Age> ages;
  std::vector<std::uint64_t> bare{};        // steps whose folder has no manifest; no writer leaves such a one
  std::optional<std::string> unreadable{};  // why not all could be read
};

// True for a folder that has the name of a finished checkpoint, and lost its manifest.
bool is_bare(const std::filesystem::path& folder) {
  std::error_code error;
  return folder.filename().string().starts_with(kStepPrefix) && std::filesystem::is_directory(folder, error);
}

Listed list_ages(const std::filesystem::path& checkpoints, const std::string& run, std::uint64_t not_beyond) {
  Listed listed;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(checkpoints, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto step = step_of(entry->path().filename().string());
    if (!step || *step > not_beyond) continue;
    if (is_gone(entry->path() / kManifest)) {
      if (is_bare(entry->path())) listed.bare.push_back(*step);
      continue;
    }
    const bool is_found_here = checkpoint_folder(checkpoints, *step).filename() == entry->path().filename();
    if (!is_found_here) continue;
    const auto manifest = read_manifest(entry->path());
    if (!manifest) {
      if (is_unreadable(manifest.failure(), entry->path())) listed.unreadable = manifest.failure().message;
      listed.ages.push_back({false, 0, *step});
    } else if (run.empty() || manifest->run == run) {
      listed.ages.push_back({true, manifest->branch, *step});
    }
  }
  const bool is_there = error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory;
  if (error && is_there) listed.unreadable = compose("cannot read ", checkpoints.string(), ": ", error.message());
  std::sort(listed.ages.begin(), listed.ages.end(), std::greater<>());
  std::sort(listed.bare.begin(), listed.bare.end(), std::greater<>());
  return listed;
}

std::string without_manifest(const std::filesystem::path& folder) {
  return compose(folder.string(), " is no checkpoint: it has no manifest.json");
}

Failure no_such_step(const std::filesystem::path& checkpoints, const std::string& run, std::uint64_t step) {
  std::string there;
  for (const std::uint64_t one : list_checkpoints(checkpoints, run)) there += compose(there.empty() ? "" : ", ", one);
  return fail(Error::kInvalidData, compose("no checkpoint of step ", step, " in ", checkpoints.string(),
                                           "; there are: ", there.empty() ? "none" : there));
}

}  // namespace

std::filesystem::path folder_of_step(const std::filesystem::path& checkpoints, std::uint64_t step) {
  return checkpoints / compose(kStepPrefix, step);
}

std::filesystem::path folder_aside(const std::filesystem::path& checkpoints, std::uint64_t step) {
  return checkpoints / compose(kAsidePrefix, step, kAsideEnd);
}

std::filesystem::path checkpoint_folder(const std::filesystem::path& checkpoints, std::uint64_t step) {
  auto folder = folder_of_step(checkpoints, step);
  auto aside = folder_aside(checkpoints, step);
  return is_gone(folder) && !is_gone(aside / kManifest) ? aside : folder;
}

Result<CheckpointManifest> read_manifest(const std::filesystem::path& folder) {
  const std::string path = (folder / kManifest).string();
  const auto text = read_file(path);
  if (!text) return text.failure();
  return parse_checkpoint_manifest(*text, path);
}

std::vector<std::uint64_t> list_checkpoints(const std::filesystem::path& checkpoints, const std::string& run,
                                            Damaged damaged) {
  std::vector<std::uint64_t> steps;
  for (const Age& age : list_ages(checkpoints, run, kAnyStep).ages) {
    if (age.is_readable || damaged == Damaged::kIncluded) steps.push_back(age.step);
  }
  return steps;
}

Result<Checkpoint> Checkpoint::open(const std::filesystem::path& folder, const std::string& run) {
  if (is_gone(folder / kManifest)) {
    return fail(Error::kInvalidData, without_manifest(folder));
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
  auto tensors = all_tensors(*manifest, folder);
  if (!tensors) return tensors.failure();
  Checkpoint checkpoint;
  checkpoint.manifest_ = std::move(manifest.value());
  checkpoint.tensors_ = std::move(tensors.value());
  return checkpoint;
}

std::vector<std::string> Checkpoint::weight_names() const {
  std::vector<std::string> names;
  for (const auto& tensor : tensors_) {
    if (is_weight(tensor)) names.push_back(tensor.place.name);
  }
  return names;
}

Result<std::shared_ptr<ImageSource>> Checkpoint::source_of(const std::vector<std::string>& names) const {
  std::vector<FiledTensor> wanted;
  for (const auto& name : std::set<std::string>(names.begin(), names.end())) {
    const auto* weight = find(tensors_, name);
    if (weight == nullptr || !is_weight(*weight)) {
      return fail(Error::kInvalidData, compose("the checkpoint of step ", manifest_.step, " has no weights ", name,
                                               "; it belongs to another model"));
    }
    wanted.push_back(*weight);
    for (const std::string_view prefix : kStatePrefixes) {
      if (const auto* state = find(tensors_, with_prefix(prefix, name))) wanted.push_back(*state);
    }
  }
  return std::shared_ptr<ImageSource>(std::make_shared<StoredImage>(std::move(wanted)));
}

Result<TensorBlob> Checkpoint::image_of(const std::vector<std::string>& names) const {
  const auto source = source_of(names);
  if (!source) return source.failure();
  return (*source)->read(0, (*source)->byte_count());
}

Result<TensorBlob> Checkpoint::weights_image() const {
  std::vector<FiledTensor> weights;
  for (const auto& tensor : tensors_) {
    if (!is_weight(tensor)) continue;
    weights.push_back(tensor);
    const auto* agreed = find(tensors_, with_prefix(kAgreedPrefix, tensor.place.name));
    if (agreed == nullptr) continue;
    if (auto taken = take_bytes(weights.back(), *agreed); !taken) return taken.failure();
  }
  StoredImage image(std::move(weights));
  return image.read(0, image.byte_count());
}

namespace {

constexpr int kLooksMax = 10;

FoundCheckpoint newest_of(const Listed& listed, const std::filesystem::path& checkpoints, const std::string& run) {
  FoundCheckpoint found;
  found.unreadable = listed.unreadable;
  const auto pass_over = [&](const Failure& failure, const std::filesystem::path& folder) {
    if (is_unreadable(failure, folder)) found.unreadable = failure.message;
    found.skipped.push_back(failure.message);
  };
  for (const Age& candidate : listed.ages) {
    const auto folder = checkpoint_folder(checkpoints, candidate.step);
    if (found.checkpoint) {
      // Only those without a readable manifest are listed out of turn: one of a later step was passed over.
      auto manifest = read_manifest(folder);
      const bool is_later = candidate.step > found.checkpoint->manifest().step;
      if (!manifest && is_later) pass_over(manifest.failure(), folder);
      continue;
    }
    auto opened = Checkpoint::open(folder, run);
    if (opened) {
      found.checkpoint = std::move(opened.value());
    } else {
      pass_over(opened.failure(), folder);
    }
  }
  for (const std::uint64_t step : listed.bare) {
    const auto folder = folder_of_step(checkpoints, step);
    const bool is_later = found.checkpoint && step > found.checkpoint->manifest().step;
    if (is_later && checkpoint_folder(checkpoints, step) == folder) found.skipped.push_back(without_manifest(folder));
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
  auto listed = list_ages(checkpoints, run, not_beyond);
  for (int look = 1;; ++look) {
    found = newest_of(listed, checkpoints, run);
    const bool is_whole = found.checkpoint && found.skipped.empty();
    if (is_whole || look == kLooksMax) break;
    const auto before = std::exchange(listed, list_ages(checkpoints, run, not_beyond));
    if (listed.ages == before.ages) break;
  }
  if (!found.checkpoint && found.unreadable) {
    return fail(Error::kIo, compose("no checkpoint in ", checkpoints.string(), " can be read: ", *found.unreadable));
  }
  if (!found.checkpoint && !found.skipped.empty()) {
    return fail(Error::kInvalidData, compose("no checkpoint in ", checkpoints.string(),
                                             " can be used. The newest: ", found.skipped.front()));
  }
  return found;
}

}  // namespace shoal
