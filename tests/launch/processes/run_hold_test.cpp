// Tests who may write into a run directory.
#include "launch/processes/run_hold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace shoal::run_hold_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(RunHold, KeepsASecondCommandOffUntilItEnds) {
  const RunDirectory run{testing::TempDir() + "run_hold." + std::to_string(::getpid())};
  {
    const auto first = RunHold::take(run);
    ASSERT_TRUE(first.ok()) << first.failure().message;
    EXPECT_TRUE(fs::is_directory(run.root)) << "it was made";
    const auto second = RunHold::take(run);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.failure().error, Error::kUsage);
    EXPECT_THAT(second.failure().message, HasSubstr(run.root.string()));
    EXPECT_TRUE(RunHold::is_taken(run));
  }
  EXPECT_FALSE(RunHold::is_taken(run));
  EXPECT_TRUE(RunHold::take(run).ok());
  EXPECT_TRUE(fs::is_empty(run.root)) << "nothing is left in it";
  fs::remove_all(run.root);
}

TEST(RunHold, NeedsADirectoryThatCanBeMade) {
  const auto hold = RunHold::take(RunDirectory{"/proc/nowhere"});
  ASSERT_FALSE(hold.ok());
  EXPECT_EQ(hold.failure().error, Error::kIo);
  EXPECT_FALSE(RunHold::is_taken(RunDirectory{"/proc/nowhere"}));
}

}  // namespace
}  // namespace shoal::run_hold_test
