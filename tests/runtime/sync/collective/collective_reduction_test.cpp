// Members of a sum that a library makes: the id's way, what is lost of it, what is handed in; the library is a table.
#include "runtime/sync/collective/collective_reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "runtime/base/ensure.h"

namespace shoal::collective_reduction_test {
namespace {

const OrderId kOrder{RunId{7}, Branch{0}, Term{1}, StageId{0}, StepId{3}, Epoch{Incarnation{9}, 5}, {}};
const Epoch kKept{Incarnation{9}, 2};
const std::string kId(kCollectiveIdBytes, 'i');

TensorBlob numbers(std::int64_t value) {
  auto bytes = std::make_shared<AlignedBuffer>(sizeof value);
  std::memcpy(bytes->data(), &value, sizeof value);
  return {DType::kInt64, {1}, std::move(bytes)};
}

std::vector<Incarnation> members_of(std::uint32_t count) {
  std::vector<Incarnation> members;
  for (std::uint32_t at = 0; at < count; ++at) members.push_back(Incarnation{100 + at});
  return members;
}

CollectiveReduction member(std::uint32_t rank, std::uint32_t count, const Epoch& communicator = kOrder.epoch) {
  const auto members = members_of(count);
  return {ReductionSetup{kOrder, members, members[rank]}, communicator, numbers(rank + 1)};
}

TEST(CollectiveReduction, TheFirstMembersIdReachesAllOthers) {
  auto first = member(0, 3);
  auto last = member(2, 3);
  EXPECT_TRUE(first.begin().empty());
  EXPECT_TRUE(last.begin().empty());
  const auto order = first.take_order();
  ASSERT_TRUE(order);
  EXPECT_EQ(order->rank, 0U);
  EXPECT_EQ(order->size, 3U);
  EXPECT_EQ(order->id, "");
  EXPECT_TRUE(order->makes_communicator());
  EXPECT_FALSE(first.take_order()) << "once";
  EXPECT_FALSE(last.take_order()) << "it has no id";
  const auto parts = first.hear(CollectiveIdMade{kOrder, kId});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[1].receiver, Incarnation{102});
  EXPECT_TRUE(last.receive(parts[1].part).empty());
  const auto joined = last.take_order();
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->id, kId);
  EXPECT_EQ(joined->rank, 2U);
  EXPECT_TRUE(last.receive(parts[1].part).empty());
  EXPECT_FALSE(last.take_order()) << "a repeated part changes nothing";
  EXPECT_EQ(last.parts_taken(), 1U);
}

TEST(CollectiveReduction, OnAKeptCommunicatorNoPartTravels) {
  for (const std::uint32_t rank : {0U, 1U}) {
    auto one = member(rank, 2, kKept);
    EXPECT_TRUE(one.begin().empty());
    const auto order = one.take_order();
    ASSERT_TRUE(order);
    EXPECT_FALSE(order->makes_communicator());
    EXPECT_EQ(order->communicator, kKept);
    EXPECT_TRUE(one.mark().empty());
  }
}

TEST(CollectiveReduction, IsWholeWhenTheLibrarySaysSo) {
  auto one = member(1, 2, kKept);
  static_cast<void>(one.begin());
  OrderId other = kOrder;
  ++other.epoch.counter;
  one.hear(CollectiveSummed{other, numbers(9)});
  EXPECT_FALSE(one.is_complete()) << "of another order";
  EXPECT_THROW(static_cast<void>(one.sum()), Bug);
  one.hear(CollectiveSummed{kOrder, numbers(3)});
  ASSERT_TRUE(one.is_complete());
  EXPECT_EQ(one.sum(), numbers(3));
  EXPECT_FALSE(one.residual().has_value());
}

