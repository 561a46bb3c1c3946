// The lines of `shoal ps`: each actor once, under its name in the run, bounded whatever a process tells.
#include "runtime/cluster/operate/actor_list.h"

#include <gtest/gtest.h>

namespace shoal::actor_list_test {
namespace {

ActorHealth told(const std::string& name, const std::string& state = "running") {
  return {name, 5, state, 2, 1, "Forward", 30};
}

TEST(ActorList, WhatIsKnownAndWhatIsToldBecomeOneLine) {
  ActorList list;
  list.add("node1", {"stage/1/0", 17, "serving", 0, 3, {}, 0});
  list.merge("node1", {told("stage/1/0"), told("router")}, 2);
  const auto lines = list.sorted();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].health, (ActorHealth{"router/node1", 5, "running", 2, 3, "Forward", 30}));
  EXPECT_EQ(lines[1].health, (ActorHealth{"stage/1/0", 17, "serving", 2, 4, "Forward", 30}));
}

// A keeper that is frozen is told of by its process, which may have been started often.
TEST(ActorList, AKeeperHasTheNameOfItsProcessAndNoRestartsOfIt) {
  ActorList list;
  list.merge("node1", {{"keeper", 0, "silent", 0, 0, "", 0}}, 2);
  EXPECT_EQ(list.sorted().at(0).health, (ActorHealth{"keeper/node1", 0, "silent", 0, 0, "", 0}));
}

TEST(ActorList, WhatIsDownIsShownAsDown) {
  ActorList list;
  list.add("node1", {"stage/1/0", 17, "serving", 0, 0, {}, 0});
  list.merge("node1", {told("stage/1/0", "down"), told("tracer", "down")}, 0);
  for (const ActorLine& line : list.sorted()) EXPECT_EQ(line.health.state, "down");
}

TEST(ActorList, TheSpawnersActorsComeFirst) {
  ActorList list;
  list.merge("node1", {told("router")}, 0);
  list.merge("spawner", {told("supervisor"), told("router")}, 0);
  const auto lines = list.sorted();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].health.name, "router/spawner");
  EXPECT_EQ(lines[1].health.name, "supervisor");
  EXPECT_EQ(lines[2].node, "node1");
}

TEST(ActorList, WhatAProcessTellsIsBounded) {  // S-6
  ActorList list;
  std::vector<ActorHealth> flood;
  for (int i = 0; i < 1000; ++i) flood.push_back(told(std::to_string(i) + std::string(10'000, 'x')));
  list.merge("node1", flood, 0);
  EXPECT_EQ(list.sorted().size(), ActorList::kToldMax);
  EXPECT_LE(list.sorted()[0].health.name.size(), ActorList::kTextMax);
}

}  // namespace
}  // namespace shoal::actor_list_test
