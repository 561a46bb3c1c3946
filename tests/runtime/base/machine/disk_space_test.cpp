// Tests what is left on a disk, and for whom.
#include "runtime/base/machine/disk_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

TEST(DiskSpace, IsToldWithoutWhatIsKept) {
  const Scratch scratch;
  const std::string path = (scratch.path() / "file").string();
  const std::uint64_t available = std::filesystem::space(scratch.path()).available;
  const std::uint64_t kept = available - (1 << 20);
  EXPECT_LE(usable_space(path, 0, kept).value(), available - kept / 2) << "others write here, too";
  EXPECT_GT(usable_space(path, 0, 0).value(), available / 2);
  EXPECT_EQ(usable_space((scratch.path() / "nowhere" / "file").string(), 1, kAll).value(), kAll);
}

// A disk of which somebody else takes what he gets, right behind every question.
struct GreedyDisk {
  std::uint64_t usable = 0;
  std::uint64_t asked = 0;
  std::uint64_t taken_beyond = 0;  // by the parts, of what is left for the journal
  SpaceGrant grant{};

  // False: it is full.
  bool write(std::uint64_t bytes, bool is_greedy) {
    if (!grant.covers(bytes)) {
      ++asked;
      if (usable < bytes) return false;
      grant.answered(bytes, usable);
      if (is_greedy) usable = 0;
    }
    grant.take(bytes);
    taken_beyond += bytes - std::min(usable, bytes);
    usable -= std::min(usable, bytes);
    return true;
  }
};

TEST(SpaceGrant, AsksSeldomWhereThereIsRoomAndForEachPartAtTheEnd) {
  constexpr std::uint64_t kLine = 900;
  GreedyDisk disk{10 << 20U};
  std::uint64_t lines = 0;
  while (disk.usable > (1 << 20U) && disk.write(kLine, false)) ++lines;
  EXPECT_EQ(lines, ((9 << 20U) + kLine - 1) / kLine);
  EXPECT_LE(disk.asked, 9 * (1 << 20U) / (SpaceGrant::kMost - kLine) + 1);
  while (disk.write(kLine, false)) ++lines;
  EXPECT_EQ(disk.taken_beyond, 0U);
  EXPECT_LT(disk.usable, kLine) << "nothing that could be used is left";
  disk.asked = 0;
  EXPECT_FALSE(disk.write(kLine, false));
  EXPECT_FALSE(disk.write(kLine, false));
  EXPECT_EQ(disk.asked, 2U) << "it may have room again";
}

TEST(SpaceGrant, LeavesTheJournalMostOfItsOwnWhateverOthersTake) {
  for (const std::uint64_t usable : {std::uint64_t{900}, std::uint64_t{20'000}, std::uint64_t{10} << 30U}) {
    GreedyDisk disk{usable};
    while (disk.write(900, true)) {
    }
    EXPECT_LE(disk.taken_beyond, SpaceGrant::kMost + 900);
    EXPECT_LE(disk.taken_beyond, kLeftForTheJournal / 2);
    EXPECT_EQ(disk.asked, 2U);
  }
}

TEST(SpaceGrant, AsksAgainWhenTheDiskHasRefused) {
  SpaceGrant grant;
  EXPECT_FALSE(grant.covers(1));
  grant.answered(10, 1 << 20U);
  EXPECT_TRUE(grant.covers(10));
  grant.refused();
  EXPECT_FALSE(grant.covers(1));
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
