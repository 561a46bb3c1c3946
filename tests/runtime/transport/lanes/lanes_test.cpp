// Lanes over real sockets, by TLS and by local doors: letters arrive bit for bit, a peer without a key gets none, and
// a lane that breaks is told.
#include "runtime/transport/lanes/tls_lanes.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "tests/emulator/emulator.h"
#include "tests/runtime/transport/lanes/lane_side.h"
#include "tests/runtime/transport/stranger.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::lanes_test {
namespace {

using std::chrono::milliseconds;
using test_support::eventually;
using test_support::is_same;
using test_support::kAccepted;
using test_support::kDataRoles;
using test_support::kDialled;
using test_support::random_letter;
using test_support::Side;
using test_support::TestRun;

enum class LaneWay { kTls, kLocal };

// A, which listens, and B, which has opened a lane to it.
class OpenLanes : public ::testing::TestWithParam<LaneWay> {
 protected:
  // Bounds of a test, for sides of this way.
  [[nodiscard]] LaneLimits with_way(LaneLimits limits = {}) const {
    limits.takes_local_ways = GetParam() == LaneWay::kLocal;
    return limits;
  }
  void open() {
    b.lanes().open(kDialled, {"127.0.0.1", port}, a.lanes().expect(kAccepted));
    ASSERT_TRUE(eventually([&] {
      return a.ears.count(LaneChange::Kind::kUp) == 1 && b.ears.count(LaneChange::Kind::kUp, kDialled) == 1;
    }));
    const std::uint64_t local = GetParam() == LaneWay::kLocal ? 1 : 0;
    EXPECT_EQ(a.lanes().counters().opened_locally, local);
    EXPECT_EQ(b.lanes().counters().opened_locally, local);
  }
  // Checks that letters of one side arrive at the other, whole and in order.
  void expect_passes(Side& from, LinkId link, Side& to, std::vector<std::size_t> sizes) {
    std::vector<EncodedLetter> sent;
    const std::size_t before = to.ears.letters().size();
    for (const std::size_t size : sizes) {
      sent.push_back(random_letter(random, size));
      ASSERT_EQ(from.lanes().send(link, sent.back()), LaneOutcome::kTaken);
    }
    ASSERT_TRUE(eventually([&] { return to.ears.letters().size() == before + sent.size(); }));
    const auto got = to.ears.letters();
    for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_TRUE(is_same(sent[i], got[before + i].letter)) << i;
  }

