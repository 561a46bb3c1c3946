// Tests what is left on a disk, and for whom.
#include "runtime/base/machine/disk_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "tests/runtime/data/scratch.h"

namespace shoal::disk_space_test {
namespace {

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

TEST(DiskSpace, IsRefusedWhereLessThanIsKeptWouldBeLeft) {
  const Scratch scratch;
  const std::string path = (scratch.path() / "file").string();
  const std::uint64_t available = std::filesystem::space(scratch.path()).available;
  EXPECT_TRUE(check_space(path, 1, 0).ok());
  EXPECT_TRUE(check_space(path, available / 4, available / 4).ok());
  EXPECT_FALSE(check_space(path, kAll, 0).ok());
  const Status refused = check_space(path, 1, kAll);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kIo);
  EXPECT_THAT(refused.failure().message, testing::HasSubstr(path));
  EXPECT_THAT(refused.failure().message, testing::HasSubstr("the journal needs"));
  EXPECT_THAT(check_space(path, kAll, 0).failure().message, testing::Not(testing::HasSubstr("journal")));
}

TEST(DiskSpace, IsNotAskedForWhereTheDiskSaysNothing) {
  const Scratch scratch;
  EXPECT_TRUE(check_space((scratch.path() / "nowhere" / "file").string(), 1, kAll).ok());
}

TEST(DiskSpace, IsOfOneDiskAndNotOfAnother) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path() / "inner");
  EXPECT_TRUE(is_on_disk_of((scratch.path() / "inner").string(), scratch.path().string()));
  EXPECT_FALSE(is_on_disk_of(scratch.path().string(), "/proc"));
  EXPECT_TRUE(is_on_disk_of((scratch.path() / "nowhere").string(), "/proc")) << "nobody knows";
}

}  // namespace
}  // namespace shoal::disk_space_test
