// Lanes over real sockets: what is sent arrives bit for bit, who has no key gets none, what breaks is told.
#include "runtime/transport/lanes/tls_lanes.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "tests/runtime/transport/caf_process.h"
#include "tests/runtime/transport/stranger.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal {
namespace {

using std::chrono::milliseconds;
using testing::CafProcess;
using testing::eventually;
using testing::TestRun;
using testing::within;

const std::vector<PeerRole> kDataRoles = {PeerRole::kSpawner, PeerRole::kNode, PeerRole::kStorage};
constexpr LinkId kDialled{7};   // as the side numbers it that opens the lane
constexpr LinkId kAccepted{3};  // as the other does

// What a router would hear.
class Ears {
 public:
  std::vector<LaneLetter> letters() {
    const std::lock_guard guard(mutex_);
    return letters_;
  }
  std::size_t heard() {
    const std::lock_guard guard(mutex_);
    return heard_;
  }
  // From now on no letter counts as looked at before look_at_all().
  void keep_receipts() {
    const std::lock_guard guard(mutex_);
    keeps_receipts_ = true;
  }
  void look_at_all() {
    const std::lock_guard guard(mutex_);
    letters_.clear();
  }
  std::size_t count(LaneChange::Kind kind, std::optional<LinkId> link = std::nullopt) {
    const std::lock_guard guard(mutex_);
    const auto is_meant = [&](const LaneChange& change) {
      return change.kind == kind && change.link == link.value_or(LinkId{change.link}).value;
    };
    return static_cast<std::size_t>(std::count_if(changes_.begin(), changes_.end(), is_meant));
  }
  caf::behavior behavior() {
    return {[this](const LaneLetter& letter) {
              const std::lock_guard guard(mutex_);
              letters_.push_back(letter);
              if (!keeps_receipts_) letters_.back().receipt = nullptr;
              ++heard_;
            },
            [](const LaneProgress&) {},
            [this](const LaneChange& change) {
              const std::lock_guard guard(mutex_);
              changes_.push_back(change);
            }};
  }

 private:
  std::mutex mutex_;
  std::vector<LaneLetter> letters_;
  std::size_t heard_ = 0;
  bool keeps_receipts_ = false;
  std::vector<LaneChange> changes_;
};

TransportLimits with(const LaneLimits& lanes) {
  TransportLimits limits;
  limits.lanes = lanes;
  return limits;
}

struct Side {
  Side(const TestRun& run, const std::string& name, LaneLimits limits = {})
      : process(run.files(PeerRole::kNode, name), run.policy(kDataRoles), with(limits)),
        actor(process.system().spawn([this]() { return ears.behavior(); })) {
    lanes().tell(actor);
  }
  ~Side() {
    process.transport().stop();
    caf::anon_send_exit(actor, caf::exit_reason::kill);
  }
  [[nodiscard]] TlsLanes& lanes() { return *process.transport().lanes(); }

