// The clocks that patience is counted on.
#include <gtest/gtest.h>

#include "runtime/cluster/truth/run_clock.h"

namespace shoal::run_clock_test {
namespace {

using std::chrono::seconds;

constexpr Instant kStart = Instant{} + std::chrono::hours(1);

TEST(RunClock, StandsStillWhileTheSupervisorItselfIsAway) {
  RunClock clock;
  clock.look(kStart, false);
  clock.look(kStart + seconds(1), false);
  clock.look(kStart + seconds(60), false);
  EXPECT_EQ(clock.awake(), seconds(2));
}

TEST(RunClock, CountsNoPatienceWhileRoundsAreOpen) {
  RunClock clock;
  clock.look(kStart, false);
  clock.look(kStart + seconds(1), true);
  EXPECT_EQ(clock.watched() - Instant{}, seconds(1));
  EXPECT_EQ(clock.outside_rounds() - Instant{}, seconds(0));
  clock.look(kStart + seconds(2), false);
  EXPECT_EQ(clock.outside_rounds() - Instant{}, seconds(1));
}

TEST(RunClock, KnowsTheBeginOfAStepOnBothClocks) {
  RunClock clock;
  clock.look(kStart, false);
  clock.look(kStart + seconds(1), false);
  clock.begin_step(kStart + seconds(1));
  EXPECT_EQ(clock.step_since(), kStart + seconds(1));
  EXPECT_EQ(clock.step_begun() - Instant{}, seconds(1));
}

}  // namespace
}  // namespace shoal::run_clock_test
