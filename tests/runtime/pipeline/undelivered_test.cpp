// Tests that what was not delivered is said: all of it, when there is news, and not more than once a minute.
#include "runtime/pipeline/undelivered.h"

#include <gtest/gtest.h>

namespace shoal::undelivered_test {
namespace {

constexpr Instant kNow = Instant{} + std::chrono::hours(1);

TEST(Undelivered, IsSaidWhenThereIsNewsAndNotTooOften) {
  Undelivered undelivered;
  EXPECT_EQ(undelivered.news(kNow), std::nullopt);
  undelivered.add(Undelivered::Why::kNobody);
  undelivered.add(Undelivered::Why::kForged);
  undelivered.add(Undelivered::Why::kNobody);
  EXPECT_EQ(undelivered.news(kNow), "1 forged letters, 2 letters for nobody");
  undelivered.add(Undelivered::Why::kNobody);
  EXPECT_EQ(undelivered.news(kNow + Undelivered::kPause / 2), std::nullopt) << "too soon";
  EXPECT_EQ(undelivered.news(kNow + Undelivered::kPause), "1 forged letters, 3 letters for nobody");
  EXPECT_EQ(undelivered.news(kNow + 3 * Undelivered::kPause), std::nullopt) << "nothing new";
}

}  // namespace
}  // namespace shoal::undelivered_test
