// When a member is at a boundary, and when it may leave it.
#include "runtime/sync/rounds/round_boundary.h"

#include <gtest/gtest.h>

namespace shoal::round_boundary_test {
namespace {

using Rounds = std::vector<RoundId>;
constexpr RoundId kFirst{0, 1}, kSecond{1, 1};

TEST(RoundBoundary, IsNoneWhereNothingIsDue) {
  RoundBoundary boundary;
  boundary.reach({}, {});
  EXPECT_FALSE(boundary.is_at_it());
  EXPECT_FALSE(boundary.next_contribution());
}

TEST(RoundBoundary, IsLeftWithTheLastContributionWhereNoUpdateIsDue) {
  RoundBoundary boundary;
  boundary.reach({kFirst, kSecond}, {});
  EXPECT_EQ(boundary.next_contribution(), kFirst);
  boundary.contributed();
  EXPECT_TRUE(boundary.is_at_it());
  EXPECT_EQ(boundary.next_contribution(), kSecond);
  boundary.contributed();
  EXPECT_FALSE(boundary.is_at_it());
}

TEST(RoundBoundary, IsLeftWithItsUpdatesAllAtOnce) {
  RoundBoundary boundary;
  boundary.reach({kFirst}, {kFirst, kSecond});
  boundary.contributed();
  EXPECT_TRUE(boundary.is_at_it());
  EXPECT_EQ(boundary.leave(), (Rounds{kFirst, kSecond}));
  EXPECT_FALSE(boundary.is_at_it());
  EXPECT_TRUE(boundary.updates().empty());
}

// At the end of a run what is in flight is due, too.
TEST(RoundBoundary, IsReachedByAnUpdateThatIsDueAsWell) {
  RoundBoundary boundary;
  boundary.reach({}, {});
  boundary.add_update(kSecond);
  EXPECT_TRUE(boundary.is_at_it());
  EXPECT_EQ(boundary.updates(), Rounds{kSecond});
}

// A member that joins contributes nothing of its own: it serves meanwhile.
TEST(RoundBoundary, IsNotReachedByAContributionToARoundFromBefore) {
  RoundBoundary boundary;
  boundary.add_contribution(kFirst);
  EXPECT_FALSE(boundary.is_at_it());
  EXPECT_EQ(boundary.next_contribution(), kFirst);
  boundary.reach({kSecond}, {});
  EXPECT_EQ(boundary.next_contribution(), kFirst) << "in the order in which they were asked for";
}

}  // namespace
}  // namespace shoal::round_boundary_test
