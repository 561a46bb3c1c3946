// The data door against an admitted peer that keeps no rules: the real library under the guard, real TLS. Nobody dies,
// memory stays, and others go on talking.
//
// SHOAL_BAD_FRAMES: how many mutated frames (default 1500).
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <string>

#include "runtime/transport/tls_transport.h"
#include "tests/runtime/transport/caf_process.h"
#include "tests/runtime/transport/test_run.h"
#include "tests/support/guest/guest.h"
#include "tests/support/guest/listening_ports.h"

namespace shoal::bad_guest_test {
namespace {

using guest::Conversation;
using guest::Guest;
using std::chrono::milliseconds;
using test_support::CafProcess;
using test_support::eventually;
using test_support::kPatience;
using test_support::TestRun;

const std::vector<PeerRole> kRoles = {PeerRole::kSpawner, PeerRole::kNode, PeerRole::kStorage};

// AddressSanitizer keeps what was freed: memory is measured without it.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kMeasuresMemory = false;
#else
constexpr bool kMeasuresMemory = true;
#endif

std::uint64_t peak_memory() { return guest::peak_memory_of(::getpid()); }

class BadGuest : public ::testing::Test {
 protected:
  [[nodiscard]] Guest enter() {
    auto bad = Guest::enter({"127.0.0.1", port}, files, kPatience);
    ENSURE(bad.has_value(), "a node's certificate is let in");
    return std::move(*bad);
  }
  void expect_others_are_well() {
    EXPECT_EQ(node.ask(node_actor, "still there"), "heard still there");
    EXPECT_TRUE(CafProcess(run.files(PeerRole::kNode, "late"), run.policy(kRoles)).connect(port));
  }

  TestRun run{0xbad};
  CafProcess spawner{run.files(PeerRole::kSpawner, "spawner"), run.policy(kRoles)};
  CafProcess node{run.files(PeerRole::kNode, "node1"), run.policy(kRoles)};
  std::uint16_t port = spawner.publish();
  caf::strong_actor_ptr node_actor = node.connect(port);
  TlsFiles files = run.files(PeerRole::kNode, "guest");
};

TEST_F(BadGuest, AnHonestOneIsTheControl) {
  Guest bad = enter();
  Conversation who = bad.who();
  ASSERT_TRUE(bad.greet());
  EXPECT_TRUE(bad.say(info_question(who)));
  EXPECT_TRUE(bad.say(monitor_frame(who)));
  EXPECT_TRUE(bad.say(letter_frame(who, "a letter")));
  EXPECT_TRUE(bad.say(guest::heartbeat_frame()));
  EXPECT_FALSE(bad.is_turned_out(milliseconds(300)));
  EXPECT_EQ(spawner.transport().counters().bad_frames, 0U);
  expect_others_are_well();
}

// Processes of this version talk without a frame that the guard minds; the library's own question is dropped.
TEST_F(BadGuest, HonestProcessesAreNotMinded) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(node.ask(node_actor, "hello"), "heard hello");
  for (CafProcess* process : {&spawner, &node}) {
    EXPECT_EQ(process->transport().counters().bad_frames, 0U);
    EXPECT_TRUE(eventually([process] { return process->transport().counters().dropped_frames == 1; }));
  }
}

TEST_F(BadGuest, AMalformedMessageEndsItsConnectionOnly) {
  for (const std::string_view types :
       {"@<>+@strong_actor_ptr", "@<>+@atom+@strong_actor_ptr", "@<>+", "@<>+@message"}) {
    Guest bad = enter();
    ASSERT_TRUE(bad.greet());
    ASSERT_TRUE(bad.say(message_frame(bad.who(), types, std::string(20, '\x7f'))));
    EXPECT_TRUE(bad.is_turned_out(kPatience)) << types;
  }
  EXPECT_EQ(spawner.transport().counters().bad_frames, 4U);
  expect_others_are_well();
}

TEST_F(BadGuest, S6AnAnnouncementCostsNoMemory) {
  const std::uint64_t before = peak_memory();
  for (const std::uint64_t bytes : {std::uint64_t{1} << 20U, std::uint64_t{1} << 31U, (std::uint64_t{1} << 32U) - 1}) {
    Guest bad = enter();
    ASSERT_TRUE(bad.greet());
    ASSERT_TRUE(bad.say(guest::announcing_frame(bad.who(), bytes)));
    EXPECT_TRUE(bad.is_turned_out(kPatience)) << bytes;
  }
  std::vector<Guest> patient;  // each announces the longest frame that there is, and sends little of it
  for (int i = 0; i < 20; ++i) {
    patient.push_back(enter());
    patient.back().call_itself(guest::made_up_node(100 + static_cast<std::uint32_t>(i)));
    ASSERT_TRUE(patient.back().greet());
    std::string frame = letter_frame(patient.back().who(), std::string(2000, 'x'));
    frame.replace(4, 4, guest::big_endian(TransportLimits{}.frame_bytes_max, 4));
    ASSERT_TRUE(patient.back().say(frame));
  }
  expect_others_are_well();
  if (kMeasuresMemory) {
    EXPECT_LT(peak_memory() - before, 16U << 10U) << "KiB";
  }
}

TEST_F(BadGuest, S6ItsConnectionsAreCounted) {
  std::vector<Guest> guests;
  const std::size_t count_max = TransportLimits{}.connections_per_peer_max;
  for (std::size_t i = 0; i < count_max; ++i) guests.push_back(enter());
  EXPECT_FALSE(Guest::enter({"127.0.0.1", port}, files, kPatience)) << "one more";
  guests.pop_back();
  EXPECT_TRUE(eventually([this] { return Guest::enter({"127.0.0.1", port}, files, kPatience).has_value(); }));
  expect_others_are_well();
}

TEST_F(BadGuest, MutatedFramesOfEveryKindHarmNobody) {
  const std::uint64_t seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  const char* wanted = std::getenv("SHOAL_BAD_FRAMES");
  const std::uint64_t frames = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 1500;
  const std::uint64_t before = peak_memory();
  const auto report = guest::attack({{"127.0.0.1", port}, files, seed, frames}, [] { return false; });
  EXPECT_EQ(report.said, frames);
  EXPECT_EQ(report.turned_away, 0U);
  EXPECT_GT(spawner.transport().counters().bad_frames, frames / 3);
  if (kMeasuresMemory) {
    EXPECT_LT(peak_memory() - before, 16U << 10U) << "KiB";
  }
  expect_others_are_well();
}

}  // namespace
}  // namespace shoal::bad_guest_test