  TestRun run{0x1a9e};
  std::mt19937_64 random{17};
  Side a{run, "a", with_way()};
  Side b{run, "b", with_way()};
  std::uint16_t port = a.process.publish();
};

TEST_P(OpenLanes, LettersPassBothWaysWholeAndInOrder) {
  ASSERT_EQ(b.lanes().send(kDialled, random_letter(random, 9)), LaneOutcome::kNone) << "before it is open";
  open();
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 40; ++i) sizes.push_back(random() % (i % 8 == 0 ? 5'000'000 : 200'000));
  expect_passes(b, kDialled, a, sizes);
  expect_passes(a, kAccepted, b, sizes);
  const auto letters = a.ears.letters();
  for (const LaneLetter& letter : letters) EXPECT_EQ(letter.link, kAccepted.value);
  const auto misaligned = std::count_if(letters.begin(), letters.end(), [](const LaneLetter& letter) {
    return reinterpret_cast<std::uintptr_t>(letter.letter.buffers[0]->data()) % AlignedBuffer::kAlignment != 0;
  });
  EXPECT_EQ(misaligned, 0) << "equal bits need equal alignment";
}

// One wait brings 64 events at most: the others come with the next one.
TEST_P(OpenLanes, MoreThanAreLookedAtInOneTurnAllPass) {
  constexpr std::uint64_t kLanes = 70;
  for (std::uint64_t i = 0; i < kLanes; ++i) {
    b.lanes().open(LinkId{100 + i}, {"127.0.0.1", port}, a.lanes().expect(LinkId{200 + i}));
    ASSERT_TRUE(eventually([&] { return b.ears.count(LaneChange::Kind::kUp) == i + 1; }));
  }
  ASSERT_TRUE(eventually([&] { return a.ears.count(LaneChange::Kind::kUp) == kLanes; }));
  for (int round = 0; round < 5; ++round) {
    for (std::uint64_t i = 0; i < kLanes; ++i) {
      ASSERT_EQ(b.lanes().send(LinkId{100 + i}, random_letter(random, 100'000)), LaneOutcome::kTaken);
    }
  }
  EXPECT_TRUE(eventually([&] { return a.ears.heard() == 5 * kLanes; }));
}

TEST_P(OpenLanes, TheActorsConnectionIsAnother) {
  const auto speaker = b.process.connect(port);
  EXPECT_EQ(b.process.ask(speaker, "before"), "heard before");
  open();
  EXPECT_EQ(b.process.ask(speaker, "beside"), "heard beside");
  expect_passes(b, kDialled, a, {1000});
  b.lanes().close(kDialled);
  ASSERT_TRUE(eventually([&] { return a.ears.count(LaneChange::Kind::kEndedByPeer) == 1; }));
  EXPECT_EQ(b.process.ask(speaker, "after"), "heard after");
  EXPECT_EQ(a.process.transport().counters().refused, 0u) << "a lane is no refused connection";
}

TEST_P(OpenLanes, S7OnlyTheKeyOfALinkOpensItsLaneAndOnlyOnce) {
  const std::uint64_t key = a.lanes().expect(kAccepted);
  EXPECT_EQ(a.lanes().expect(kAccepted), key) << "it may be asked for again";
  EXPECT_NE(a.lanes().expect(LinkId{4}), key);
  b.lanes().open(LinkId{1}, {"127.0.0.1", port}, key ^ 1U);
  ASSERT_TRUE(eventually([&] { return a.lanes().counters().refused >= 1; }));
  open();
  const std::uint64_t refused = a.lanes().counters().refused;
  b.lanes().open(LinkId{2}, {"127.0.0.1", port}, key);
  ASSERT_TRUE(eventually([&] { return a.lanes().counters().refused >= refused + 2; })) << "it is in use";
  EXPECT_EQ(b.ears.count(LaneChange::Kind::kUp), 1u) << "a refused one is tried again, and its link is well";
  EXPECT_EQ(b.ears.count(LaneChange::Kind::kLost) + b.ears.count(LaneChange::Kind::kEndedByPeer), 0u);
  a.lanes().close(LinkId{4});
  expect_passes(b, kDialled, a, {1000});
  EXPECT_EQ(a.ears.count(LaneChange::Kind::kUp), 1u);
}

TEST_P(OpenLanes, S7AStrangerOpensNone) {
  TestRun other{0xbad};
  Side stranger{other, "stranger", with_way()};
  stranger.lanes().open(kDialled, {"127.0.0.1", port}, a.lanes().expect(kAccepted));
  ASSERT_TRUE(eventually([&] { return a.process.transport().counters().refused >= 1; }));
  EXPECT_EQ(a.lanes().counters().opened, 0u);
  open();
}

TEST_P(OpenLanes, S6WhoClaimsNothingIsClosedAndTooManyAreTurnedAway) {
  LaneLimits limits;
  limits.claim_timeout = milliseconds(300);
  limits.unclaimed_max = 3;
  Side careful{run, "careful", with_way(limits)};
  const std::uint16_t careful_port = careful.process.publish();
  auto context = TlsContext::mutual(run.files(PeerRole::kNode, "idle"), run.policy(kDataRoles));
  ASSERT_TRUE(context.ok());
  std::vector<TlsSocket> idle;
  for (int i = 0; i < 5; ++i) {
    auto socket = dial({"127.0.0.1", careful_port}, deadline_in(test_support::kPatience));
    ASSERT_TRUE(socket.ok());
    auto session =
        TlsSocket::connect(std::move(*socket), **context, deadline_in(test_support::kPatience), PortProtocol::kLane);
    ASSERT_TRUE(session.ok());
    idle.push_back(std::move(*session));
  }
  EXPECT_TRUE(eventually([&] { return careful.lanes().counters().refused == 5; }));
  char byte = 0;
  const auto end = idle.back().read_some(&byte, 1, deadline_in(test_support::kPatience));
  EXPECT_TRUE(!end.ok() || *end == 0) << "it was closed";
}

TEST_P(OpenLanes, S6AFullLaneSaysSoAndTellsWhenThereIsRoom) {
  LaneLimits limits;
  limits.queue_bytes_max = 3'000'000;
  Side small{run, "small", with_way(limits)};
  small.lanes().open(kDialled, {"127.0.0.1", port}, a.lanes().expect(kAccepted));
  ASSERT_TRUE(eventually([&] { return small.ears.count(LaneChange::Kind::kUp) == 1; }));
  const EncodedLetter large{{'L'}, {std::make_shared<AlignedBuffer>(200'000'000)}};  // holds up the rest
  const EncodedLetter usual = random_letter(random, 100'000);
  ASSERT_EQ(small.lanes().send(kDialled, large), LaneOutcome::kTaken);
  std::size_t taken = 1;
  LaneOutcome outcome = LaneOutcome::kTaken;
  while (outcome == LaneOutcome::kTaken && taken < 1000) {
    outcome = small.lanes().send(kDialled, usual);
    taken += outcome == LaneOutcome::kTaken ? 1 : 0;
  }
  ASSERT_EQ(outcome, LaneOutcome::kFull);
  ASSERT_TRUE(eventually([&] { return small.ears.count(LaneChange::Kind::kRoom) >= 1; }));
  EXPECT_EQ(small.lanes().send(kDialled, random_letter(random, 100)), LaneOutcome::kTaken);
  EXPECT_TRUE(eventually([&] { return a.ears.letters().size() == taken + 1; }));
}

// A user that does not look at what it gets holds up its lane, and what follows stays with the sender.
TEST_P(OpenLanes, S6WhoIsNotReadIsNotHeard) {
  LaneLimits limits;
  limits.unread_bytes_max = 1'000'000;
  limits.queue_bytes_max = 1'000'000;
  Side slow{run, "slow", with_way(limits)};
  const std::uint16_t slow_port = slow.process.publish();
  b.lanes().open(kDialled, {"127.0.0.1", slow_port}, slow.lanes().expect(kAccepted));
  ASSERT_TRUE(eventually([&] { return b.ears.count(LaneChange::Kind::kUp) == 1; }));
  slow.ears.keep_receipts();
  const EncodedLetter letter = random_letter(random, 400'000);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(b.lanes().send(kDialled, letter), LaneOutcome::kTaken);
  ASSERT_TRUE(eventually([&] { return slow.ears.letters().size() == 3; }));
  expect_passes(slow, kAccepted, b, {1000});
  EXPECT_EQ(slow.ears.letters().size(), 3u);
  EXPECT_TRUE(eventually([&] {
    slow.ears.look_at_all();
    return slow.ears.heard() == 100;
  }));
}

TEST_P(OpenLanes, TheOtherSideHearsOfAnEnd) {
  open();
  a.lanes().close(kAccepted);
  EXPECT_TRUE(eventually([&] { return b.ears.count(LaneChange::Kind::kEndedByPeer) == 1; }));
  EXPECT_EQ(a.ears.count(LaneChange::Kind::kEndedByPeer), 0u) << "who ended it needs no word";
  EXPECT_EQ(a.lanes().send(kAccepted, random_letter(random, 10)), LaneOutcome::kNone);
  auto gone = std::make_unique<Side>(run, "gone", with_way());
  gone->lanes().open(kDialled, {"127.0.0.1", port}, a.lanes().expect(LinkId{9}));
  ASSERT_TRUE(eventually([&] { return gone->ears.count(LaneChange::Kind::kUp) == 1; }));
  expect_passes(*gone, kDialled, a, {1000});
  gone.reset();
  EXPECT_TRUE(eventually([&] { return a.ears.count(LaneChange::Kind::kEndedByPeer) == 1; }));
}

// The answer to its claim is on its way when the dialler's time is over: it closes what it never had.
TEST(Lanes, AreLostWhenWhoDialledWentAwayBeforeItKnewOfThem) {
  const TestRun run{0x1a9e};
  LaneLimits hasty;
  hasty.takes_local_ways = false;
  hasty.dial.handshake = milliseconds(1000);
  hasty.dial.retry_first = milliseconds(60000);
  Side a{run, "a"};
  Side b{run, "b", hasty};
  LinkEmulator between(1);
  const auto door = between.open_door({"b", "a"}, {"127.0.0.1", a.process.publish()});
  ASSERT_TRUE(door.ok() && *door);
  ASSERT_TRUE(between.command("shape a -> b delay_ms=700").ok());
  b.lanes().open(kDialled, {"127.0.0.1", **door}, a.lanes().expect(kAccepted));
  ASSERT_TRUE(eventually([&] { return a.ears.count(LaneChange::Kind::kUp) == 1; })) << "the claim has come";
  ASSERT_TRUE(eventually([&] { return b.lanes().counters().dials_failed == 1; })) << "its answer was too late";
  EXPECT_TRUE(eventually([&] { return a.ears.count(LaneChange::Kind::kLost) == 1; }));
  EXPECT_EQ(a.ears.count(LaneChange::Kind::kEndedByPeer), 0u) << "who dialled knows nothing of it";
  EXPECT_EQ(b.lanes().counters().opened, 0u);
}

TEST_P(OpenLanes, OpeningIsTriedAgainUntilItSucceeds) {
  const std::uint16_t free_port = [] {
    const auto socket = listen_on({"127.0.0.1", 0});
    return local_port(socket.value().descriptor());
  }();
  b.lanes().open(kDialled, {"127.0.0.1", free_port}, a.lanes().expect(kAccepted));
  ASSERT_TRUE(eventually([&] { return b.lanes().counters().dials_failed >= 1; }));
  ASSERT_TRUE(
      a.process.transport().publish(a.process.speaker(), std::move(listen_on({"127.0.0.1", free_port}).value())).ok());
  EXPECT_TRUE(eventually([&] { return b.lanes().counters().opened == 1; }));
}

INSTANTIATE_TEST_SUITE_P(Ways, OpenLanes, ::testing::Values(LaneWay::kTls, LaneWay::kLocal),
                         [](const auto& way) { return way.param == LaneWay::kTls ? "Tls" : "Local"; });

TEST(FrameReader, FindsFramesWhateverThePieces) {
  std::mt19937_64 random(5);
  std::vector<char> stream;
  std::vector<std::vector<char>> frames;
  for (std::uint64_t transfer = 1; transfer < 20; ++transfer) {
    cut(random_letter(random, random() % 3000), transfer, [&](std::vector<char> frame) {
      stream.insert(stream.end(), frame.begin(), frame.end());
      frames.push_back(std::move(frame));
    });
  }
  FrameReader reader;
  std::size_t found = 0;
  for (std::size_t at = 0; at < stream.size();) {
    const auto room = reader.room();
    const std::size_t step = std::min({room.size(), stream.size() - at, std::size_t{1 + random() % 700}});
    std::memcpy(room.data(), stream.data() + at, step);
    at += step;
    const auto is_whole = reader.filled(step);
    ASSERT_TRUE(is_whole.ok());
    if (!*is_whole) continue;
    EXPECT_TRUE(std::equal(frames[found].begin(), frames[found].end(), reader.frame().begin(), reader.frame().end()));
    ++found;
    reader.next();
  }
  EXPECT_EQ(found, frames.size());
}

TEST(FrameReader, S6ALengthBeyondTheBoundIsRefusedBeforeMemoryIsTaken) {
  for (const std::uint32_t length : {0U, static_cast<std::uint32_t>(kFrameBytesMax), 0xFFFFFFFFU}) {
    FrameReader reader;
    const auto room = reader.room();
    std::memset(room.data(), 0, room.size());
    for (int i = 0; i < 4; ++i) room[static_cast<std::size_t>(4 + i)] = static_cast<char>(length >> (24 - 8 * i));
    EXPECT_FALSE(reader.filled(room.size()).ok()) << length;
  }
}

TEST(Outbox, TakesWhatFitsAndTellsOnceWhenThereIsRoomAgain) {
  std::mt19937_64 random(1);
  EncodedLetter letter{std::vector<char>(40), {}};
  Outbox box(100);
  EXPECT_TRUE(box.put(letter).was_idle);
  EXPECT_FALSE(box.put(letter).was_idle) << "its thread is at it";
  EXPECT_EQ(box.put(EncodedLetter{std::vector<char>(1000), {}}).outcome, LaneOutcome::kTaken) << "however large";
  EXPECT_EQ(box.put(letter).outcome, LaneOutcome::kFull);
  EXPECT_FALSE(box.take().has_room_again);
  EXPECT_FALSE(box.take().has_room_again);
  EXPECT_TRUE(box.take().has_room_again);
  EXPECT_FALSE(box.take().letter.has_value());
  EXPECT_TRUE(box.put(letter).was_idle);
}

}  // namespace
}  // namespace shoal::lanes_test
