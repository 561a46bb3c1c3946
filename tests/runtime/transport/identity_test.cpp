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

namespace shoal::identity_test {
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

TEST(HalfOpenTable, S6OfAFullAddressTheOldestGivesWay) {
  HalfOpenTable table({.half_open_count_max = 9, .half_open_per_address_max = 2, .handshake_timeout = seconds(5)});
  const Instant start{};
  EXPECT_EQ(table.enter(1, {"a", start + seconds(2)}), std::nullopt);
  EXPECT_EQ(table.enter(2, {"b", start}), std::nullopt);
  EXPECT_EQ(table.enter(3, {"a", start + seconds(1)}), std::nullopt);
  EXPECT_EQ(table.enter(4, {"a", start + seconds(3)}), 3) << "by the time of arrival";
  EXPECT_EQ(table.enter(5, {"a", start + seconds(4)}), 1);
  EXPECT_EQ(table.incoming_count(), 3U);
  table.settle(4);
  EXPECT_EQ(table.enter(6, {"a", start + seconds(5)}), std::nullopt) << "there is room again";
}

TEST(HalfOpenTable, S6OfAllTheOldestOfTheAddressWithMostGivesWay) {
  HalfOpenTable table({.half_open_count_max = 4, .half_open_per_address_max = 3, .handshake_timeout = seconds(5)});
  const Instant start{};
  table.track_outgoing(9, start);
  EXPECT_EQ(table.enter(1, {"honest", start}), std::nullopt);
  for (int i = 2; i <= 4; ++i) EXPECT_EQ(table.enter(i, {"a", start + seconds(i)}), std::nullopt);
  EXPECT_EQ(table.enter(5, {"b", start + seconds(5)}), 2);
  EXPECT_EQ(table.enter(6, {"c", start + seconds(6)}), 3);
  EXPECT_EQ(table.enter(7, {"d", start + seconds(7)}), 1) << "each address has one: the oldest of all";
  EXPECT_EQ(table.incoming_count(), 4U);
}

// One that has an address of its own stays until it is done, whatever strangers of few addresses do.
TEST(HalfOpenTable, StrangersOfFewAddressesTakePlacesFromThemselvesAlone) {
  const std::uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  HalfOpenTable table({.half_open_count_max = 16, .half_open_per_address_max = 5, .handshake_timeout = seconds(5)});
  std::set<int> honest;
  std::uint64_t gave_way = 0;
  Instant now{};
  for (int i = 0; i < 20000; ++i) {
    now += milliseconds(random() % 20);
    const bool is_honest = honest.size() < 3 && random() % 10 == 0;
    const std::string address = is_honest ? std::to_string(i) : std::string(1, static_cast<char>('a' + random() % 6));
    const auto other = table.enter(i, {address, now});
    ASSERT_FALSE(other && honest.contains(*other)) << "seed " << seed;
    gave_way += other ? 1 : 0;
    if (is_honest) honest.insert(i);
    if (!honest.empty() && random() % 10 == 0) {
      table.settle(*honest.begin());
      honest.erase(honest.begin());
    }
    ASSERT_LE(table.incoming_count(), 16U) << "seed " << seed;
  }
  EXPECT_GT(gave_way, 10'000U) << "the control: it was full, seed " << seed;
}

TEST(HalfOpenTable, ExpiresBothDirectionsAtTheDeadline) {
  HalfOpenTable table({.half_open_count_max = 3, .half_open_per_address_max = 3, .handshake_timeout = seconds(5)});
  const Instant start{};
  table.track_outgoing(9, start);
  ASSERT_EQ(table.enter(4, {"a", start + seconds(1)}), std::nullopt);
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
    const auto other = table.enter(key, {address, {}});
    ASSERT_EQ(other.has_value(), !fits) << "seed " << seed;
    const std::size_t gone = other ? model.erase(*other) : 1;
    ASSERT_EQ(gone, 1U) << "seed " << seed;
    model[key] = address;
    ASSERT_EQ(table.incoming_count(), model.size()) << "seed " << seed;
  }
}

TEST(RefusalLog, WritesTheFirstOfAWindowAndCountsTheRest) {
  RefusalLog log;
  const Instant start = Instant{} + seconds(100);
  for (std::uint64_t i = 0; i < RefusalLog::kLinesPerWindow; ++i) EXPECT_TRUE(log.refused(start).write);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(log.refused(start).write);
  const RefusalLog::Line next = log.refused(start + RefusalLog::kWindow);
  EXPECT_TRUE(next.write);
  EXPECT_EQ(next.left_out, 5u);
  EXPECT_EQ(log.total(), RefusalLog::kLinesPerWindow + 6);
}

TEST(LackLog, TellsOfALackWhenItBegins) {
  LackLog log;
  const Instant start{};
  EXPECT_TRUE(log.met(start));
  for (int i = 1; i <= 1000; ++i) EXPECT_FALSE(log.met(start + milliseconds(250) * i)) << "it goes on";
  const Instant last = start + milliseconds(250) * 1000;
  EXPECT_FALSE(log.met(last + LackLog::kQuiet - milliseconds(1)));
  EXPECT_TRUE(log.met(last + 2 * LackLog::kQuiet)) << "it had ended";
}

// A buffer of the library's: it never shrinks by itself.
TEST(BufferBound, S6GivesBackWhatNothingLargeHasUsedForAWhile) {
  BufferBound bound;
  std::vector<char> buffer(1u << 20);
  Instant now{seconds(100)};
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
  EXPECT_EQ(bound.look(small, 0, Instant{seconds(100)}), 0U);
  EXPECT_EQ(small.capacity(), BufferBound::kKeptBytes);
  std::vector<char> busy(BufferBound::kKeptBytes * 2, 'x');
  EXPECT_EQ(bound.look(busy, 10, Instant{seconds(100)}), 0U);
  EXPECT_EQ(busy.size(), BufferBound::kKeptBytes * 2);
  for (int frame = 0; frame < 10; ++frame) {  // large ones, one after the other
    busy.clear();
    EXPECT_EQ(bound.look(busy, BufferBound::kKeptBytes * 2, Instant{seconds(200 + 2 * frame)}), 0U);
    EXPECT_GE(busy.capacity(), BufferBound::kKeptBytes * 2);
  }
}

}  // namespace
}  // namespace shoal::identity_test