  Ears ears;
  CafProcess process;
  caf::actor actor;
};

EncodedLetter random_letter(std::mt19937_64& random, std::size_t bytes) {
  EncodedLetter letter;
  letter.bytes.resize(1 + random() % 300);
  for (char& byte : letter.bytes) byte = static_cast<char>(random());
  auto buffer = std::make_shared<AlignedBuffer>(bytes);
  for (std::size_t i = 0; i < bytes; ++i) buffer->data()[i] = static_cast<std::byte>(random());
  letter.buffers.push_back(std::move(buffer));
  return letter;
}

bool is_same(const EncodedLetter& sent, const EncodedLetter& got) {
  if (sent.bytes != got.bytes || sent.buffers.size() != got.buffers.size()) return false;
  for (std::size_t i = 0; i < sent.buffers.size(); ++i) {
    if (sent.buffers[i]->size() != got.buffers[i]->size()) return false;
    if (std::memcmp(sent.buffers[i]->data(), got.buffers[i]->data(), sent.buffers[i]->size()) != 0) return false;
  }
  return true;
}

// A, which listens, and B, which has opened a lane to it.
class OpenLanes : public ::testing::Test {
 protected:
  void open() {
    b.lanes().open(kDialled, {"127.0.0.1", port}, a.lanes().expect(kAccepted));
    ASSERT_TRUE(eventually([&] {
      return a.ears.count(LaneChange::Kind::kUp) == 1 && b.ears.count(LaneChange::Kind::kUp, kDialled) == 1;
    }));
  }
  // What it says must arrive at the other side, whole and in order.
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
  Side a{run, "a"};
  Side b{run, "b"};
  std::uint16_t port = a.process.publish();
};

TEST_F(OpenLanes, LettersPassBothWaysWholeAndInOrder) {
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

TEST_F(OpenLanes, TheActorsConnectionIsAnother) {
  const auto speaker = b.process.connect(port);
  EXPECT_EQ(b.process.ask(speaker, "before"), "heard before");
  open();
  EXPECT_EQ(b.process.ask(speaker, "beside"), "heard beside");
  b.lanes().close(kDialled);
  ASSERT_TRUE(eventually([&] { return a.ears.count(LaneChange::Kind::kEndedByPeer) == 1; }));
  EXPECT_EQ(b.process.ask(speaker, "after"), "heard after");
  EXPECT_EQ(a.process.transport().counters().refused, 0u) << "a lane is no refused connection";
}

TEST_F(OpenLanes, S7OnlyTheKeyOfALinkOpensItsLaneAndOnlyOnce) {
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

TEST_F(OpenLanes, S7AStrangerOpensNone) {
  TestRun other{0xbad};
  Side stranger{other, "stranger"};
  stranger.lanes().open(kDialled, {"127.0.0.1", port}, a.lanes().expect(kAccepted));
  ASSERT_TRUE(eventually([&] { return a.process.transport().counters().refused >= 1; }));
  EXPECT_EQ(a.lanes().counters().opened, 0u);
  open();
}

TEST_F(OpenLanes, S6WhoClaimsNothingIsClosedAndTooManyAreTurnedAway) {
  LaneLimits limits;
  limits.claim_timeout = milliseconds(300);
  limits.unclaimed_max = 3;
  Side careful{run, "careful", limits};
  const std::uint16_t careful_port = careful.process.publish();
  auto context = TlsContext::mutual(run.files(PeerRole::kNode, "idle"), run.policy(kDataRoles));
  ASSERT_TRUE(context.ok());
  std::vector<TlsSocket> idle;
  for (int i = 0; i < 5; ++i) {
    auto socket = dial({"127.0.0.1", careful_port}, within(testing::kPatience));
    ASSERT_TRUE(socket.ok());
    auto session =
        TlsSocket::connect(std::move(*socket), **context, within(testing::kPatience), TlsSocket::Purpose::kLane);
    ASSERT_TRUE(session.ok());
    idle.push_back(std::move(*session));
  }
  EXPECT_TRUE(eventually([&] { return careful.lanes().counters().refused == 5; }));
  char byte = 0;
  const auto end = idle.back().read_some(&byte, 1, within(testing::kPatience));
  EXPECT_TRUE(!end.ok() || *end == 0) << "it was closed";
}

TEST_F(OpenLanes, S6AFullLaneSaysSoAndTellsWhenThereIsRoom) {
  LaneLimits limits;
  limits.queue_bytes_max = 3'000'000;
  Side small{run, "small", limits};
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
TEST_F(OpenLanes, S6WhoIsNotReadIsNotHeard) {
  LaneLimits limits;
  limits.unread_bytes_max = 1'000'000;
  limits.queue_bytes_max = 1'000'000;
  Side slow{run, "slow", limits};
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

TEST_F(OpenLanes, TheOtherSideHearsOfAnEnd) {
  open();
  a.lanes().close(kAccepted);
  EXPECT_TRUE(eventually([&] { return b.ears.count(LaneChange::Kind::kEndedByPeer) == 1; }));
  EXPECT_EQ(a.ears.count(LaneChange::Kind::kEndedByPeer), 0u) << "who ended it needs no word";
  EXPECT_EQ(a.lanes().send(kAccepted, random_letter(random, 10)), LaneOutcome::kNone);
  auto gone = std::make_unique<Side>(run, "gone");
  gone->lanes().open(kDialled, {"127.0.0.1", port}, a.lanes().expect(LinkId{9}));
  ASSERT_TRUE(eventually([&] { return a.ears.count(LaneChange::Kind::kUp) == 2; }));
  gone.reset();
  EXPECT_TRUE(eventually([&] { return a.ears.count(LaneChange::Kind::kEndedByPeer) == 1; }));
}

TEST_F(OpenLanes, OpeningIsTriedAgainUntilItSucceeds) {
  const std::uint16_t free_port = [] {
    const auto socket = listen_on({"127.0.0.1", 0});
    return local_port(socket.value().descriptor());
  }();
  b.lanes().open(kDialled, {"127.0.0.1", free_port}, a.lanes().expect(kAccepted));
  ASSERT_TRUE(eventually([&] { return b.lanes().counters().dials_failed >= 1; }));
  ASSERT_TRUE(a.process.transport().publish(a.process.speaker(), {"127.0.0.1", free_port}).ok());
  EXPECT_TRUE(eventually([&] { return b.lanes().counters().opened == 1; }));
}

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
}  // namespace shoal
