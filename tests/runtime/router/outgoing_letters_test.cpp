// The two ways between routers, each with its order: what a full lane does not take waits there with all that follows,
// and what the link takes does not wait for it. And links that end with their lanes.
#include "runtime/router/outgoing_letters.h"

#include <gmock/gmock.h>

#include <cstring>

#include "tests/runtime/router/core_network.h"
#include "tests/runtime/router/held_lanes.h"
#include "tests/support/resident_values.h"

namespace shoal::outgoing_letters_test {
namespace {

using namespace std::chrono_literals;
using test_support::CoreNetwork;
using test_support::forward_of;
using test_support::HeldLanes;
using test_support::kFirst;
using test_support::kSecond;
using test_support::tensor_of;
using ::testing::ElementsAre;

// Node 2 sends to node 3 by these lanes.
struct TwoWays : CoreNetwork {
  std::shared_ptr<HeldLanes> held = std::make_shared<HeldLanes>();

  explicit TwoWays(std::size_t for_absent = RouterSettings{}.waiting_bytes_max) {
    waiting_bytes_max = for_absent;
    lanes[2] = held;
    two_stages();
  }
  void send(std::uint32_t microbatch) {
    Forward forward = forward_of(2);
    forward.cause.microbatch = MicrobatchId{microbatch};
    say(2, to_stage({}, kSecond), forward);
  }
  void make_room() { core(2).lane_has_room(held->offered); }
  // The same with an input that is on a device.
  std::shared_ptr<ResidentValues> send_resident(std::uint32_t microbatch, std::uint64_t value) {
    Forward forward = forward_of(2);
    forward.cause.microbatch = MicrobatchId{microbatch};
    auto bytes = std::make_shared<AlignedBuffer>(sizeof value);
    std::memcpy(bytes->data(), &value, sizeof value);
    forward.input = TensorBlob{DType::kInt64, {1}, bytes};
    const auto values = move_to_device(forward.input);
    say(2, to_stage({}, kSecond), forward);
    return values;
  }
  [[nodiscard]] std::size_t copying() const { return processes.at(2)->copying.size(); }
  // The oldest copy that was asked for ends.
  void copy(const TensorBlob& host) {
    auto& asked = processes.at(2)->copying;
    const auto tensor = asked.front();
    asked.pop_front();
    core(2).tensor_copied(tensor, host);
  }
  void copy() { copy(seen_on_device({DType::kInt64, {1}, nullptr, processes.at(2)->copying.front()})); }
};

TEST(OutgoingLetters, P9aWhatAFullLaneDoesNotTakeIsOvertakenByNothingOfItsWay) {
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

TEST(OutgoingLetters, P9aALetterWaitsForTheCopyOfItsTensorAndIsOvertakenByNothingOfItsWay) {
  TwoWays net;
  (void)net.send_resident(0, 17);
  net.send(1);
  EXPECT_THAT(net.held->microbatches(), ElementsAre()) << "the second has its bytes, and waits behind the first";
  ASSERT_EQ(net.copying(), 1U);
  net.copy();
  EXPECT_THAT(net.held->microbatches(), ElementsAre(0, 1));
  EXPECT_EQ(*std::get<Forward>(net.held->taken[0]).input.as<std::uint64_t>(), 17U);
  net.send(2);
  EXPECT_THAT(net.held->microbatches(), ElementsAre(0, 1, 2)) << "nothing waits any more";
}

TEST(OutgoingLetters, CopiesThatEndInAnotherOrderChangeNoOrderOfLetters) {
  TwoWays net;
  (void)net.send_resident(0, 1);
  (void)net.send_resident(1, 2);
  ASSERT_EQ(net.copying(), 2U);
  auto& asked = net.processes.at(2)->copying;
  std::swap(asked[0], asked[1]);
  net.copy();
  EXPECT_THAT(net.held->microbatches(), ElementsAre());
  net.copy();
  EXPECT_THAT(net.held->microbatches(), ElementsAre(0, 1));
}

// Credits bound them, and nobody is absent.
TEST(OutgoingLetters, LettersThatWaitForTheirCopiesTakeNoRoomOfAbsentPeers) {
  TwoWays net(4096);
  for (std::uint32_t microbatch = 0; microbatch < 3; ++microbatch) {
    Forward forward = forward_of(2);
    forward.cause.microbatch = MicrobatchId{microbatch};
    (void)move_to_device(forward.input = tensor_of(1024));
    net.say(2, to_stage({}, kSecond), forward);
  }
  ASSERT_EQ(net.copying(), 3U);
  while (net.copying() > 0) net.copy(tensor_of(1024));
  EXPECT_THAT(net.held->microbatches(), ElementsAre(0, 1, 2));
  EXPECT_EQ(net.core(2).undelivered().count(Undelivered::Why::kNoRoom), 0U);
}

TEST(OutgoingLetters, WhatWaitsForAnAbsentPeerCostsALinkedOneNothing) {
  TwoWays net(4096);
  net.kill(1);
  Backward large;
  large.sender = kFirst;
  large.input_gradient = tensor_of(4096);
  for (int i = 0; i < 2; ++i) net.say(2, to_data_loader(), large);
  EXPECT_EQ(net.core(2).undelivered().count(Undelivered::Why::kNoRoom), 1U) << "the control: the room is full";
  (void)net.send_resident(0, 1);
  net.send(1);
  ASSERT_EQ(net.copying(), 1U);
  net.copy();
  EXPECT_THAT(net.held->microbatches(), ElementsAre(0, 1));
}

// A device may know what its values are on the host, and how large, only when they are computed.
TEST(OutgoingLetters, ACopyMayBeAnotherTensorThanTheDeviceSaid) {
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{8192}}) {
    TwoWays net;
    net.held->outcomes = {LaneOutcome::kFull};
    (void)net.send_resident(0, 1);
    const TensorBlob copy{DType::kUint8, {static_cast<std::int64_t>(bytes)}, std::make_shared<AlignedBuffer>(bytes)};
    net.copy(copy);
    net.make_room();
    ASSERT_THAT(net.held->microbatches(), ElementsAre(0));
    EXPECT_TRUE(std::get<Forward>(net.held->taken[0]).input == copy);
  }
}

TEST(OutgoingLetters, ATensorInTwoLettersIsCopiedOnce) {
  TwoWays net;
  Forward forward = forward_of(2);
  (void)move_to_device(forward.input);
  Backward answer;
  answer.sender = kFirst;
  answer.input_gradient = forward.input;
  net.say(2, to_stage({}, kSecond), forward);
  net.say(2, to_stage({}, kSecond), answer);
  ASSERT_EQ(net.copying(), 1U);
  net.copy();
  EXPECT_EQ(net.held->taken.size(), 2U);
}

TEST(OutgoingLetters, ATensorStaysOnItsDeviceWithinTheProcess) {
  TwoWays net;
  const auto here = net.attach(3, Role::kStage, StageId{1}, kSecond);
  Forward forward = forward_of(2);
  const auto values = move_to_device(forward.input);
  net.say(3, to_stage({}, kSecond), forward);
  ASSERT_EQ(here->all<Forward>().size(), 1U);
  EXPECT_EQ(here->all<Forward>()[0].input.resident, values) << "passed on by reference";
  EXPECT_TRUE(net.processes.at(3)->copying.empty());
}

TEST(OutgoingLetters, ALetterWhoseTensorCannotBeCopiedIsDroppedAndCountedAndThoseBehindItGo) {
  TwoWays net;
  (void)net.send_resident(0, 1);
  net.send(1);
  net.copy({});
  EXPECT_THAT(net.held->microbatches(), ElementsAre(1));
  EXPECT_EQ(net.core(2).undelivered().count(Undelivered::Why::kNotCopied), 1U);
}

TEST(OutgoingLetters, ACopyForAProcessThatIsGoneHarmsNothing) {
  TwoWays net;
  (void)net.send_resident(0, 1);
  net.kill(3);
  net.copy();
  EXPECT_THAT(net.held->microbatches(), ElementsAre());
  EXPECT_EQ(net.core(2).undelivered().count(Undelivered::Why::kNotCopied), 0U);
}

TEST(OutgoingLetters, WhatGoesOverTheLinkDoesNotWaitForAFullLane) {
  TwoWays net;
  const auto second = net.attach(3, Role::kStage, StageId{1}, kSecond);
  net.held->outcomes = {LaneOutcome::kFull};
  net.send(0);
  net.say(2, to_stage({}, kSecond), StateUnavailable{kSecond, 1, "said over the link", kFirst});
  EXPECT_EQ(second->all<StateUnavailable>().size(), 1U);
  EXPECT_TRUE(net.held->taken.empty());
}

// Before it nothing would be known: an Ask that overtakes its Forward makes it go again.
TEST(OutgoingLetters, AnAskTravelsBehindItsForward) {
  for (const bool is_full : {false, true}) {
    TwoWays net;
    const auto second = net.attach(3, Role::kStage, StageId{1}, kSecond);
    if (is_full) net.held->outcomes.assign(1000, LaneOutcome::kFull);
    net.send(0);
    net.advance(1100ms);
    EXPECT_TRUE(second->all<Ask>().empty());
    net.held->outcomes.clear();
    net.make_room();
    ASSERT_EQ(net.held->taken.size(), 2U);
    EXPECT_TRUE(std::holds_alternative<Forward>(net.held->taken[0]));
    EXPECT_TRUE(std::holds_alternative<Ask>(net.held->taken[1]));
  }
}

TEST(OutgoingLetters, ALinkWhoseLaneIsLostIsDialledAgainByWhoKnewNothingOfIt) {
  for (const bool was_said : {false, true}) {
    CoreNetwork net;
    const auto accepting = std::make_shared<HeldLanes>();
    net.lanes[3] = accepting;
    net.two_stages();
    const auto first = net.attach(2, Role::kStage, StageId{0}, kFirst);
    net.core(3).lane_ended(accepting->expected, "a test", was_said, net.now);
    net.advance(2s);
    net.say(3, to_stage({}, kFirst), StateUnavailable{kFirst, 1, "said over the link", kSecond});
    net.advance(1s);
    const bool is_told = !was_said;  // the control: nobody dials who is not told
    EXPECT_EQ(first->all<StateUnavailable>().size(), is_told ? 1U : 0U);
  }
}

TEST(OutgoingLetters, S6WhatWaitsForAProcessThatLeftTheRunIsDroppedAndCounted) {
  CoreNetwork net;
  net.two_stages();
  net.kill(3);
  net.say(2, to_stage({}, kSecond), forward_of(2));
  EXPECT_EQ(net.core(2).undelivered().count(Undelivered::Why::kNobody), 0U) << "it waits";
  Peers peers{test_support::kRun, test_support::kTerm, 2, {}};
  peers.peers.push_back({ProcessIncarnation{2}, ProcessRole::kNode, "node", {"host", 2}});
  net.say(1, {ProcessIncarnation{2}, Role::kRouter, {}, {}}, peers);
  net.advance(300ms);
  EXPECT_EQ(net.core(2).undelivered().count(Undelivered::Why::kNobody), 1U);
}

}  // namespace
}  // namespace shoal::outgoing_letters_test
