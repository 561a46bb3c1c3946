// The local door and how two processes come to it: never past a process between them, never without a key.
#include "runtime/transport/lanes/local_door.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/transport/lanes/lane_greeting.h"
#include "tests/emulator/emulator.h"
#include "tests/runtime/transport/lanes/lane_side.h"

namespace shoal::local_lanes_test {
namespace {

using test_support::eventually;
using test_support::is_same;
using test_support::kAccepted;
using test_support::kDialled;
using test_support::random_letter;
using test_support::Side;
using test_support::TestRun;

TEST(LaneGreeting, ClaimsAndAnswersComeBackAsTheyWere) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) {
    const LaneClaim claim{random(), random()};
    const std::string claimed = encoded(claim);
    ASSERT_EQ(claimed.size(), kLaneClaimBytes);
    EXPECT_EQ(claim_in(std::span<const char, kLaneClaimBytes>(claimed.data(), claimed.size())), claim);
    const LaneAnswer answer{random(), i % 2 == 0 ? std::string() : std::string(kLocalDoorNameBytes, 'a')};
    const std::string answered = encoded(answer);
    ASSERT_EQ(answered.size(), kLaneAnswerBytes);
    EXPECT_EQ(answer_in(std::span<const char, kLaneAnswerBytes>(answered.data(), answered.size())), answer);
  }
}

TEST(LaneGreeting, BothEndsOfAConnectionSeeTheSameWayAndNoOtherConnectionHasIt) {
  const auto listener = listen_on({"127.0.0.1", 0});
  ASSERT_TRUE(listener.ok());
  const HostPort address{"127.0.0.1", local_port(listener->descriptor())};
  std::vector<std::uint64_t> ways;
  std::vector<Socket> open;
  for (int i = 0; i < 3; ++i) {
    auto dialled = dial(address, deadline_in(test_support::kPatience));
    ASSERT_TRUE(dialled.ok() && wait_readable(listener->descriptor(), deadline_in(test_support::kPatience)));
    open.emplace_back(::accept4(listener->descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_EQ(way_from_dialled(dialled->descriptor()), way_to_accepted(open.back().descriptor()));
    EXPECT_NE(way_from_dialled(open.back().descriptor()), way_to_accepted(open.back().descriptor())) << "it has ends";
    ways.push_back(way_from_dialled(dialled->descriptor()));
    open.push_back(std::move(*dialled));
  }
  std::sort(ways.begin(), ways.end());
  EXPECT_EQ(std::unique(ways.begin(), ways.end()), ways.end());
  EXPECT_NE(ways.front(), 0u);
}

TEST(LaneGreeting, WhatIsInNoNetworkHasNoWay) {
  const auto door = LocalDoor::open();
  ASSERT_TRUE(door);
  const auto visitor = dial_local(door->name());
  ASSERT_TRUE(visitor.ok());
  EXPECT_EQ(way_from_dialled(visitor->descriptor()), 0u);
}

TEST(LocalDoor, IsFoundByItsNameAloneAndOnlyWhileItIsOpen) {
  auto door = LocalDoor::open();
  const auto other = LocalDoor::open();
  ASSERT_TRUE(door && other);
  EXPECT_NE(door->name(), other->name());
  EXPECT_EQ(door->name().size(), kLocalDoorNameBytes);
  EXPECT_FALSE(door->accept().socket) << "nobody is there";
  const auto visitor = dial_local(door->name());
  ASSERT_TRUE(visitor.ok());
  EXPECT_TRUE(door->accept().socket);
  EXPECT_FALSE(other->accept().socket);
  const std::string name = door->name();
  door.reset();
  const auto late = dial_local(name);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.failure().error, Error::kUnreachable);
}

// Another user's process, which only root can make.
TEST(LocalDoor, S7TurnsOtherUsersAway) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const auto door = LocalDoor::open();
  ASSERT_TRUE(door);
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::seteuid(kNobody), 0);
  const auto visitor = dial_local(door->name());
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_FALSE(visitor.ok()) << "whoever dials looks, too";
  const LocalDoor::Visit visit = door->accept();
  EXPECT_FALSE(visit.socket);
  EXPECT_TRUE(visit.was_refused);
}

