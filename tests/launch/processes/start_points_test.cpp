// Tests what a run starts from where no checkpoint is found.
#include "launch/processes/start_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/data/scratch.h"

namespace shoal::start_points_test {
namespace {

using testing::HasSubstr;

class FindStart : public testing::Test {
 protected:
  [[nodiscard]] Result<StartPoint> find(const FindCheckpoint& wanted) const {
    return find_start_point({RunDirectory{scratch_.path() / "run"}, {}, RunId{9}, "text"}, wanted);
  }
  const Scratch scratch_;
};

TEST_F(FindStart, BeginsARunThatNeverSavedAnything) {
  const auto start = find({});
  ASSERT_TRUE(start.ok()) << start.failure().message;
  EXPECT_EQ(start->version, 0U);
  EXPECT_FALSE(start->from_checkpoint);
}

// Nothing in a directory that is away tells of a checkpoint.
TEST_F(FindStart, WaitsForTheFolderOfARunThatHasSavedOne) {
  for (const std::uint64_t saved : {std::uint64_t{100}, std::uint64_t{0}}) {
    for (const bool passes_unreadable : {false, true}) {
      const auto start = find({150, passes_unreadable, saved});
      ASSERT_FALSE(start.ok());
      EXPECT_EQ(start.failure().error, Error::kIo) << "it may come back";
      EXPECT_THAT(start.failure().message, HasSubstr("bring the folder back"));
    }
  }
}

TEST_F(FindStart, DoesNotWaitForOneThatIsBeyondWhatIsWanted) { EXPECT_TRUE(find({99, false, 100}).ok()); }

}  // namespace
}  // namespace shoal::start_points_test
