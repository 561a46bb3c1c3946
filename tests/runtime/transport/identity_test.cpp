// Identities, admission and the frame guard: the pure parts of the transport.
#include "runtime/transport/identity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <set>

#include "runtime/transport/admission.h"
#include "runtime/transport/guard/frame_guard.h"

namespace shoal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Identity, SurvivesItsUri) {
  const PeerIdentity identity{RunId{0x0123456789abcdef}, PeerRole::kStorage, "storage-1.a_b"};
  EXPECT_EQ(identity_uri(identity), "shoal://0123456789abcdef/storage/storage-1.a_b");
  EXPECT_EQ(parse_identity(identity_uri(identity)).value(), identity);
}

TEST(Identity, RefusesWhatIsNotOfItsGrammar) {
  const std::array bad = {"",
                          "http://0123456789abcdef/node/a",
                          "shoal://0123456789abcdef/node",
                          "shoal://123/node/a",
                          "shoal://0123456789ABCDEF/node/a",
                          "shoal://0123456789abcdef/king/a",
                          "shoal://0123456789abcdef/node/",
                          "shoal://0123456789abcdef/node/.hidden",
                          "shoal://0123456789abcdef/node/a/b",
                          "shoal://0123456789abcdef/node/a b"};
  for (const char* uri : bad) {
    const auto parsed = parse_identity(uri);
    ASSERT_FALSE(parsed.ok()) << uri;
    EXPECT_EQ(parsed.failure().error, Error::kRefused);
  }
}

TEST(Identity, NamesAreBounded) {
  EXPECT_TRUE(is_valid_name(std::string(64, 'a')));
  EXPECT_FALSE(is_valid_name(std::string(65, 'a')));
  EXPECT_FALSE(is_valid_name("-name"));
}

TEST(PeerPolicy, AdmitsByRunRoleAndRevocation) {
  PeerPolicy policy{RunId{7}, {PeerRole::kNode, PeerRole::kStorage}, {}};
  const PeerIdentity node{RunId{7}, PeerRole::kNode, "node1"};
  EXPECT_TRUE(peer_allowed(policy, node).ok());
  EXPECT_FALSE(peer_allowed(policy, {RunId{8}, PeerRole::kNode, "node1"}).ok());
  EXPECT_FALSE(peer_allowed(policy, {RunId{7}, PeerRole::kOperator, "node1"}).ok());
  policy.admit = [](const PeerIdentity& peer) { return peer.name != "node1"; };
  EXPECT_FALSE(peer_allowed(policy, node).ok());
  EXPECT_TRUE(peer_allowed(policy, {RunId{7}, PeerRole::kNode, "node2"}).ok());
}

TEST(HalfOpenTable, BoundsStrangersInAllAndPerAddress) {
  HalfOpenTable table({.half_open_count_max = 3, .half_open_per_address_max = 2, .handshake_timeout = seconds(5)});
  const SteadyTime start{};
  EXPECT_EQ(table.admit(1, "a", start), Admission::kAdmitted);
  EXPECT_EQ(table.admit(2, "a", start), Admission::kAdmitted);
  EXPECT_EQ(table.admit(3, "a", start), Admission::kTooManyOfAddress);
  EXPECT_EQ(table.admit(4, "b", start), Admission::kAdmitted);
  EXPECT_EQ(table.admit(5, "c", start), Admission::kTooMany);
  table.track_outgoing(6, start);
  table.settle(1);
  EXPECT_EQ(table.admit(7, "a", start), Admission::kAdmitted);
  EXPECT_EQ(table.incoming_count(), 3u);
}

TEST(HalfOpenTable, WhoSaysNothingGivesWayTheOldestFirst) {
  HalfOpenTable table({.half_open_count_max = 4, .half_open_per_address_max = 3, .handshake_timeout = seconds(4)});
  const SteadyTime start{};
  std::set<int> spoken;
  const auto has_spoken = [&](int descriptor) { return spoken.contains(descriptor); };
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(table.who_gives_way("a", start, has_spoken), std::nullopt) << "there is room";
    ASSERT_EQ(table.admit(i, "a", start + milliseconds(i)), Admission::kAdmitted);
  }
  table.track_outgoing(9, start);
  EXPECT_EQ(table.who_gives_way("a", start, has_spoken), 1);
  EXPECT_EQ(table.who_gives_way("b", start, has_spoken), std::nullopt);
  spoken = {1};
  EXPECT_EQ(table.who_gives_way("a", start, has_spoken), 2);
  ASSERT_EQ(table.admit(4, "b", start), Admission::kAdmitted);
  EXPECT_EQ(table.who_gives_way("c", start, has_spoken), 4) << "of all, the oldest that is silent";
  spoken = {1, 2, 3, 4, 9};
  EXPECT_EQ(table.who_gives_way("a", start + milliseconds(1000), has_spoken), std::nullopt);
  EXPECT_EQ(table.who_gives_way("a", start + milliseconds(1001), has_spoken), 1) << "an honest one would be done";
}

