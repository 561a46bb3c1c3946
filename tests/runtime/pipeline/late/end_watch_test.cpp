// The verdict that a device hangs, at the edges of its patience.
#include "runtime/pipeline/late/end_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/check.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

TEST(EndWatch, JudgesTheOldestFromWhenItBecameTheOldest) {
  EndWatch watch(10s);
  const Instant start{};
  EXPECT_EQ(watch.hang(start + 1h), std::nullopt);  // nothing is under way
  watch.begin(start);
  watch.begin(start + 1s);
  EXPECT_EQ(watch.hang(start + 10s), std::nullopt);
  const auto reason = watch.hang(start + 11s);
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason, ::testing::HasSubstr("oldest of 2 jobs has not ended in 11 s, and 10 s are allowed"));
  watch.end(start + 9s);
  EXPECT_EQ(watch.hang(start + 19s), std::nullopt);
  EXPECT_TRUE(watch.hang(start + 20s));
  watch.end(start + 20s);
  EXPECT_EQ(watch.under_way(), 0U);
  EXPECT_EQ(watch.hang(start + 1h), std::nullopt);
  watch.begin(start + 2h);  // a device that was idle for long begins anew
  EXPECT_EQ(watch.hang(start + 2h + 10s), std::nullopt);
}

TEST(EndWatch, AnEndHasAJob) {
  EndWatch watch(1s);
  EXPECT_THROW(watch.end(Instant{}), Bug);
}

}  // namespace
}  // namespace shoal
