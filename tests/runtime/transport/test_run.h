// A run for tests: its authority in a folder of its own, and certificates for whoever a test wants to be.
//
// Waiting is always for a condition, and always ends.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "runtime/transport/certificates.h"
#include "runtime/transport/sockets.h"

namespace shoal::test_support {

// A folder that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class TestRun {
 public:
  explicit TestRun(std::uint64_t run);

  [[nodiscard]] const Authority& authority() const { return authority_; }
  [[nodiscard]] RunId run() const { return authority_.run(); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  // Issues and writes; the files stay as long as the run.
  [[nodiscard]] TlsFiles files(PeerRole role, const std::string& name) const;
  [[nodiscard]] TlsFiles files(PeerRole role, const std::string& name, const Validity& validity) const;
  [[nodiscard]] PeerPolicy policy(std::vector<PeerRole> roles) const { return PeerPolicy{run(), std::move(roles), {}}; }

 private:
  TemporaryFolder folder_;
  Authority authority_;
};

// Time that every test allows for the machine being busy.
inline constexpr std::chrono::seconds kPatience{20};

// Asks until the condition holds or kPatience has passed.
[[nodiscard]] bool eventually(const std::function<bool()>& condition);

}  // namespace shoal::test_support
