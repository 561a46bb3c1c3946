// The ring: whatever the number of members, the type, the size and the order of messages, all end with the same sum.
#include "runtime/sync/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

#include "runtime/base/ensure.h"
#include "tests/support/fake_executor.h"

namespace shoal::ring_test {
namespace {

constexpr std::size_t kSmallBucket = 32;  // bytes: many buckets of few elements

OrderId order_of(std::uint32_t counter) {
  return OrderId{RunId{7}, Branch{0}, Term{1}, StageId{0}, StepId{3}, Epoch{Incarnation{9}, counter}};
}

std::vector<Incarnation> make_members(std::uint32_t count) {
  std::vector<Incarnation> members;
  for (std::uint32_t at = 0; at < count; ++at) members.push_back(Incarnation{100 + at});
  return members;
}

std::vector<std::int64_t> random_values(std::mt19937_64& random, std::size_t count) {
  std::vector<std::int64_t> values(count);
  for (auto& value : values) value = static_cast<std::int64_t>(random() % 2001) - 1000;
  return values;
}

struct Swarm {
  Swarm(std::uint32_t member_count, DType dtype, std::size_t element_count, std::mt19937_64& random,
        std::uint32_t counter = 1)
      : expected(element_count, 0) {
    const auto members = make_members(member_count);
    for (const Incarnation self : members) {
      const auto values = random_values(random, element_count);
      for (std::size_t at = 0; at < element_count; ++at) expected[at] += values[at];
      contributions.push_back(make_values(dtype, values));
      rings.emplace_back(ReductionSetup{order_of(counter), members, self, kSmallBucket}, contributions.back());
    }
    for (std::size_t at = 0; at < rings.size(); ++at) post(at, rings[at].begin());
  }

  void post(std::size_t from, std::vector<AddressedPart> parts) {
    const std::size_t to = (from + 1) % rings.size();
    for (AddressedPart& addressed : parts) {
      ENSURE(addressed.receiver == rings[from].successor(), "everything goes to the successor");
      wire.emplace_back(to, std::move(addressed.part));
    }
  }
  // Does what the group's repeated order leads to.
  void repeat() {
    for (RingReduction& ring : rings) {
      for (const auto& [receiver, mark] : ring.mark()) {
        const auto question = rings[index_of(receiver)].missing(mark);
        if (question) ask(*question);
      }
    }
  }
  void ask(const MissingParts& question) {
    const std::size_t from = index_of(question.holder);
    SentAgain again = rings[from].send_again(question);
    post(from, std::move(again.parts));
    for (const MissingParts& next : again.questions) ask(next);
  }
  [[nodiscard]] static std::size_t index_of(Incarnation member) { return member.value - 100; }
  void deliver(std::size_t index) {
    auto [to, part] = wire[index];
    wire.erase(wire.begin() + static_cast<std::ptrdiff_t>(index));
    post(to, rings[to].receive(part));
  }
  [[nodiscard]] bool is_complete() const {
    return std::all_of(rings.begin(), rings.end(), [](const RingReduction& ring) { return ring.is_complete(); });
  }

