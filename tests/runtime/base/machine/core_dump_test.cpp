// Tests what /proc says of a process that writes its core, and of all others.
#include "runtime/base/machine/core_dump.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace shoal::core_dump_test {
namespace {

TEST(CoreDump, IsToldByOneLine) {
  EXPECT_TRUE(says_core_dumping("Name:\tshoal-worker\nState:\tD (disk sleep)\nCoreDumping:\t1\nTHP_enabled:\t1\n"));
  EXPECT_FALSE(says_core_dumping("Name:\tshoal-worker\nState:\tD (disk sleep)\nCoreDumping:\t0\nTHP_enabled:\t1\n"));
  EXPECT_FALSE(says_core_dumping("Name:\tCoreDumping:\nState:\tS (sleeping)\n"));
}

TEST(CoreDump, IsNothingThatALivingOrAnAbsentProcessDoes) {
  EXPECT_FALSE(is_dumping_core(::getpid()));
  EXPECT_FALSE(is_dumping_core(-1));
}

}  // namespace
}  // namespace shoal::core_dump_test
