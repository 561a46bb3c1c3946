// Asks the libraries themselves where they can be asked.
#include "launch/commands/inspect/versions.h"

#include <capnp/common.h>
#include <openssl/crypto.h>
#include <sqlite3.h>
#include <zlib.h>

#include <algorithm>
#include <caf/config.hpp>
#include <sstream>

#include "launch/child_process.h"
#include "runtime/base/compose.h"
#include "runtime/base/machine/bf16_units.h"
#include "runtime/data/tokenizers/pretokenizer.h"
#include "runtime/device/plugin/device_plugin.h"

namespace shoal {

std::string program_version() { return SHOAL_VERSION; }

std::vector<std::pair<std::string, std::string>> library_versions() {
  const auto dotted = [](long number, long unit) {
    return compose(number / unit / unit, ".", number / unit % unit, ".", number % unit);
  };
  return {{"caf", dotted(CAF_VERSION, 100)},
          {"capnproto", dotted(CAPNP_VERSION, 1000)},
          {"openssl", ::OpenSSL_version(OPENSSL_VERSION)},
          {"pcre2", pcre2_version()},
          {"sqlite", ::sqlite3_libversion()},
          {"zlib", ::zlibVersion()}};
}

namespace {

Result<std::string> asked_of_worker(std::vector<std::string> words) {
  words.insert(words.begin(), program_folder() + "/shoal-worker");
  auto text = output_of(words);
  while (text && text->ends_with('\n')) text->pop_back();
  return text;
}

}  // namespace

Result<std::string> worker_fingerprint() { return asked_of_worker({"fingerprint"}); }

Result<std::string> worker_speed() { return asked_of_worker({"speed"}); }

std::vector<Feature> features_of(const std::string& lines) {
  std::vector<Feature> features = {{"cuda", false, "shoal-worker does not say"},
                                   {"nccl", false, "shoal-worker does not say"},
                                   {"bf16", false, "shoal-worker does not say"}};
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string name;
    std::string verdict;
    words >> name >> verdict >> std::ws;
    const auto found =
        std::find_if(features.begin(), features.end(), [&](const auto& one) { return one.name == name; });
    if (found == features.end()) continue;
    found->is_there = verdict == "yes";
    found->is_damaged = verdict == "damaged";
    found->why_not.clear();
    std::getline(words, found->why_not);
  }
  return features;
}

namespace {

FeatureUse use_of_cuda(const Feature& built, const Result<std::vector<GpuFacts>>& devices) {
  if (built.is_there && devices) return {built.name, true, device_texts(*devices)};
  const std::string lacks_device = devices ? std::string() : devices.failure().message;
  const std::string separator = !devices && !built.is_there ? "; " : "";
  return {built.name, false, lacks_device + separator + built.why_not};
}

FeatureUse use_of_nccl(const Feature& built, const FeatureUse& cuda) {
  if (!built.is_there) return {built.name, false, built.why_not};
  if (!cuda.is_usable) return {built.name, false, "it adds up on GPUs, and none can be used here"};
  return {built.name, true, "adds up on the GPUs"};
}

FeatureUse use_of_bf16(const Feature& built, const FeatureUse& cuda, const Result<std::vector<GpuFacts>>& devices,
                       const std::string& units) {
  if (!built.is_there) return {built.name, false, built.why_not};
  const bool has_processor = units != "none";
  const auto has_units = [](const GpuFacts& device) { return 10 * device.major + device.minor >= kFirstGpuWithBf16; };
  const bool has_gpu = cuda.is_usable && std::ranges::any_of(*devices, has_units);
  const std::string processor = has_processor ? "the processor has " + units : "";
  const std::string gpu = has_gpu ? "a GPU has units for it" : "";
  if (has_processor || has_gpu) return {built.name, true, processor + (has_processor && has_gpu ? "; " : "") + gpu};
  return {built.name, false,
          "the processor has neither avx512_bf16 nor amx_bf16, and there is no GPU of sm_80 or later that can be used"};
}

}  // namespace

std::vector<FeatureUse> feature_uses(const std::vector<Feature>& built, const Result<std::vector<GpuFacts>>& devices,
                                     const std::string& bf16_units) {
  const FeatureUse cuda = use_of_cuda(built.at(0), devices);
  return {cuda, use_of_nccl(built.at(1), cuda), use_of_bf16(built.at(2), cuda, devices, bf16_units)};
}

std::vector<Feature> features_told(const Result<std::string>& answer, const std::string& gpu_part,
                                   const std::function<Result<std::string>()>& ask_rest) {
  if (answer) return features_of(*answer);
  const auto rest = ask_rest();
  std::vector<Feature> features = features_of(rest ? *rest : std::string());
  for (Feature& feature : features) {
    if (!rest) feature.why_not = rest.failure().message;
    if (rest && feature.name == "cuda") {
      feature.is_damaged = true;
      feature.why_not = compose("the part for GPUs, ", gpu_part, ", is damaged (", answer.failure().message,
                                " while it opened it): build or install it anew, by launch/set-up all");
    }
  }
  return features;
}

std::vector<Feature> worker_features() {
  const auto ask_rest = [] { return asked_of_worker({"features", kWithoutGpuPart}); };
  return features_told(asked_of_worker({"features"}), program_folder() + "/" + kDevicePluginFile, ask_rest);
}

}  // namespace shoal
