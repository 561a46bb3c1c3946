// Tests which files of a folder a node takes, and that it has the name in them.
#include "runtime/transport/control/node_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/runtime/transport/test_run.h"

namespace shoal::node_certificate_test {
namespace {

using test_support::TestRun;
using ::testing::HasSubstr;

// Writes a certificate of the run for a name, as `stem` in `folder`.
void give(const TestRun& run, const std::string& folder, const std::string& stem, const std::string& name) {
  const auto now = std::chrono::system_clock::now();
  const auto issued = run.authority().issue({run.run(), PeerRole::kNode, name}, usual_validity(now));
  ASSERT_TRUE(issued.ok() && write_credentials(credential_files(folder, stem), *issued).ok());
}

TEST(NodeCertificate, EachWorkerHasItsOwnOrTheOneOfAll) {
  const TestRun run(7);
  const std::string folder = run.path("given");
  EXPECT_THAT(node_files(folder, 1).certificate, HasSubstr("node1.crt")) << "nothing is there";
  give(run, folder, "node", "five");
  EXPECT_EQ(node_files(folder, 1).certificate, folder + "/node.crt");
  give(run, folder, "node1", "five");
  EXPECT_EQ(node_files(folder, 1).certificate, folder + "/node1.crt");
  EXPECT_EQ(node_files(folder, 0).key, folder + "/node.key");
}

TEST(NodeCertificate, S7TheNameIsTheCertificates) {
  const TestRun run(7);
  const std::string folder = run.path("given");
  give(run, folder, "node0", "five");
  const TlsFiles files = node_files(folder, 0);
  EXPECT_EQ(certified_name(files).value(), "five");
  EXPECT_TRUE(check_certified_name(files, "five").ok());
  const Status other = check_certified_name(files, "six");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.failure().error, Error::kRefused);
  EXPECT_THAT(other.failure().message, HasSubstr("six"));
  EXPECT_THAT(other.failure().message, HasSubstr("is the certificate of five"));
}

TEST(NodeCertificate, AMissingFileIsNamedWithAllThatBelongThere) {
  const TestRun run(7);
  const auto missing = certified_name(node_files(run.path("none"), 0));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.failure().error, Error::kIo);
  for (const char* file : {"ca.crt", "node0.crt", "node0.key"}) EXPECT_THAT(missing.failure().message, HasSubstr(file));
}

}  // namespace
}  // namespace shoal::node_certificate_test