  std::vector<std::int64_t> expected;
  std::vector<TensorBlob> contributions;
  std::vector<RingReduction> rings;
  std::deque<std::pair<std::size_t, Part>> wire;
};

struct RingCase {
  std::uint32_t members = 1;
  DType dtype = DType::kInt64;
  std::size_t elements = 1;
};

class Ring : public testing::TestWithParam<RingCase> {};

TEST_P(Ring, GivesEveryMemberTheWholeSumInAnyOrderOfMessages) {
  const RingCase& param = GetParam();
  const std::uint64_t seed = 1000 * param.members + param.elements;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  Swarm swarm(param.members, param.dtype, param.elements, random);
  const auto contributions = swarm.contributions;
  while (!swarm.wire.empty()) {
    const std::size_t index = random() % swarm.wire.size();
    if (random() % 4 == 0) swarm.wire.push_back(swarm.wire[index]);  // a repeat
    if (swarm.wire.size() > 10'000) FAIL() << "the ring does not end";
    swarm.deliver(index);
  }
  for (std::size_t at = 0; at < swarm.rings.size(); ++at) {
    ASSERT_TRUE(swarm.rings[at].is_complete());
    EXPECT_EQ(values_of(swarm.rings[at].sum()), swarm.expected);
    EXPECT_EQ(swarm.rings[at].sum(), swarm.rings[0].sum()) << "bits differ between members";
    EXPECT_EQ(swarm.contributions[at], contributions[at]) << "a contribution was written";
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Ring,
                         testing::Values(RingCase{1, DType::kInt64, 5}, RingCase{1, DType::kFloat32, 9},
                                         RingCase{2, DType::kInt64, 1}, RingCase{2, DType::kFloat32, 33},
                                         RingCase{3, DType::kInt64, 37}, RingCase{3, DType::kFloat32, 7},
                                         RingCase{5, DType::kInt64, 4}, RingCase{5, DType::kInt64, 101},
                                         RingCase{5, DType::kFloat32, 257}));

TEST(Ring, OfOneIsCompleteAtOnceAndSharesTheContribution) {
  std::mt19937_64 random(1);
  Swarm swarm(1, DType::kInt64, 10, random);
  EXPECT_TRUE(swarm.wire.empty());
  EXPECT_TRUE(swarm.rings[0].is_complete());
  EXPECT_EQ(swarm.rings[0].sum().bytes, swarm.contributions[0].bytes);
}

TEST(Ring, TakesNothingOfAnotherEpochWhichWouldOtherwiseChangeTheSum) {
  std::mt19937_64 random(2);
  Swarm voided(3, DType::kInt64, 12, random, 1);
  Swarm current(3, DType::kInt64, 12, random, 2);
  for (auto& [to, part] : voided.wire) EXPECT_TRUE(current.rings[to].receive(part).empty());
  while (!current.wire.empty()) current.deliver(0);
  for (const RingReduction& ring : current.rings) EXPECT_EQ(values_of(ring.sum()), current.expected);

  // Negative control: with the epoch rewritten the same parts do enter, and the sum is wrong.
  Swarm deceived(3, DType::kInt64, 12, random, 2);
  for (auto& [to, part] : voided.wire) {
    part.order = order_of(2);
    deceived.post(to, deceived.rings[to].receive(part));
  }
  while (!deceived.wire.empty()) deceived.deliver(deceived.wire.size() - 1);
  EXPECT_NE(values_of(deceived.rings[0].sum()), deceived.expected);
}

TEST(Ring, RefusesPartsOfAnotherMemberBucketHopTypeOrLength) {
  std::mt19937_64 random(3);
  Swarm swarm(3, DType::kInt64, 12, random);
  const auto [to, good] = swarm.wire.front();
  RingReduction& ring = swarm.rings[to];
  std::vector<Part> bad(6, good);
  bad[0].member = ring.successor();
  bad[1].bucket = 99;
  bad[2].hop = good.hop + 1;
  bad[3].values = make_values(DType::kFloat32, {1, 2, 3, 4, 5, 6, 7, 8});
  bad[4].values = make_values(DType::kInt64, {1});
  bad[5].hop = 99;
  for (const Part& part : bad) EXPECT_TRUE(ring.receive(part).empty());
  EXPECT_EQ(ring.refused_count(), bad.size());
  EXPECT_FALSE(ring.receive(good).empty());
}

// A partial sum that is lost in the middle of a ring is made again from its bucket's start.
void expect_recovery(std::uint32_t members) {
  std::mt19937_64 random(members);
  Swarm swarm(members, DType::kFloat32, 41, random);
  int rounds = 0;
  for (; !swarm.is_complete() && rounds < 200; ++rounds) {
    while (!swarm.wire.empty()) {
      if (random() % 2 == 0) {
        swarm.wire.pop_front();
      } else {
        swarm.deliver(0);
      }
    }
    swarm.repeat();
  }
  ASSERT_TRUE(swarm.is_complete()) << members << " members";
  EXPECT_GT(rounds, 1);
  for (const RingReduction& ring : swarm.rings) EXPECT_EQ(values_of(ring.sum()), swarm.expected);
}

TEST(Ring, RecoversEveryLostPartByRepeating) {
  for (const std::uint32_t members : {2U, 3U, 5U}) expect_recovery(members);
}

// The partial sum of one bucket in a ring of five is lost before its third member: it is made again on its own way, and
// nothing else is sent.
TEST(Ring, MakesALostPartialSumAgainAndNothingElse) {
  std::mt19937_64 random(5);
  Swarm swarm(5, DType::kInt64, 101, random);
  constexpr std::uint32_t kBucket = 5;  // starts at the first member
  while (!swarm.wire.empty()) {
    const auto& [to, part] = swarm.wire.front();
    const bool is_lost = part.bucket == kBucket && part.hop == 2;
    is_lost ? swarm.wire.pop_front() : swarm.deliver(0);
  }
  EXPECT_FALSE(swarm.is_complete());
  swarm.repeat();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sent;
  while (!swarm.wire.empty()) {
    sent.emplace_back(swarm.wire.front().second.bucket, swarm.wire.front().second.hop);
    swarm.deliver(0);
  }
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> once_round = {
      {kBucket, 0}, {kBucket, 1}, {kBucket, 2}, {kBucket, 3}, {kBucket, 4}, {kBucket, 5}, {kBucket, 6}, {kBucket, 7}};
  EXPECT_EQ(sent, once_round);
  for (const RingReduction& ring : swarm.rings) EXPECT_EQ(values_of(ring.sum()), swarm.expected);
}

// The second member was asked for a partial sum that was only late, and asks for its own part in it; then what it waits
// for is whole already, and that is lost.
TEST(Ring, GivesTheWholeToWhoStillAsksForAPartialSum) {
  std::mt19937_64 random(7);
  Swarm swarm(3, DType::kInt64, 4, random);  // one bucket, which starts at the first member
  ASSERT_EQ(swarm.wire.size(), 1U);
  swarm.deliver(0);
  const auto [third, late] = swarm.wire.front();
  swarm.wire.clear();
  swarm.repeat();
  ASSERT_EQ(swarm.wire.size(), 1U) << "made again from its start";
  swarm.wire.clear();
  swarm.post(third, swarm.rings[third].receive(late));
  while (!swarm.wire.empty()) {
    const auto& [to, part] = swarm.wire.front();
    to == 1 ? swarm.wire.pop_front() : swarm.deliver(0);
  }
  EXPECT_FALSE(swarm.rings[1].is_complete());
  swarm.repeat();
  while (!swarm.wire.empty()) swarm.deliver(0);
  ASSERT_TRUE(swarm.is_complete());
  for (const RingReduction& ring : swarm.rings) EXPECT_EQ(values_of(ring.sum()), swarm.expected);
}

TEST(Ring, APartialSumThatComesTwiceGoesOnOnce) {
  std::mt19937_64 random(6);
  Swarm swarm(3, DType::kInt64, 12, random);
  const auto [to, part] = swarm.wire.front();
  EXPECT_EQ(swarm.rings[to].receive(part).size(), 1U);
  EXPECT_TRUE(swarm.rings[to].receive(part).empty());
  EXPECT_EQ(swarm.rings[to].parts_taken(), 1U);
}

TEST(Ring, IsABugWithoutItsOwnMember) {
  const auto values = make_values(DType::kInt64, {1});
  EXPECT_THROW(RingReduction(ReductionSetup{order_of(1), make_members(2), Incarnation{1}, 32}, values), Bug);
}

}  // namespace
}  // namespace shoal::ring_test
