// Lanes tell a router of room again and of an end that ends the link, which reach its core. Consequences are tested
// with the core (tests/runtime/router).
#include <gmock/gmock.h>

#include "actors/router/router.h"
#include "tests/actors/router/router_network.h"
#include "tests/runtime/router/held_lanes.h"
#include "tests/support/resident_values.h"

namespace shoal::router_lanes_test {
namespace {

using namespace std::chrono_literals;
using test_support::forward_of;
using test_support::HeldLanes;
using test_support::kFirst;
using test_support::kSecond;
using test_support::Network;
using ::testing::ElementsAre;

// Node 2 sends to node 3 by these lanes.
struct TwoWays : Network {
  std::shared_ptr<HeldLanes> held = std::make_shared<HeldLanes>();

  TwoWays() {
    lanes[2] = held;
    two_stages();
  }
  void send(std::uint32_t microbatch) {
    Forward forward = forward_of(2);
    forward.cause.microbatch = MicrobatchId{microbatch};
    say(2, to_stage({}, kSecond), forward);
  }
  void make_room() {
    caf::anon_send(published.at(2), LaneChange{held->offered.value, LaneChange::Kind::kRoom});
    drain();
  }
};

TEST(RouterLanes, WhatAFullLaneDoesNotTakeIsOvertakenByNothingOfItsWay) {
  TwoWays net;
  net.held->outcomes = {LaneOutcome::kFull, LaneOutcome::kTaken, LaneOutcome::kFull};
  for (std::uint32_t microbatch = 0; microbatch < 4; ++microbatch) net.send(microbatch);
  EXPECT_THAT(net.held->microbatches(), ElementsAre()) << "they wait behind the first";
  net.make_room();
  EXPECT_THAT(net.held->microbatches(), ElementsAre(0)) << "so does what follows the next that is not taken";
  net.make_room();
  EXPECT_THAT(net.held->microbatches(), ElementsAre(0, 1, 2, 3));
  net.send(4);
  EXPECT_THAT(net.held->microbatches(), ElementsAre(0, 1, 2, 3, 4)) << "nothing waits any more";
}

// The test's system has no threads: the copier is given to the router as one of its actors.
TEST(RouterLanes, ATensorIsCopiedByItsOwnActorBeforeItsLetterLeaves) {
  TwoWays net;
  Forward forward = forward_of(2);
  const TensorBlob before = forward.input;
  const auto values = move_to_device(forward.input);
  values->become_ready();
  net.say(2, to_stage({}, kSecond), forward);
  ASSERT_EQ(net.held->taken.size(), 1U);
  EXPECT_EQ(std::get<Forward>(net.held->taken[0]).input, before);
}

TEST(RouterLanes, ADeviceThatFailsCostsItsLetterAlone) {
  TwoWays net;
  Forward forward = forward_of(2);
  (void)move_to_device(forward.input);  // never ready: its copy throws
  net.say(2, to_stage({}, kSecond), forward);
  EXPECT_TRUE(net.held->taken.empty());
  net.send(1);
  EXPECT_THAT(net.held->microbatches(), ElementsAre(1));
}

TEST(RouterLanes, ALinkWhoseLaneIsLostIsDialledAgainByWhoKnewNothingOfIt) {
  for (const auto kind : {LaneChange::Kind::kLost, LaneChange::Kind::kEndedByPeer}) {
    Network net;
    const auto accepting = std::make_shared<HeldLanes>();
    net.lanes[3] = accepting;
    net.two_stages();
    const auto first = net.attach(2, Role::kStage, StageId{0}, kFirst);
    caf::anon_send(net.published.at(3), LaneChange{accepting->expected.value, kind, "a test"});
    net.advance(2s);
    net.say(3, to_stage({}, kFirst), StateUnavailable{kFirst, 1, "said over the link", kSecond});
    net.advance(1s);
    const bool is_told = kind == LaneChange::Kind::kLost;  // the control: nobody dials who is not told
    EXPECT_EQ(first->all<StateUnavailable>().size(), is_told ? 1U : 0U);
  }
}

}  // namespace
}  // namespace shoal::router_lanes_test
