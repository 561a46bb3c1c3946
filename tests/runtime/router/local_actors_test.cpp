// Tests what actors of a process are given beside letters.
#include "runtime/router/local_actors.h"

#include <gtest/gtest.h>

#include "tests/runtime/router/core_network.h"

namespace shoal::local_actors_test {
namespace {

using namespace std::chrono_literals;
using test_support::kSecond;

// It is added to the time of the next pass: what a part of a sum took would make the link of that pass seem slow.
TEST(LocalActors, AStageIsToldHowLongAPassWasOnItsWayAndNothingElse) {
  test_support::CoreNetwork net;
  net.node(3);
  test_support::CoreProcess& process = *net.processes.at(3);
  const LinkTable links(LinkSelf{}, LinkLimits{}, 1);
  RouterNotes notes;
  LocalActors actors(links, process, notes);
  actors.attach({to_stage({}, kSecond)}, JournalFollower());
  const test_support::Given& stage = process.given({Role::kStage, kSecond.value});
  const auto hand_over = [&](MessageBody body, Duration transfer) {
    Letter letter{{}, to_stage({}, kSecond), std::move(body)};
    EXPECT_TRUE(actors.hand_over(letter, transfer, net.now));
    return stage.transfers;
  };
  EXPECT_EQ(hand_over(Part{}, 150ms), 0);
  EXPECT_EQ(hand_over(Forward{}, 150ms), 1);
  EXPECT_EQ(hand_over(Backward{}, 150ms), 2);
  EXPECT_EQ(hand_over(Backward{}, 0ms), 2) << "it came from this process";
  EXPECT_EQ(stage.bodies.size(), 4U);
}

}  // namespace
}  // namespace shoal::local_actors_test