struct Pair {
  Pair(const TestRun& run, LaneLimits a_limits, LaneLimits b_limits)
      : a(run, "a", a_limits), b(run, "b", b_limits), port(a.process.publish()) {}
  void open_by(std::uint16_t door) { b.lanes().open(kDialled, {"127.0.0.1", door}, a.lanes().expect(kAccepted)); }
  [[nodiscard]] bool are_both_open() {
    return eventually(
        [&] { return a.lanes().counters().opened == 1 && b.ears.count(LaneChange::Kind::kUp, kDialled) == 1; });
  }
  [[nodiscard]] bool passes_both_ways() {
    std::mt19937_64 random(11);
    const auto there = random_letter(random, 1'000'000);
    const auto back = random_letter(random, 1'000'000);
    const bool is_taken = a.lanes().send(kAccepted, back) == LaneOutcome::kTaken &&
                          b.lanes().send(kDialled, there) == LaneOutcome::kTaken;
    return is_taken && eventually([&] { return a.ears.letters().size() == 1 && b.ears.letters().size() == 1; }) &&
           is_same(there, a.ears.letters()[0].letter) && is_same(back, b.ears.letters()[0].letter);
  }

  Side a;
  Side b;
  std::uint16_t port;
};

TEST(LocalLanes, AreNotTakenPastSomebodyWhoStandsBetween) {
  const TestRun run(0x1a9e);
  Pair pair(run, {}, {});
  LinkEmulator between(1);
  const auto door = between.open_door({"b", "a"}, {"127.0.0.1", pair.port});
  ASSERT_TRUE(door.ok() && *door);
  pair.open_by(**door);
  ASSERT_TRUE(pair.are_both_open());
  EXPECT_EQ(pair.a.lanes().counters().opened_locally, 0u);
  EXPECT_TRUE(pair.passes_both_ways());
  EXPECT_GT(between.counts("b", "a").bytes, 1'000'000u) << "what passes is to pass there";
}

TEST(LocalLanes, AreNotTakenWhereOneSideTakesNone) {
  LaneLimits by_tls;
  by_tls.takes_local_ways = false;
  const TestRun run(0x1a9e);
  for (const bool is_dialler : {false, true}) {
    Pair pair(run, is_dialler ? LaneLimits{} : by_tls, is_dialler ? by_tls : LaneLimits{});
    pair.open_by(pair.port);
    ASSERT_TRUE(pair.are_both_open());
    EXPECT_EQ(pair.a.lanes().counters().opened_locally + pair.b.lanes().counters().opened_locally, 0u);
    EXPECT_TRUE(pair.passes_both_ways());
  }
}

TEST(LocalLanes, S7TheDoorsNameOpensNothingWithoutAKey) {
  const TestRun run(0x1a9e);
  Pair pair(run, {}, {});
  pair.open_by(pair.port);
  ASSERT_TRUE(pair.are_both_open());
  ASSERT_EQ(pair.a.lanes().counters().opened_locally, 1u);
  const auto visitor = dial_local(pair.a.lanes().local_door());
  ASSERT_TRUE(visitor.ok());
  const std::string claim = encoded(LaneClaim{pair.a.lanes().expect(LinkId{9}) ^ 1U, 0});
  ASSERT_EQ(::send(visitor->descriptor(), claim.data(), claim.size(), MSG_NOSIGNAL), ssize_t(claim.size()));
  char byte = 0;
  ASSERT_TRUE(wait_readable(visitor->descriptor(), deadline_in(test_support::kPatience)));
  EXPECT_EQ(::recv(visitor->descriptor(), &byte, 1, 0), 0) << "it is closed without a word";
  EXPECT_EQ(pair.a.lanes().counters().opened, 1u);
  EXPECT_TRUE(eventually([&] { return pair.a.lanes().counters().refused == 1; }));
}

// The dialler's patience was over before it read the answer: it goes back to TLS, with the same key.
TEST(LocalLanes, AreLostWhenWhoCameWentAwayBeforeItSaidAnything) {
  const TestRun run(0x1a9e);
  Side a(run, "a");
  const std::string claim = encoded(LaneClaim{a.lanes().expect(kAccepted), 0});
  {
    const auto visitor = dial_local(a.lanes().local_door());
    ASSERT_TRUE(visitor.ok());
    ASSERT_EQ(::send(visitor->descriptor(), claim.data(), claim.size(), MSG_NOSIGNAL), ssize_t(claim.size()));
    ASSERT_TRUE(wait_readable(visitor->descriptor(), deadline_in(test_support::kPatience)));
    char answer[kLaneAnswerBytes];
    ASSERT_GT(::recv(visitor->descriptor(), answer, sizeof answer, 0), 0);
  }
  EXPECT_TRUE(eventually([&] { return a.ears.count(LaneChange::Kind::kLost) == 1; }));
  EXPECT_EQ(a.ears.count(LaneChange::Kind::kEndedByPeer), 0u);
}

}  // namespace
}  // namespace shoal::local_lanes_test
