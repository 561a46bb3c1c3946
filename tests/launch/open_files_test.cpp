// The limit of open files: raised to what is granted, and too low a one is refused before a run waits for links.
#include "launch/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

namespace shoal::open_files_test {
namespace {

class OpenFiles : public testing::Test {
 protected:
  OpenFiles() { ::getrlimit(RLIMIT_NOFILE, &usual_); }
  ~OpenFiles() override { ::setrlimit(RLIMIT_NOFILE, &usual_); }
  void lower_to(rlim_t allowed) const {
    const rlimit low{allowed, usual_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  }
  rlimit usual_{};
};

TEST_F(OpenFiles, AreAsManyAsTheMachineGrants) {
  lower_to(100);
  EXPECT_EQ(open_files_allowed(), 100U) << "the control";
  raise_open_file_limit();
  EXPECT_EQ(open_files_allowed(), std::min<std::uint64_t>(usual_.rlim_max, kOpenFilesWanted));
}

TEST_F(OpenFiles, AreNeverMadeFewer) {
  if (usual_.rlim_max <= kOpenFilesWanted) GTEST_SKIP() << "this machine grants no more than are wanted";
  lower_to(kOpenFilesWanted + 1);
  raise_open_file_limit();
  EXPECT_EQ(open_files_allowed(), kOpenFilesWanted + 1);
}

TEST_F(OpenFiles, TooFewAreAnErrorThatSaysWhatToDo) {
  EXPECT_TRUE(check_open_files(kOpenFilesLeast));
  const Status refused = check_open_files(24);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().error, Error::kUsage);
  EXPECT_NE(refused.failure().message.find("only 24 files"), std::string::npos) << refused.failure().message;
  EXPECT_NE(refused.failure().message.find("ulimit -n"), std::string::npos) << refused.failure().message;
}

}  // namespace
}  // namespace shoal::open_files_test