// Whatever strangers do that say nothing, an honest peer that speaks at once is never turned away nor closed.
TEST(HalfOpenTable, SilentStrangersKeepNobodyOut) {
  const std::uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  HalfOpenTable table({.half_open_count_max = 16, .half_open_per_address_max = 5, .handshake_timeout = seconds(5)});
  std::set<int> honest;
  const auto has_spoken = [&](int descriptor) { return honest.contains(descriptor); };
  SteadyTime now{};
  for (int i = 0; i < 20000; ++i) {
    now += milliseconds(random() % 20);
    const std::string address(1, static_cast<char>('a' + random() % 6));
    const bool is_honest = honest.size() < 3 && random() % 10 == 0;
    const auto other = table.who_gives_way(address, now, has_spoken);
    if (other) {
      ASSERT_FALSE(honest.contains(*other)) << "seed " << seed;
      table.settle(*other);
    }
    ASSERT_EQ(table.admit(i, address, now), Admission::kAdmitted) << "seed " << seed;
    if (is_honest) honest.insert(i);
    if (!honest.empty() && random() % 10 == 0) {
      table.settle(*honest.begin());
      honest.erase(honest.begin());
    }
    ASSERT_LE(table.incoming_count(), 16U) << "seed " << seed;
  }
}

TEST(HalfOpenTable, ExpiresBothDirectionsAtTheDeadline) {
  HalfOpenTable table({.half_open_count_max = 3, .half_open_per_address_max = 3, .handshake_timeout = seconds(5)});
  const SteadyTime start{};
  table.track_outgoing(9, start);
  ASSERT_EQ(table.admit(4, "a", start + seconds(1)), Admission::kAdmitted);
  EXPECT_TRUE(table.expired(start + milliseconds(4999)).empty());
  EXPECT_EQ(table.expired(start + seconds(5)), std::vector<int>({9}));
  EXPECT_EQ(table.expired(start + seconds(6)), std::vector<int>({9, 4}));
  table.settle(9);
  EXPECT_EQ(table.expired(start + seconds(6)), std::vector<int>({4}));
}

TEST(HalfOpenTable, CountsStayTrueUnderRandomUse) {
  const std::uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  HalfOpenTable table({.half_open_count_max = 16, .half_open_per_address_max = 5, .handshake_timeout = seconds(5)});
  std::map<int, std::string> model;
  for (int i = 0; i < 20000; ++i) {
    const int key = static_cast<int>(random() % 40);
    const std::string address(1, static_cast<char>('a' + random() % 6));
    if (random() % 3 == 0) {
      table.settle(key);
      model.erase(key);
      continue;
    }
    model.erase(key);
    const auto same = [&](const auto& entry) { return entry.second == address; };
    const bool fits = model.size() < 16 && std::count_if(model.begin(), model.end(), same) < 5;
    ASSERT_EQ(table.admit(key, address, {}) == Admission::kAdmitted, fits) << "seed " << seed;
    if (fits) model[key] = address;
    ASSERT_EQ(table.incoming_count(), model.size()) << "seed " << seed;
  }
}

TEST(RefusalLog, WritesTheFirstOfAWindowAndCountsTheRest) {
  RefusalLog log;
  const SteadyTime start = SteadyTime{} + seconds(100);
  for (std::uint64_t i = 0; i < RefusalLog::kLinesPerWindow; ++i) EXPECT_TRUE(log.refused(start).write);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(log.refused(start).write);
  const RefusalLog::Line next = log.refused(start + RefusalLog::kWindow);
  EXPECT_TRUE(next.write);
  EXPECT_EQ(next.left_out, 5u);
  EXPECT_EQ(log.total(), RefusalLog::kLinesPerWindow + 6);
}

// A buffer of the library's: it never shrinks by itself.
TEST(BufferBound, S6GivesBackWhatNothingLargeHasUsedForAWhile) {
  BufferBound bound;
  std::vector<char> buffer(1u << 20);
  SteadyTime now{seconds(100)};
  EXPECT_EQ(bound.look(buffer, buffer.size(), now), 0U);
  EXPECT_EQ(buffer.size(), 1u << 20) << "what is in it stays";
  buffer.clear();
  EXPECT_EQ(bound.look(buffer, 32, now + milliseconds(999)), 0U);
  EXPECT_GE(buffer.capacity(), 1u << 20) << "the next large frame may come at once";
  EXPECT_GE(bound.look(buffer, 32, now + seconds(1)), 1U << 20);
  EXPECT_LE(buffer.capacity(), BufferBound::kKeptBytes);
}

TEST(BufferBound, TakesNothingFromSmallBuffersNorFromThoseInUse) {
  BufferBound bound;
  std::vector<char> small;
  small.reserve(BufferBound::kKeptBytes);
  EXPECT_EQ(bound.look(small, 0, SteadyTime{seconds(100)}), 0U);
  EXPECT_EQ(small.capacity(), BufferBound::kKeptBytes);
  std::vector<char> busy(BufferBound::kKeptBytes * 2, 'x');
  EXPECT_EQ(bound.look(busy, 10, SteadyTime{seconds(100)}), 0U);
  EXPECT_EQ(busy.size(), BufferBound::kKeptBytes * 2);
  for (int frame = 0; frame < 10; ++frame) {  // large ones, one after the other
    busy.clear();
    EXPECT_EQ(bound.look(busy, BufferBound::kKeptBytes * 2, SteadyTime{seconds(200 + 2 * frame)}), 0U);
    EXPECT_GE(busy.capacity(), BufferBound::kKeptBytes * 2);
  }
}

}  // namespace
}  // namespace shoal
