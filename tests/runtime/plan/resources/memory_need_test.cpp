// What one process is told before it takes more memory than there is.
#include "runtime/plan/resources/memory_need.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::memory_need_test {
namespace {

using testing::HasSubstr;

TEST(LackInMemory, IsSaidWhereTheNeedIsMoreThanIsFree) {
  MemoryNeed need;
  need.weights = 1'000'000'000;
  need.activations = 2'500'000'000;
  const std::uint64_t all = total_bytes(need);
  EXPECT_EQ(lack_in_memory(need, all), "");
  const std::string said = lack_in_memory(need, all - 1);
  EXPECT_THAT(said, HasSubstr("needs 3.5 GB of memory, and 3.5 GB are free"));
  EXPECT_THAT(lack_in_memory(need, 1'000'000'000), HasSubstr("needs 3.5 GB of memory, and 1.0 GB are free"));
}

}  // namespace
}  // namespace shoal::memory_need_test
