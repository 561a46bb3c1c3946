// What a node's keeper keeps is its own while it lives, and the next one's to remove when it was killed.
#include "launch/commands/run/kept_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

namespace shoal {
namespace {

namespace fs = std::filesystem;

class KeptFolderTest : public testing::Test {
 protected:
  KeptFolderTest() {
    fs::remove_all(parent_);
    fs::create_directories(parent_);
  }
  ~KeptFolderTest() override { fs::remove_all(parent_); }

  // As of two minutes ago.
  static void age(const fs::path& folder) {
    fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::minutes(2));
  }
  fs::path make(const std::string& name) const {
    fs::create_directories(parent_ / name);
    std::ofstream(parent_ / name / "node0.key") << "secret";
    age(parent_ / name);
    return parent_ / name;
  }

  const fs::path parent_ = fs::path(testing::TempDir()) / ("kept_folder." + std::to_string(::getpid()));
};

TEST_F(KeptFolderTest, IsTheOwnersAloneAndGoesWithItsKeeper) {
  std::string path;
  {
    KeptFolder kept;
    ASSERT_TRUE(kept.make(parent_).ok());
    path = kept.path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    std::ofstream(fs::path(path) / "token") << "t";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(KeptFolderTest, WhatAKilledKeeperLeftIsRemovedAndNothingElse) {
  const fs::path left = make("shoal-node-aaaaaa");
  const fs::path strange = make("another-node-aaaaaa");
  const fs::path young = make("shoal-node-bbbbbb");
  fs::last_write_time(young, fs::file_time_type::clock::now());
  KeptFolder kept;
  ASSERT_TRUE(kept.make(parent_).ok());
  age(kept.path());
  std::ofstream(parent_ / "shoal-node-file") << "no folder";
  fs::create_directory_symlink(strange, parent_ / "shoal-node-link");
  EXPECT_EQ(remove_left_folders(parent_), 1);
  EXPECT_FALSE(fs::exists(left));
  for (const fs::path& stays : {strange / "node0.key", young / "node0.key", fs::path(kept.path())}) {
    EXPECT_TRUE(fs::exists(stays)) << stays;
  }
  EXPECT_EQ(remove_left_folders(parent_), 0);
}

TEST_F(KeptFolderTest, NeedsAPlaceThatIsThere) {
  KeptFolder kept;
  const auto made = kept.make(parent_ / "nowhere");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.failure().error, Error::kIo);
  EXPECT_EQ(remove_left_folders(parent_ / "nowhere"), 0);
}

}  // namespace
}  // namespace shoal
