// The authority and its files: what it signs, what it refuses, and that a context refuses files that do not fit.
#include "runtime/transport/certificates.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/file.h"
#include "runtime/transport/tls_context.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::certificates_test {
namespace {

using test_support::TestRun;

Validity now() { return usual_validity(std::chrono::system_clock::now()); }

TEST(Authority, SignsIdentitiesThatComeBackFromTheCertificate) {
  const TestRun run(0xfeed);
  const PeerIdentity node{run.run(), PeerRole::kNode, "node1"};
  const auto request = make_key_and_csr("someone-else");
  const auto certificate = run.authority().sign(request->request, node, now());
  ASSERT_TRUE(certificate.ok());
  EXPECT_EQ(identity_of(*certificate).value(), node);
}

TEST(Authority, IsTheSameAfterItIsReadAgain) {
  const TestRun run(0xfeed);
  const auto again = Authority::open(run.path("certs"));
  ASSERT_TRUE(again.ok()) << again.failure().message;
  EXPECT_EQ(again->run(), run.run());
  EXPECT_EQ(again->fingerprint(), run.authority().fingerprint());
  EXPECT_EQ(again->fingerprint(), fingerprint_of(again->certificate()).value());
}

TEST(Authority, IsMadeOncePerFolder) {
  const TestRun run(1);
  const auto second = Authority::create(run.path("certs"), RunId{2}, std::chrono::system_clock::now());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.failure().error, Error::kUsage);
}

TEST(Authority, IsMadeWhereAStartWasKilledBetweenItsKeyAndItsCertificate) {
  const TestRun run(1);
  ASSERT_TRUE(std::filesystem::remove(run.path("certs") + "/ca.crt"));
  const auto made = Authority::create(run.path("certs"), RunId{2}, std::chrono::system_clock::now());
  ASSERT_TRUE(made.ok()) << made.failure().message;
  const auto read = Authority::open(run.path("certs"));
  ASSERT_TRUE(read.ok()) << read.failure().message;
  EXPECT_EQ(read->run(), RunId{2});
}

TEST(Authority, RefusesRequestsThatAreNotSound) {
  const TestRun run(1);
  const PeerIdentity node{run.run(), PeerRole::kNode, "node1"};
  EXPECT_EQ(run.authority().sign("nonsense", node, now()).failure().error, Error::kRefused);
  auto request = make_key_and_csr("node1")->request;
  const auto middle = request.size() / 2;
  request[middle] = request[middle] == 'A' ? 'B' : 'A';
  EXPECT_EQ(run.authority().sign(request, node, now()).failure().error, Error::kRefused);
  const auto sound = make_key_and_csr("node1")->request;
  EXPECT_EQ(run.authority().sign(sound, {run.run(), PeerRole::kNode, "../evil"}, now()).failure().error,
            Error::kRefused);
  EXPECT_TRUE(run.authority().sign(sound, node, now()).ok());
}

// Text after a certificate is passed over; a text that is too long is not read at all.
TEST(Authority, S6ReadsNoLongerTextThanACertificateMayBe) {
  constexpr std::size_t kPemBytesMax = 64U << 10U;  // as in certificates.cpp
  const TestRun run(1);
  const PeerIdentity node{run.run(), PeerRole::kNode, "node1"};
  std::string request = make_key_and_csr("node1")->request;
  request.resize(kPemBytesMax, '\n');
  auto certificate = run.authority().sign(request, node, now());
  ASSERT_TRUE(certificate.ok()) << certificate.failure().message;
  EXPECT_FALSE(run.authority().sign(request + '\n', node, now()).ok());
  certificate->resize(kPemBytesMax, '\n');
  EXPECT_TRUE(identity_of(*certificate).ok());
  EXPECT_FALSE(identity_of(*certificate + '\n').ok());
}

