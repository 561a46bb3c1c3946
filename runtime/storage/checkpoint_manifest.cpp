// manifest.json, both ways.
#include "runtime/storage/checkpoint_manifest.h"

#include <nlohmann/json.hpp>

#include "runtime/base/compose.h"
#include "runtime/base/sha256.h"

namespace shoal {
namespace {

constexpr std::size_t kHexDigits = 64;

// True when the text is the one that `recorded`, its last value, was computed for.
bool is_unchanged(std::string text, const std::string& recorded) {
  const std::size_t place = text.rfind(recorded);
  if (recorded.size() != kHexDigits || place == std::string::npos) return false;
  return sha256_hex(text.replace(place, kHexDigits, std::string(kHexDigits, '0'))) == recorded;
}

}  // namespace

std::string to_json(const CheckpointManifest& manifest) {
  nlohmann::ordered_json json;
  json["run"] = manifest.run;
  json["branch"] = manifest.branch;
  json["step"] = manifest.step;
  json["optimizer_step"] = manifest.optimizer_step;
  json["tokens_total"] = manifest.tokens_total;
  json["config_sha256"] = manifest.config_sha256;
  json["corpus_sha256"] = manifest.corpus_sha256;
  json["weights_sha256"] = manifest.weights_sha256;
  json["files"] = nlohmann::ordered_json::object();
  for (const auto& [name, file] : manifest.files)
    json["files"][name] = {{"sha256", file.sha256}, {"bytes", file.bytes}};
  const std::string zeros(kHexDigits, '0');
  json["manifest_sha256"] = zeros;
  std::string text = json.dump(2) + "\n";
  return text.replace(text.rfind(zeros), kHexDigits, sha256_hex(text));
}

Result<CheckpointManifest> parse_checkpoint_manifest(const std::string& text, const std::string& where) {
  try {
    const auto json = nlohmann::json::parse(text);
    if (!is_unchanged(text, json.at("manifest_sha256").get<std::string>())) {
      return fail(Error::kInvalidData, compose(where, " was changed: its SHA-256 is not the one it carries"));
    }
    CheckpointManifest manifest;
    manifest.run = json.at("run").get<std::string>();
    manifest.branch = json.at("branch").get<std::uint32_t>();
    manifest.step = json.at("step").get<std::uint64_t>();
    manifest.optimizer_step = json.at("optimizer_step").get<std::uint64_t>();
    manifest.tokens_total = json.at("tokens_total").get<std::uint64_t>();
    manifest.config_sha256 = json.at("config_sha256").get<std::string>();
    manifest.corpus_sha256 = json.at("corpus_sha256").get<std::string>();
    manifest.weights_sha256 = json.at("weights_sha256").get<std::string>();
    for (const auto& [name, file] : json.at("files").items()) {
      if (name.empty() || name.find('/') != std::string::npos) {
        return fail(Error::kInvalidData, compose(where, ": a file name that leaves the folder: ", name));
      }
      manifest.files[name] = {file.at("sha256").get<std::string>(), file.at("bytes").get<std::uint64_t>()};
    }
    if (manifest.files.empty()) return fail(Error::kInvalidData, compose(where, ": names no files"));
    return manifest;
  } catch (const nlohmann::json::exception& error) {
    return fail(Error::kInvalidData, compose(where, " is not a checkpoint's manifest: ", error.what()));
  }
}

std::string weights_sha256(const std::map<std::string, std::string>& tensor_sha256) {
  Sha256 hash;
  for (const auto& [name, hex] : tensor_sha256) {
    const std::string line = name + " " + hex + "\n";
    hash.update(line.data(), line.size());
  }
  return hash.hex();
}

}  // namespace shoal
