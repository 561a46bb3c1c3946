// The bounds of this program and what its runs made of them. With SIMULATION_BOUNDS=FILE the program says at its end
// how often each bound was reached: tests/simulate --bounds adds them up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "runtime/base/bound.h"
#include "tests/simulation/seeds.h"
#include "tests/support/bounds/bounds_list.h"

namespace shoal::bounds_test {
namespace {

class BoundsReport : public testing::Environment {
  void TearDown() override {
    const char* file = std::getenv("SIMULATION_BOUNDS");
    if (file == nullptr || *file == '\0') return;
    std::ofstream out(file, std::ios::app);
    for (const ListedBound& one : kBoundsList) {
      for (const Bound* bound : Bound::all()) {
        if (bound->name() != one.name || !one.is_drawn()) continue;
        out << one.name << ' ' << bound->usual() << ' ' << one.least << ' ' << one.most << ' '
            << Knobs::draws_of(one.name) << ' ' << bound->times_reached() << '\n';
      }
    }
  }
};

const auto* const kReport = testing::AddGlobalTestEnvironment(new BoundsReport);

TEST(Bounds, OfThisProgramAreAllInTheList) {
  for (const Bound* bound : Bound::all()) {
    const auto is_listed = std::ranges::find(kBoundsList, bound->name(), &ListedBound::name) != kBoundsList.end();
    EXPECT_TRUE(is_listed) << bound->name();
  }
}

TEST(Bounds, AreDrawnFromTheSeedForOneRunAlone) {
  std::uint64_t with_small_ones = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::string drawn;
    {
      const SimulatedSwarm swarm(shape_of(1, 1), seed);
      drawn = swarm.knobs();
      with_small_ones += drawn.empty() ? 0U : 1U;
    }
    for (const Bound* bound : Bound::all()) EXPECT_EQ(*bound, bound->usual()) << bound->name();
    const SimulatedSwarm again(shape_of(1, 1), seed);
    EXPECT_EQ(again.knobs(), drawn) << "seed " << seed;
  }
  EXPECT_GT(with_small_ones, 20U);
  EXPECT_LT(with_small_ones, 40U) << "some runs have the bounds that users have";
}

TEST(Bounds, AreCountedWhereTheyAreReached) {
  const auto reached = [](std::string_view name) {
    const auto bounds = Bound::all();
    return (*std::ranges::find(bounds, name, &Bound::name))->times_reached();
  };
  const std::string kept = "journal.entries_kept";
  const std::uint64_t before = reached(kept);
  SwarmShape shape = shape_of(1, 2);
  shape.draws_bounds = false;
  SimulatedSwarm usual(shape, 1);
  usual.run();
  EXPECT_EQ(reached(kept), before) << "a short run does not come so far";
  Knobs knobs;
  knobs.set(kept, 2);
  SimulatedSwarm small(shape, 1);
  small.run();
  EXPECT_GT(reached(kept), before);
  EXPECT_EQ(violations(small), "");
}

}  // namespace
}  // namespace shoal::bounds_test
