// Failures to prepare are bugs of the test: ENSURE, not EXPECT.
#include "tests/runtime/transport/test_run.h"

#include <cstdlib>
#include <filesystem>
#include <thread>

namespace shoal::test_support {

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "shoal-test-XXXXXX").string();
  ENSURE(::mkdtemp(pattern.data()) != nullptr, "a temporary folder can be made");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

TestRun::TestRun(std::uint64_t run)
    : authority_(Authority::create(folder_.path() + "/certs", RunId{run}, std::chrono::system_clock::now()).value()) {}

TlsFiles TestRun::files(PeerRole role, const std::string& name) const {
  return files(role, name, usual_validity(std::chrono::system_clock::now()));
}

TlsFiles TestRun::files(PeerRole role, const std::string& name, const Validity& validity) const {
  const TlsFiles files = credential_files(path(name + "-" + std::string(role_text(role))), name);
  const Status written = write_credentials(files, authority_.issue({run(), role, name}, validity).value());
  ENSURE(written.ok(), "test certificates can be written");
  return files;
}

bool eventually(const std::function<bool()>& condition) {
  const Deadline deadline = deadline_in(kPatience);
  while (std::chrono::steady_clock::now() < deadline) {
    if (condition()) return true;
    std::this_thread::yield();
  }
  return condition();
}

}  // namespace shoal::test_support
