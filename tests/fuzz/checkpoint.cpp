// A checkpoint's folder: its manifest and the shard that it names.
//
//   input = be16 size of the manifest's text  text  shard
//
// In the text @SHA256@, @BYTES@ and @MANIFEST@ stand for what the shard and the manifest really have: else every change
// would end at a checksum. What is accepted gives its weights.
#include "runtime/storage/checkpoint_reader.h"

#include <filesystem>

#include "runtime/base/sha256.h"
#include "tests/fuzz/harness.h"

namespace shoal::fuzz {
namespace checkpoint {
namespace {

constexpr std::string_view kManifestWord = "@MANIFEST@";

void replace_all(std::string& text, std::string_view word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
}

std::string manifest_for(std::string_view shard, std::string text) {
  replace_all(text, "@SHA256@", sha256_hex(shard));
  replace_all(text, "@BYTES@", std::to_string(shard.size()));
  const std::size_t place = text.rfind(kManifestWord);
  if (place == std::string::npos) return text;
  text.replace(place, kManifestWord.size(), std::string(64, '0'));
  return text.replace(place, 64, sha256_hex(text));
}

bool accepts(std::string_view input) {
  const std::filesystem::path checkpoints = scratch_path() + "/checkpoints";
  const std::filesystem::path folder = checkpoint_folder(checkpoints, 8);
  std::filesystem::create_directories(folder);
  Cursor cursor(input);
  const std::string_view manifest = cursor.bytes(cursor.number(2));
  const std::string_view shard = cursor.rest();
  write_bytes((folder / "stage_0.safetensors").string(), shard);
  write_bytes((folder / "manifest.json").string(), manifest_for(shard, std::string(manifest)));
  const auto found = find_checkpoint(checkpoints, "");
  (void)list_checkpoints(checkpoints, "00000000000000ab");
  if (!found) {
    ENSURE(!found.failure().message.empty(), "a refusal says why");
    return false;
  }
  ENSURE(found->checkpoint.has_value(), "there is one: it is good, or refused");
  const Checkpoint& checkpoint = *found->checkpoint;
  ENSURE(checkpoint.image_of(checkpoint.weight_names()).ok(), "a checkpoint gives the weights that it names");
  (void)checkpoint.weights_image();
  ENSURE(parse_checkpoint_manifest(to_json(checkpoint.manifest()), "again").value() == checkpoint.manifest(),
         "a manifest is written as it was read");
  return true;
}

std::string input_of(const std::string& manifest, const TensorBlob& shard) {
  std::string input;
  append_number(input, manifest.size(), 2);
  input += manifest;
  return input.append(reinterpret_cast<const char*>(shard.bytes->data()), shard.bytes->size());
}

std::vector<std::string> samples() {
  const std::vector<char> bytes(24, 'x');
  const auto data = std::as_bytes(std::span(bytes));
  std::vector<StoredTensor> tensors;
  for (const char* name :
       {"wte.weight", "outer.wte.weight", "outer.momentum.wte.weight", "optimizer.exp_avg.wte.weight"})
    tensors.push_back({name, DType::kFloat32, {2, 3}, data});
  CheckpointManifest manifest{"00000000000000ab", 2, 8, 7, 4096, "config", "corpus", "weights", {}};
  manifest.files["stage_0.safetensors"] = {"@SHA256@", 24};
  std::string text = to_json(manifest);
  replace_all(text, "\"bytes\": 24", "\"bytes\": @BYTES@");
  const std::size_t digits = text.rfind('"') - 64;
  text.replace(digits, 64, kManifestWord);
  return {input_of(text, build_safetensors(tensors)), input_of(text, build_safetensors({tensors[0]}))};
}

}  // namespace
}  // namespace checkpoint

const Harness kCheckpoint{"checkpoint", checkpoint::samples, checkpoint::accepts};

}  // namespace shoal::fuzz
