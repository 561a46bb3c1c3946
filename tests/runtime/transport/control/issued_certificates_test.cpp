// The list of certificates that a run has given out outlives processes, and half a line.
#include "runtime/transport/control/issued_certificates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "runtime/base/file.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::issued_certificates_test {
namespace {

using std::chrono::hours;
using Tokens = std::vector<std::string>;

const WallTime kNow(std::chrono::seconds(1'800'000'000));

IssuedCertificate issued(const std::string& name, const std::string& token, hours good_for = hours(24)) {
  return {name, "serial", token, kNow + good_for};
}

class Issued : public ::testing::Test {
 protected:
  [[nodiscard]] IssuedCertificates open(WallTime now = kNow) const {
    return std::move(IssuedCertificates::open(path, now).value());
  }

  test_support::TemporaryFolder folder;
  std::string path = folder.path() + "/issued";
};

TEST_F(Issued, OutlivesTheProcess) {
  {
    IssuedCertificates list = open();
    EXPECT_FALSE(list.has("node1"));
    for (const char* token : {"t1", "t2", "t1", ""}) ASSERT_TRUE(list.add(issued("node1", token)).ok());
    ASSERT_TRUE(list.add(issued("node2", "t3")).ok());
  }
  const IssuedCertificates again = open();
  EXPECT_TRUE(again.has("node1"));
  EXPECT_FALSE(again.has("node"));
  EXPECT_EQ(again.tokens_of("node1"), (Tokens{"t1", "t2"}));
  EXPECT_EQ(again.tokens_of("node2"), Tokens{"t3"});
  EXPECT_EQ(again.tokens_of("node3"), Tokens{});
}

TEST_F(Issued, ForgetsWhatHasExpired) {
  IssuedCertificates list = open();
  ASSERT_TRUE(list.add(issued("old", "t1", hours(1))).ok());
  ASSERT_TRUE(list.add(issued("young", "t2", hours(100))).ok());
  IssuedCertificates later = open(kNow + hours(2));
  EXPECT_FALSE(later.has("old"));
  ASSERT_TRUE(later.add(issued("new", "t3")).ok());
  const std::string text = read_file(path).value();
  EXPECT_EQ(text.find("old"), std::string::npos) << text;
  EXPECT_TRUE(open(kNow + hours(2)).has("young"));
}

// A node that asks for certificates all day.
TEST_F(Issued, S6OfOneNameAndTokenTheLongestValidIsRememberedAndTheFileIsBounded) {
  const auto lines = [this] {
    const std::string text = read_file(path).value();
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  };
  IssuedCertificates list = open();
  ASSERT_TRUE(list.add(issued("node2", "t1")).ok());
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(list.add(issued("node1", "", hours(100 + i))).ok());
  EXPECT_LE(lines(), 2 * 2 + IssuedCertificates::kSpareLinesMax);
  EXPECT_GT(lines(), 2U) << "not every line costs a whole file";
  ASSERT_TRUE(list.add(issued("node1", "", hours(1))).ok());
  EXPECT_TRUE(open(kNow + hours(298)).has("node1")) << "the longest valid";
  IssuedCertificates again = open();
  EXPECT_TRUE(again.has("node2"));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(again.add(issued("node1", "")).ok());
  EXPECT_LE(lines(), 2 * 2 + IssuedCertificates::kSpareLinesMax) << "what the process before wrote counts";
}

TEST_F(Issued, ALineThatWasCutTakesNoOtherWithIt) {
  ASSERT_TRUE(open().add(issued("node1", "t1")).ok());
  const std::string whole = read_file(path).value();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ASSERT_TRUE(replace_file(path, whole + whole.substr(0, size)).ok());
    ASSERT_TRUE(open().add(issued("node2", "t2")).ok());
    const IssuedCertificates again = open();
    EXPECT_TRUE(again.has("node1")) << "cut to " << size;
    EXPECT_TRUE(again.has("node2")) << "cut to " << size;
  }
}

TEST_F(Issued, WhatTheDiskRefusedIsWrittenLater) {
  IssuedCertificates list = open();
  ASSERT_TRUE(list.add(issued("node1", "t1")).ok());
  std::filesystem::remove(path);
  EXPECT_FALSE(list.add(issued("node2", "t2")).ok()) << "what is appended to is gone";
  EXPECT_TRUE(list.has("node2"));
  ASSERT_TRUE(list.add(issued("node3", "t3")).ok());
  for (const char* name : {"node1", "node2", "node3"}) EXPECT_TRUE(open().has(name)) << name;
}

}  // namespace
}  // namespace shoal::issued_certificates_test