TEST(CollectiveReduction, RefusesWhatIsNoId) {
  auto first = member(0, 3);
  static_cast<void>(first.begin());
  const Part good = first.hear(CollectiveIdMade{kOrder, kId})[0].part;
  std::vector<Part> bad(6, good);
  ++bad[0].order.epoch.counter;
  bad[1].member = Incarnation{102};
  bad[2].bucket = 1;
  bad[3].hop = 1;
  bad[4].values = numbers(1);
  bad[5].values = {};
  auto second = member(1, 3);
  static_cast<void>(second.begin());
  for (const Part& part : bad) static_cast<void>(second.receive(part));
  EXPECT_EQ(second.refused_count(), bad.size());
  EXPECT_FALSE(second.take_order());
  static_cast<void>(second.receive(good));
  EXPECT_TRUE(second.take_order()) << "control";
  static_cast<void>(first.receive(good));
  EXPECT_EQ(first.refused_count(), 1U) << "it made the id";
}

TEST(CollectiveReduction, NeedsItselfAmongItsMembers) {
  EXPECT_THROW(CollectiveReduction({kOrder, members_of(2), Incarnation{1}}, kKept, numbers(1)), Bug);
}

// Parts are lost, repeated and late; the group repeats its order now and then.
class Swarm {
 public:
  Swarm(std::uint32_t count, std::uint64_t seed) : random_(seed) {
    for (std::uint32_t rank = 0; rank < count; ++rank) all_.push_back(member(rank, count));
    for (auto& one : all_) post(one.begin());
    hand_in();
  }

  // Returns true when all come to the sum.
  [[nodiscard]] bool settles(bool repeats) {
    for (int turn = 0; turn < 200; ++turn) {
      if (repeats && turn % 10 == 9) repeat();
      if (!wire_.empty()) deliver();
      hand_in();
    }
    return std::ranges::all_of(all_, [](const auto& one) { return one.is_complete(); });
  }
  [[nodiscard]] TensorBlob sum(std::uint32_t rank) const { return all_[rank].sum(); }

 private:
  void post(std::vector<AddressedPart> parts) {
    for (auto& part : parts) wire_.push_back(std::move(part));
  }
  CollectiveReduction& at(Incarnation one) { return all_[one.value - 100]; }
  void deliver() {
    const auto index = static_cast<std::ptrdiff_t>(random_() % wire_.size());
    const AddressedPart part = wire_[static_cast<std::size_t>(index)];
    const auto fate = random_() % 4;
    if (fate != 0) wire_.erase(wire_.begin() + index);  // else it comes twice
    if (fate != 1) post(at(part.receiver).receive(part.part));
  }
  void repeat() {
    for (auto& one : all_) {
      for (const auto& mark : one.mark()) {
        const auto question = random_() % 2 == 0 ? at(mark.receiver).missing(mark.mark) : std::nullopt;
        if (question) post(at(question->holder).send_again(*question).parts);
      }
    }
  }
  // The library: an id at once, the sum when all are there.
  void hand_in() {
    for (auto& one : all_) {
      const auto order = one.take_order();
      if (!order) continue;
      if (order->id.empty()) post(one.hear(CollectiveIdMade{kOrder, kId}));
      total_ += *order->contribution.as<std::int64_t>();
      ++there_;
    }
    if (there_ != all_.size()) return;
    for (auto& one : all_) one.hear(CollectiveSummed{kOrder, numbers(total_)});
  }

  std::mt19937_64 random_;
  std::vector<CollectiveReduction> all_;
  std::vector<AddressedPart> wire_;
  std::int64_t total_ = 0;
  std::size_t there_ = 0;
};

TEST(CollectiveReduction, EveryMemberComesToTheSumWhateverIsLost) {
  int stopped = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto count = static_cast<std::uint32_t>(2 + seed % 4);
    Swarm swarm(count, seed);
    ASSERT_TRUE(swarm.settles(true)) << "seed " << seed;
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      ASSERT_EQ(swarm.sum(rank), numbers(count * (count + 1) / 2)) << "seed " << seed;
    }
    stopped += Swarm(count, seed).settles(false) ? 0 : 1;
  }
  EXPECT_GT(stopped, 0) << "control: without repeats what is lost stays lost";
}

}  // namespace
}  // namespace shoal::collective_reduction_test
