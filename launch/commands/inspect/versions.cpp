// Asks the libraries themselves where they can be asked.
#include "launch/commands/inspect/versions.h"

#include <capnp/common.h>
#include <openssl/crypto.h>
#include <sqlite3.h>
#include <zlib.h>

#include <caf/config.hpp>

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

Result<std::string> worker_fingerprint() {
  auto text = output_of({program_folder() + "/shoal-worker", "fingerprint"});
  while (text && text->ends_with('\n')) text->pop_back();
  return text;
}

}  // namespace shoal