TEST(Authority, DamagedFilesAreInvalidData) {
  const TestRun run(1);
  const TestRun other(2);
  std::filesystem::copy_file(other.path("certs/ca.key"), run.path("certs/ca.key"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(Authority::open(run.path("certs")).failure().error, Error::kInvalidData);
  EXPECT_EQ(Authority::open(run.path("nowhere")).failure().error, Error::kIo);
}

TEST(Credentials, AreRenewedInTheLastThirdOfTheirLife) {
  const TestRun run(1);
  const WallTime made = std::chrono::system_clock::now();
  const Validity year{made - std::chrono::hours(24), made + std::chrono::hours(24 * 365)};
  const TlsFiles files = run.files(PeerRole::kNode, "node1", year);
  const auto days_later = [&](int days) { return needs_renewal(files, made + std::chrono::hours(24 * days)); };
  EXPECT_FALSE(days_later(0));
  EXPECT_FALSE(days_later(242));
  EXPECT_TRUE(days_later(244)) << "of 366, the one before its issue included";
  EXPECT_TRUE(days_later(400));
  EXPECT_TRUE(needs_renewal(credential_files(run.path("certs"), "nobody"), made)) << "there is none";
}

// The authority or a certificate is made by a clock that is years behind or ahead, and put right afterwards.
TEST(Credentials, AreGoodForClocksThatAreYearsWrong) {
  using std::chrono::hours;
  const WallTime right = std::chrono::system_clock::now();
  const hours year{24 * 365};
  for (const WallTime clock : {WallTime(hours(1)), right - 5 * year, right + 5 * year, right + 30 * year}) {
    const test_support::TemporaryFolder folder;
    const auto authority = Authority::create(folder.path(), RunId{1}, clock);
    ASSERT_TRUE(authority.ok()) << authority.failure().message;
    const auto once = validity_of(authority->certificate()).value();
    const PeerIdentity node{authority->run(), PeerRole::kNode, "node1"};
    const auto issued = validity_of(authority->issue(node, usual_validity(clock))->certificate).value();
    for (const Validity& validity : {once, issued}) {
      for (const WallTime later : {WallTime(hours(1)), right - 10 * year, right, right + 10 * year}) {
        EXPECT_LT(validity.not_before, later);
        EXPECT_GT(validity.not_after, later);
        EXPECT_FALSE(is_due_for_renewal(validity, std::min(later, clock)));
      }
    }
  }
  EXPECT_GT(usual_validity(WallTime::max()).not_after, right) << "no overflow";
}

TEST(Credentials, ANewCertificateOfTheSameKeyHasAnotherSerialNumber) {
  const TestRun run(1);
  const PeerIdentity node1{run.run(), PeerRole::kNode, "node1"};
  const auto first = run.authority().issue(node1, now()).value();
  const auto request = make_csr(first.key, "node1");
  ASSERT_TRUE(request.ok()) << request.failure().message;
  const auto second = run.authority().sign(*request, node1, now()).value();
  const auto serial = serial_of(first.certificate);
  ASSERT_TRUE(serial.ok());
  EXPECT_EQ(serial->size(), 32U) << *serial;
  EXPECT_EQ(serial->find_first_not_of("0123456789abcdef"), std::string::npos) << *serial;
  EXPECT_NE(*serial, serial_of(second).value());
  EXPECT_FALSE(make_csr("no key", "node1").ok());
}

TEST(Credentials, SayHowLongTheyAreGood) {
  const TestRun run(1);
  const WallTime from(std::chrono::seconds(1'800'000'000));
  const Validity validity{from, from + std::chrono::seconds(90)};
  const auto files = run.files(PeerRole::kNode, "node1", validity);
  const auto read = validity_of(read_file(files.certificate).value());
  ASSERT_TRUE(read.ok()) << read.failure().message;
  EXPECT_EQ(read->not_before, validity.not_before);
  EXPECT_EQ(read->not_after, validity.not_after);
  EXPECT_FALSE(is_due_for_renewal(*read, from + std::chrono::seconds(60)));
  EXPECT_TRUE(is_due_for_renewal(*read, from + std::chrono::seconds(61)));
}

TEST(Credentials, AreReadableByTheirOwnerAlone) {
  const TestRun run(1);
  const TlsFiles files = run.files(PeerRole::kNode, "node1");
  for (const std::string& path : {files.ca, files.certificate, files.key, run.path("certs/ca.key")}) {
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << path;
  }
}

TEST(TlsContext, RefusesAKeyOfAnotherCertificate) {
  const TestRun run(1);
  TlsFiles files = run.files(PeerRole::kNode, "node1");
  files.key = run.files(PeerRole::kNode, "node2").key;
  const auto context = TlsContext::mutual(files, run.policy({PeerRole::kNode}));
  ASSERT_FALSE(context.ok());
  EXPECT_EQ(context.failure().error, Error::kInvalidData);
}

TEST(TlsContext, RefusesACertificateOfAnotherAuthority) {
  const TestRun run(1);
  const TestRun other(2);
  TlsFiles files = run.files(PeerRole::kNode, "node1");
  files.ca = other.path("certs/ca.crt");
  EXPECT_EQ(TlsContext::mutual(files, run.policy({PeerRole::kNode})).failure().error, Error::kInvalidData);
}

TEST(TlsContext, NamesAMissingFile) {
  const TestRun run(1);
  TlsFiles files = run.files(PeerRole::kNode, "node1");
  files.key = run.path("missing.key");
  const auto context = TlsContext::mutual(files, run.policy({PeerRole::kNode}));
  ASSERT_FALSE(context.ok());
  EXPECT_EQ(context.failure().error, Error::kIo);
  EXPECT_NE(context.failure().message.find("missing.key"), std::string::npos);
}

}  // namespace
}  // namespace shoal::certificates_test
