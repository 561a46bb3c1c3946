// Tests the record of who has which number, as one spawner leaves it to the next.
#include "launch/processes/spawner/number_record.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/base/file.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::number_record_test {
namespace {

const std::vector<Peer> kPeers = {{ProcessIncarnation{7}, ProcessRole::kStorage, "storage", {}},
                                  {ProcessIncarnation{12}, ProcessRole::kNode, "node-2", {}}};

struct NumberRecordTest : testing::Test {
  Scratch scratch;
  std::string path = (scratch.path() / "processes").string();

  [[nodiscard]] static std::vector<Peer> with_addresses() {
    std::vector<Peer> peers = kPeers;
    for (Peer& peer : peers) peer.endpoint = {"host", 1};
    return peers;
  }
  [[nodiscard]] std::string error_of(const std::string& text) const {
    EXPECT_TRUE(replace_file(path, text).ok());
    const auto read = NumberRecord::read(path);
    EXPECT_TRUE(!read && read.failure().error == Error::kInvalidData) << text;
    return read ? std::string() : read.failure().message;
  }
};

TEST_F(NumberRecordTest, IsReadAsItWasWritten) {
  NumberRecord record(path);
  EXPECT_TRUE(record.take(with_addresses()));
  ASSERT_TRUE(record.write().ok());
  const auto read = NumberRecord::read(path);
  ASSERT_TRUE(read.ok() && read->has_value());
  EXPECT_EQ(**read, kPeers);
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
}

TEST_F(NumberRecordTest, OfARunOfAVersionBeforeThereIsNone) {
  const auto read = NumberRecord::read(path);
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->has_value()) << "nobody is refused";
  NumberRecord record(path);
  (void)record.take({});
  ASSERT_TRUE(record.write().ok());
  ASSERT_TRUE(NumberRecord::read(path)->has_value()) << "that nobody is in is something else";
  EXPECT_TRUE(NumberRecord::read(path)->value().empty());
}

TEST_F(NumberRecordTest, WhatAKilledSpawnerLeftHalfWrittenGoes) {
  ASSERT_TRUE(replace_file(path + ".new.17.0", "{").ok());
  ASSERT_TRUE(replace_file(path + ".other", "{").ok());
  EXPECT_TRUE(NumberRecord::read(path).ok());
  EXPECT_FALSE(std::filesystem::exists(path + ".new.17.0"));
  EXPECT_TRUE(std::filesystem::exists(path + ".other"));
}

TEST_F(NumberRecordTest, IsWrittenWhereItChanges) {
  NumberRecord record(path);
  EXPECT_TRUE(record.take(kPeers));
  ASSERT_TRUE(record.write().ok());
  EXPECT_FALSE(record.take(with_addresses())) << "addresses are not on record";
  EXPECT_FALSE(record.take({kPeers[1], kPeers[0]})) << "nor is an order";
  EXPECT_TRUE(record.take({kPeers[0]}));
  ASSERT_TRUE(record.write().ok());
  EXPECT_EQ(NumberRecord::read(path)->value().size(), 1U);
}

// The disk may be full: the next list, though it is the same, is written then.
TEST_F(NumberRecordTest, IsTriedAgainWhereItCouldNotBeWritten) {
  const auto folder = scratch.path() / "away";
  NumberRecord record((folder / "processes").string());
  EXPECT_TRUE(record.take(kPeers));
  EXPECT_FALSE(record.write().ok());
  EXPECT_TRUE(record.take(kPeers));
  std::filesystem::create_directory(folder);
  ASSERT_TRUE(record.write().ok());
  EXPECT_FALSE(record.take(kPeers));
}

TEST_F(NumberRecordTest, OneThatIsDamagedIsNotGuessed) {
  const std::string good = R"({"name":"a","process":12,"role":"node"})";
  EXPECT_NE(error_of(good + "\n" + good + "\n").find("line 2"), std::string::npos) << "two have one number";
  for (const char* bad : {"{", R"({"name":"a","role":"node"})", R"({"name":"a","process":-1,"role":"node"})",
                          R"({"name":"a","process":12,"role":"spawner"})", R"({"process":12,"role":"node"})"}) {
    EXPECT_NE(error_of(bad).find(path + ", line 1"), std::string::npos) << bad;
  }
}

}  // namespace
}  // namespace shoal::number_record_test
