// A scratch folder is its process's own while it lives, and the next one's to remove when that was killed.
#include "runtime/base/machine/scratch_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <vector>

namespace shoal::scratch_folder_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "shoal-node-";

class ScratchFolderTest : public testing::Test {
 protected:
  ScratchFolderTest() {
    fs::remove_all(parent_);
    fs::create_directories(parent_);
  }
  ~ScratchFolderTest() override { fs::remove_all(parent_); }

  // One that nobody has locked.
  fs::path leave(const std::string& name) const {
    fs::create_directories(parent_ / name);
    std::ofstream(parent_ / name / "node0.key") << "secret";
    return parent_ / name;
  }

  const fs::path parent_ = fs::path(testing::TempDir()) / ("scratch_folder." + std::to_string(::getpid()));
};

TEST_F(ScratchFolderTest, IsTheOwnersAloneAndGoesWithItsProcess) {
  fs::path path;
  {
    const auto made = ScratchFolder::make(parent_, kPrefix);
    ASSERT_TRUE(made.ok()) << made.failure().message;
    path = made->path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    EXPECT_EQ(path.filename().string().size(), std::string(kPrefix).size() + 14) << path;
    std::ofstream(path / "token") << "t";
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::is_empty(parent_));
}

TEST_F(ScratchFolderTest, WhatAKilledProcessLeftIsRemovedAndNothingElse) {
  const auto in_use = ScratchFolder::make(parent_, kPrefix);
  const fs::path left = leave("shoal-node-scratch-aaaaaa");
  const fs::path strange = leave("another-node-scratch-aaaaaa");
  const fs::path about_to_be_locked = leave("shoal-node-scratch-new-bbbbbb");
  const fs::path never_locked = leave("shoal-node-scratch-new-cccccc");
  fs::last_write_time(never_locked, fs::file_time_type::clock::now() - std::chrono::minutes(2));
  std::ofstream(parent_ / "shoal-node-scratch-dddddd") << "no folder";
  std::vector<fs::path> of_a_person;
  for (const char* name : {"shoal-node-a", "shoal-node-logs", "shoal-node-second", "shoal-node-scratch-",
                           "shoal-node-scratch-of-mine", "shoal-node-scratch-new-1"}) {
    of_a_person.push_back(leave(name));
  }
  fs::create_directory_symlink(strange, parent_ / "shoal-node-scratch-eeeeee");
  EXPECT_EQ(remove_left_folders(parent_, kPrefix), 2);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_FALSE(fs::exists(never_locked));
  for (const fs::path& folder : of_a_person) EXPECT_TRUE(fs::exists(folder / "node0.key")) << folder;
  for (const fs::path& stays : {strange / "node0.key", about_to_be_locked / "node0.key", in_use->path()}) {
    EXPECT_TRUE(fs::exists(stays)) << stays;
  }
  EXPECT_EQ(remove_left_folders(parent_, kPrefix), 0);
}

TEST_F(ScratchFolderTest, TheNextOneRemovesWhatWasLeft) {
  const fs::path left = leave("shoal-node-scratch-aaaaaa");
  EXPECT_TRUE(ScratchFolder::make(parent_, kPrefix).ok());
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(ScratchFolderTest, AnEmptyTmpdirIsNone) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "", 1);
  EXPECT_EQ(*temporary_folder(), "/tmp");
  ::setenv("TMPDIR", (parent_ / "nowhere").c_str(), 1);
  EXPECT_FALSE(temporary_folder().ok());
  ::setenv("TMPDIR", parent_.c_str(), 1);
  EXPECT_EQ(*temporary_folder(), parent_);
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}

TEST_F(ScratchFolderTest, NeedsAPlaceThatIsThere) {
  const auto made = ScratchFolder::make(parent_ / "nowhere", kPrefix);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.failure().error, Error::kIo);
  EXPECT_NE(made.failure().message.find("No such file or directory"), std::string::npos) << made.failure().message;
  EXPECT_EQ(remove_left_folders(parent_ / "nowhere", kPrefix), 0);
}

}  // namespace
}  // namespace shoal::scratch_folder_test
