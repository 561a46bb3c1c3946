// Tests who is refused: by name, but for what was given out since, and whatever order lists come in.
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/base/file.h"
#include "runtime/transport/revocation/revocation_book.h"
#include "runtime/transport/revocation/revoked_certificates.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::revocation_test {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{};
const WallTime kNow(std::chrono::seconds(1'800'000'000));

TEST(RevokedCertificates, RefuseANameButForWhatItWasGivenSince) {
  RevokedCertificates list;
  EXPECT_FALSE(list.refuses("node2", "aa"));
  EXPECT_TRUE(list.take({3, {{"node2", {"cc"}}}}, kStart));
  EXPECT_TRUE(list.refuses("node2", "aa"));
  EXPECT_TRUE(list.refuses("node2", "bb"));
  EXPECT_FALSE(list.refuses("node2", "cc"));
  EXPECT_FALSE(list.refuses("node", "aa"));
  EXPECT_FALSE(list.refuses("node22", "aa"));
}

TEST(RevokedCertificates, AnOlderListChangesNothing) {
  RevokedCertificates list;
  ASSERT_TRUE(list.take({5, {{"node2", {}}}}, kStart));
  EXPECT_FALSE(list.take({4, {}}, kStart));
  EXPECT_FALSE(list.take({5, {}}, kStart));
  EXPECT_TRUE(list.refuses("node2", "aa"));
  EXPECT_EQ(list.version(), 5U);
  EXPECT_TRUE(list.take({6, {}}, kStart)) << "the control";
  EXPECT_FALSE(list.refuses("node2", "aa"));
}

TEST(RevokedCertificates, LastWordsHaveTheirTime) {
  RevokedCertificates list;
  ASSERT_TRUE(list.take({1, {{"node2", {"cc"}}}}, kStart + 10s));
  ASSERT_TRUE(list.take({2, {{"node2", {"cc"}}, {"node3", {}}}}, kStart + 11s));
  EXPECT_FALSE(list.has_refused_for(1s, "node2", "aa", kStart + 10s + 999ms));
  EXPECT_TRUE(list.has_refused_for(1s, "node2", "aa", kStart + 11s)) << "since the first list that had it";
  EXPECT_FALSE(list.has_refused_for(1s, "node3", "aa", kStart + 11s));
  EXPECT_FALSE(list.has_refused_for(1s, "node2", "cc", kStart + 60s));
  EXPECT_FALSE(list.has_refused_for(1s, "node4", "aa", kStart + 60s));
}

TEST(RevocationBook, SurvivesItsText) {
  RevocationBook book;
  book.revoke("node2", {"t1", "t2"}, kNow);
  book.revoke("node3", {}, kNow);
  book.readmit("node2", "cc", kNow);
  const auto read = RevocationBook::from_text(book.to_text());
  ASSERT_TRUE(read.ok()) << read.failure().message;
  EXPECT_EQ(read->list(), book.list());
  EXPECT_TRUE(read->is_readmitted("node2", "cc"));
  EXPECT_FALSE(read->is_readmitted("node2", "aa"));
  EXPECT_TRUE(read->is_barred("node2", "t1"));
  EXPECT_FALSE(read->is_barred("node2", "t3"));
  EXPECT_FALSE(read->is_barred("node3", "t1"));
  EXPECT_FALSE(read->is_revoked("node4"));
}

TEST(RevocationBook, RevokingAgainTakesBackWhatWasReadmitted) {
  RevocationBook book;
  book.revoke("node2", {"t1"}, kNow);
  book.readmit("node2", "cc", kNow);
  book.revoke("node2", {"t1", "t3"}, kNow);
  EXPECT_FALSE(book.is_readmitted("node2", "cc"));
  EXPECT_TRUE(book.is_barred("node2", "t3"));
  EXPECT_EQ(book.list().names.size(), 1U);
}

// Processes that live have seen the list of a file that was lost.
TEST(RevocationBook, S6RemembersTheNewestReadmittedCertificatesOfAName) {
  RevocationBook book;
  book.revoke("node2", {}, kNow);
  for (std::size_t i = 0; i < 2 * RevocationBook::kReadmittedMax; ++i) book.readmit("node2", std::to_string(i), kNow);
  ASSERT_EQ(book.list().names.size(), 1U);
  EXPECT_EQ(book.list().names[0].readmitted.size(), RevocationBook::kReadmittedMax);
  EXPECT_TRUE(book.is_readmitted("node2", std::to_string(2 * RevocationBook::kReadmittedMax - 1)));
  EXPECT_TRUE(book.is_readmitted("node2", std::to_string(RevocationBook::kReadmittedMax)));
  EXPECT_FALSE(book.is_readmitted("node2", std::to_string(RevocationBook::kReadmittedMax - 1)));
}

TEST(RevocationBook, VersionsAscendOverAFileThatWasLost) {
  RevocationBook lost;
  for (int i = 0; i < 5; ++i) lost.revoke("node2", {}, kNow);
  RevocationBook fresh;
  fresh.revoke("node3", {}, kNow + 10s);
  EXPECT_GT(fresh.list().version, lost.list().version);
  const std::uint64_t before = lost.list().version;
  lost.revoke("node4", {}, kNow - 1000h);
  EXPECT_EQ(lost.list().version, before + 1) << "a clock that was set back";
}

TEST(RevocationBook, AMissingFileIsEmptyAndADamagedOneIsNot) {
  const test_support::TemporaryFolder folder;
  const std::string path = folder.path() + "/revoked.json";
  EXPECT_TRUE(load_revocations(path)->list().names.empty());
  RevocationBook book;
  book.revoke("node2", {}, kNow);
  ASSERT_TRUE(save_revocations(path, book).ok());
  EXPECT_TRUE(load_revocations(path)->is_revoked("node2"));
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const std::string whole = book.to_text();
  for (std::size_t size = 0; size + 2 < whole.size(); size += 3) {
    ASSERT_TRUE(replace_file(path, whole.substr(0, size)).ok());
    const auto damaged = load_revocations(path);
    ASSERT_FALSE(damaged.ok()) << "cut to " << size;
    EXPECT_EQ(damaged.failure().error, Error::kInvalidData);
    EXPECT_NE(damaged.failure().message.find(path), std::string::npos);
  }
}

}  // namespace
}  // namespace shoal::revocation_test
