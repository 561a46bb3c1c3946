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
#include "runtime/data/pretokenizer.h"

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

Result<std::string> asked_of_worker(const char* what) {
  auto text = output_of({program_folder() + "/shoal-worker", what});
  while (text && text->ends_with('\n')) text->pop_back();
  return text;
}

}  // namespace

Result<std::string> worker_fingerprint() { return asked_of_worker("fingerprint"); }

Result<std::string> worker_speed() { return asked_of_worker("speed"); }

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
    std::getline(words, found->why_not);
  }
  return features;
}

std::vector<Feature> worker_features() {
  const auto lines = output_of({program_folder() + "/shoal-worker", "features"});
  return features_of(lines ? *lines : std::string());
}

}  // namespace shoal
