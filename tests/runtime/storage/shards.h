// Shards of a small model for tests of checkpoints: four weights with their optimiser's state, cut anywhere.
// Values depend on name and step alone, so that every cut of a step holds the same tensors.
#pragma once

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "messages/storage.h"
#include "runtime/journal/view.h"
#include "runtime/storage/checkpoint_writer.h"
#include "runtime/storage/image/image_source.h"
#include "runtime/storage/safetensors.h"

namespace shoal {

inline const std::vector<std::string>& small_model() {
  static const std::vector<std::string> kNames = {"h.0.mlp.c_fc.weight", "h.1.mlp.c_fc.weight", "lm_head.weight",
                                                  "wte.weight"};
  return kNames;
}

// Element i of a tensor: depends on name and step, so that no two tensors are alike.
inline std::vector<float> values_of(const std::string& name, std::uint64_t step) {
  std::vector<float> values(6);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(std::hash<std::string>{}(name) % 1000 + 10 * i) + static_cast<float>(step) / 8.0F;
  }
  return values;
}

// A safetensors image of these weights [2, 3] and what belongs to them under other prefixes: their optimiser's state.
inline TensorBlob state_image(const std::vector<std::string>& names, std::uint64_t step,
                              std::vector<std::string> prefixes = {"optimizer.exp_avg.", "optimizer.exp_avg_sq."}) {
  prefixes.emplace_back();
  std::vector<std::string> all;
  for (const auto& name : names) {
    for (const std::string& prefix : prefixes) all.push_back(prefix + name);
  }
  std::vector<std::vector<float>> values;
  for (const auto& name : all) values.push_back(values_of(name, step));
  std::vector<StoredTensor> tensors;
  for (std::size_t i = 0; i < all.size(); ++i) {
    tensors.push_back({all[i], DType::kFloat32, {2, 3}, std::as_bytes(std::span<const float>(values[i]))});
  }
  return build_safetensors(std::move(tensors));
}

inline std::string text_of(const TensorBlob& image) { return {image.as<char>(), image.byte_count()}; }

// The bytes of an image that is read in pieces of this size.
inline Result<std::string> read_in_pieces(ImageSource& source, std::size_t size) {
  std::string text;
  while (text.size() < source.byte_count()) {
    const auto piece = source.read(text.size(), size);
    if (!piece) return piece.failure();
    text += text_of(*piece);
  }
  return text;
}

// The replica that saves a stage here, and its process.
inline Incarnation saver_of(std::uint32_t stage) { return Incarnation{100 + stage}; }
inline ProcessIncarnation home_of(std::uint32_t stage) { return ProcessIncarnation{2 + stage}; }

// Makes the view of a journal in which each stage has its saver.
inline View view_of(std::uint32_t stages, std::uint64_t committed, std::uint32_t branch = 0) {
  ViewState state;
  state.position = JournalPosition{1000};
  state.branch = Branch{branch};
  state.committed_steps = committed;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    state.stages.push_back({{{saver_of(stage), {}, home_of(stage)}}, {}});
  }
  return View(state);
}

// The shard of one stage of `stages`: every stages-th weight.
inline SaveShard shard_of(std::uint64_t step, std::uint32_t stage, std::uint32_t stages, std::uint32_t branch = 0) {
  std::vector<std::string> names;
  for (std::size_t i = stage; i < small_model().size(); i += stages) names.push_back(small_model()[i]);
  SaveShard shard;
  shard.branch = Branch{branch};
  shard.step = step;
  shard.optimizer_step = step;
  shard.tokens_total = 100 * step;
  shard.stage = StageId{stage};
  shard.stages = stages;
  shard.replica = saver_of(stage);
  shard.process = home_of(stage);
  shard.image = state_image(names, step);
  return shard;
}

// A shard as it comes in pieces of this size.
inline std::vector<SaveShard> pieces_of(const SaveShard& shard, std::size_t size) {
  WholeImage image(shard.image);
  std::vector<SaveShard> pieces;
  for (std::uint64_t at = 0; at < image.byte_count(); at += size) {
    SaveShard& piece = pieces.emplace_back(shard);
    piece.image = image.read(at, size).value();
    piece.offset = at;
    piece.bytes_total = image.byte_count();
  }
  return pieces;
}

inline CheckpointWriterSettings settings_in(const std::filesystem::path& folder, int keep = 0) {
  return {folder, keep, "00000000000000ab", "config hash", "corpus hash"};
}

// All shards of a step; the manifest of the last one.
inline Result<CheckpointManifest> save(CheckpointWriter& writer, std::uint64_t step, std::uint32_t stages = 2,
                                       std::uint32_t branch = 0) {
  Result<CheckpointManifest> last = fail(Error::kInternal, "nothing was saved");
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    auto added = writer.add(shard_of(step, stage, stages, branch));
    if (!added) return added.failure();
    if (added.value()) last = *added.value();
  }
  return last;
}

}  // namespace shoal
