// Error feedback of rounds: what it corrects, and who knows of it. Where rounds overlap (delayed, eager), round n is
// due where round n + 1 is contributed to, and whether a member reads the entry of one or the order to sum the other
// first is chance. What it encodes must not depend on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "runtime/sync/rounds/round_member.h"
#include "tests/runtime/sync/diloco_config.h"
#include "tests/runtime/sync/random_floats.h"

namespace shoal::round_feedback_test {
namespace {

constexpr std::size_t kElements = 300;
constexpr std::uint64_t kRounds = 12;
constexpr Incarnation kSelf{11};
constexpr Incarnation kPeer{12};
const std::map<Incarnation, std::uint64_t> kTokens = {{kSelf, 30}, {kPeer, 90}};

using Values = std::vector<float>;
using Members = std::set<Incarnation>;

OrderId order_of(std::uint64_t number) {
  const auto counter = static_cast<std::uint32_t>(number);
  return {RunId{9}, {}, Term{1}, StageId{0}, StepId{2 * number}, Epoch{Incarnation{50}, counter}, {0, number}};
}

SyncConfig overlapping(OuterUpdate update, bool has_feedback = true) {
  SyncConfig sync = diloco(2, 1, 0, update);
  sync.wire = WireFormat::kE3m0;
  sync.backend = SyncBackend::kOwner;
  sync.error_feedback = has_feedback;
  return sync;
}

// Two members that contribute the same in every round, unless a test changes it.
class Pair {
 public:
  explicit Pair(const SyncConfig& sync) : delay_(sync.outer_update == OuterUpdate::kWait ? 0 : 1) {
    std::mt19937 random{7};
    std::normal_distribution<float> normal{0, 1};
    for (const auto& [id, tokens] : kTokens) {
      members_.emplace(id, RoundMemberSetup{RunId{9}, {}, StageId{0}, id, sync}).first->second.start_at(0);
      for (std::size_t i = 0; i < kElements; ++i) contributed[id].push_back(normal(random));
    }
  }

  // whoever: is is told to sum a round before it reads that the one before is agreed; in every so many rounds.
  void run(const Members& whoever, std::uint64_t every = 1) {
    for (std::uint64_t number = 1; number <= kRounds; ++number) {
      run_round(number, number % every == 0 ? whoever : Members{});
    }
  }
  void run_round(std::uint64_t number, const Members& early = {}) {
    shares_[number] = {};
    for (auto& [id, member] : members_) shares_[number].push_back({id, kTokens.at(id)});
    for (auto& [id, member] : members_) contribute(id, member, number);
    std::vector<AddressedPart> wire;
    const auto take = [&](RoundAnswers answers) {
      for (AddressedPart& part : answers.parts) wire.push_back(std::move(part));
      for (const Reduced& reduced : answers.reduced) digest_[number] = reduced.digest;
    };
    for (auto& [id, member] : members_) {
      if (delay_ == 1 && !early.contains(id)) agree(member, number - 1);
      take(member.hear(reduce(number)));
      if (delay_ == 1 && early.contains(id)) agree(member, number - 1);
    }
    for (std::size_t at = 0; at < wire.size(); ++at) {
      const AddressedPart part = wire[at];
      take(members_.at(part.receiver).hear(part.part));
    }
    for (auto& [id, member] : members_) {
      if (delay_ == 0) agree(member, number);
      update(id, member, number - delay_);
    }
    sent.insert(sent.end(), wire.begin(), wire.end());
  }
  void lose_the_peer() {
    members_.erase(kPeer);
    EXPECT_EQ(members_.at(kSelf).lost(kPeer), std::nullopt);
  }

  std::map<Incarnation, Values> contributed;
  std::vector<AddressedPart> sent;
  std::map<std::pair<std::uint64_t, Incarnation>, RoundUpdate> updates;

 private:
  void contribute(Incarnation id, RoundMember& member, std::uint64_t number) {
    member.trained(kTokens.at(id), 120);
    member.reach(2 * number - 1);
    member.reach(2 * number);
    (void)member.contributed(blob_of(contributed.at(id)));
    (void)member.hear(Prepare{order_of(number), {}});
  }
  Reduce reduce(std::uint64_t number) const {
    Reduce order{order_of(number), {}, 0};
    for (const RoundShare& share : shares_.at(number)) {
      order.members.push_back(share.member);
      order.token_count += share.token_count;
    }
    return order;
  }
  void agree(RoundMember& member, std::uint64_t number) {
    if (number == 0) return;
    const OrderId order = order_of(number);
    const std::vector<RoundShare>& shares = shares_.at(number);
    const CommitRound entry{order.stage, order.step, order.round, order.epoch, digest_.at(number), shares, 0};
    EXPECT_EQ(member.follow(entry, shares.size()), std::nullopt);
  }
  void update(Incarnation id, RoundMember& member, std::uint64_t number) {
    ASSERT_TRUE(member.is_ready());
    if (number > 0) updates[{number, id}] = member.updates().at(0);
    member.updated();
  }

  std::uint64_t delay_;  // rounds from a contribution to its update
  std::map<Incarnation, RoundMember> members_;
  std::map<std::uint64_t, std::uint64_t> digest_;
  std::map<std::uint64_t, std::vector<RoundShare>> shares_;
};

// Relative L2 of what so many first rounds moved altogether to what was contributed to them.
double missing_after(const Pair& pair, std::uint64_t rounds) {
  double difference = 0;
  double whole = 0;
  for (std::size_t i = 0; i < kElements; ++i) {
    const double mean = 0.25 * pair.contributed.at(kSelf)[i] + 0.75 * pair.contributed.at(kPeer)[i];
    double moved = 0;
    for (std::uint64_t number = 1; number <= rounds; ++number) {
      moved += pair.updates.at({number, kSelf}).mean.as<float>()[i];
    }
    difference += std::pow(moved - static_cast<double>(rounds) * mean, 2);
    whole += std::pow(mean, 2);
  }
  return std::sqrt(difference / whole);
}

TEST(RoundFeedback, WhatTravelsDoesNotDependOnWhichMessageComesFirst) {
  for (const OuterUpdate update : {OuterUpdate::kDelayed, OuterUpdate::kEager}) {
    Pair entries_first(overlapping(update));
    entries_first.run({});
    for (const Members& early : {Members{kSelf}, Members{kPeer}, Members{kSelf, kPeer}}) {
      Pair other(overlapping(update));
      other.run(early);
      EXPECT_EQ(other.sent, entries_first.sent);
    }
    Pair without(overlapping(update, false));
    without.run({});
    ASSERT_EQ(without.sent.size(), entries_first.sent.size());
    EXPECT_NE(without.sent, entries_first.sent) << "the control: what was left out does travel";
  }
}

// Two rounds are under way at once, so at most two rounds' errors are missing, each once.
TEST(RoundFeedback, NothingIsLostOrCountedTwice) {
  for (const std::uint64_t every : {1U, 2U}) {
    Pair pair(overlapping(OuterUpdate::kDelayed));
    pair.run({kSelf, kPeer}, every);
    Pair without(overlapping(OuterUpdate::kDelayed, false));
    without.run({kSelf, kPeer}, every);
    const double once = missing_after(pair, 1);
    EXPECT_GT(once, 0.1);
    EXPECT_LT(missing_after(pair, kRounds - 1), 3 * once);
    EXPECT_GT(missing_after(without, kRounds - 1), 9 * once) << "the control";
  }
}

TEST(RoundFeedback, AnEagerMemberKnowsWhatOfItsOwnTheMeanHolds) {
  for (const Members& early : {Members{}, Members{kSelf}, Members{kSelf, kPeer}}) {
    Pair pair(overlapping(OuterUpdate::kEager));
    pair.run(early);
    double worst = 0;
    double worst_of_contributed = 0;
    for (std::uint64_t number = 1; number < kRounds; ++number) {
      const Values self = floats_of(pair.updates.at({number, kSelf}).own);
      const Values peer = floats_of(pair.updates.at({number, kPeer}).own);
      const Values mean = floats_of(pair.updates.at({number, kSelf}).mean);
      for (std::size_t i = 0; i < kElements; ++i) {
        const double exact = 0.25 * pair.contributed.at(kSelf)[i] + 0.75 * pair.contributed.at(kPeer)[i];
        worst = std::max(worst, std::abs(0.25 * self[i] + 0.75 * peer[i] - mean[i]));
        worst_of_contributed = std::max(worst_of_contributed, std::abs(exact - mean[i]));
      }
    }
    EXPECT_LT(worst, 1e-5);
    EXPECT_GT(worst_of_contributed, 0.1) << "the control: what was contributed is not what travelled";
  }
}

// Nothing of it is encoded, but what encoding left out before is in it: the chain of round 3 is that of round 1.
TEST(RoundFeedback, AnEagerMemberKnowsThatAMeanOfItAloneIsItsOwn) {
  Pair pair(overlapping(OuterUpdate::kEager));
  for (const std::uint64_t number : {1U, 2U}) pair.run_round(number);
  pair.lose_the_peer();
  for (const std::uint64_t number : {3U, 4U, 5U, 6U}) pair.run_round(number);
  const RoundUpdate& third = pair.updates.at({3, kSelf});
  ASSERT_TRUE(third.own.has_value());
  EXPECT_EQ(floats_of(third.own), floats_of(third.mean));
  EXPECT_NE(floats_of(third.mean), pair.contributed.at(kSelf)) << "the control: it is more than was contributed";
  const RoundUpdate& fifth = pair.updates.at({5, kSelf});
  EXPECT_FALSE(fifth.own.has_value()) << "nothing was left out since: it is what was contributed";
  EXPECT_EQ(floats_of(fifth.mean), pair.contributed.at(kSelf));
}

// A third of what is contributed is a delta, the rest the averages of weights that have no gradient any more.
Pair of_fading_averages(bool has_feedback) {
  SyncConfig sync = diloco(2);
  sync.wire = WireFormat::kBf16;
  sync.backend = SyncBackend::kOwner;
  sync.error_feedback = has_feedback;
  sync.inner_state = InnerState::kAverage;
  Pair pair(sync);
  for (auto& [id, values] : pair.contributed) {
    for (std::size_t i = kElements / 3; i < kElements; ++i) values[i] = std::abs(values[i]);
  }
  pair.run_round(1);
  for (auto& [id, values] : pair.contributed) {
    for (std::size_t i = kElements / 3; i < kElements; ++i) values[i] *= 1e-9F;
  }
  pair.run_round(2);
  return pair;
}

TEST(RoundFeedback, IsOfWhatAddsUpAndNotOfAveragesThatTravelBehindIt) {
  const Values with = floats_of(of_fading_averages(true).updates.at({2, kSelf}).mean);
  const Values without = floats_of(of_fading_averages(false).updates.at({2, kSelf}).mean);
  std::size_t deltas_that_differ = 0;
  for (std::size_t i = 0; i < kElements / 3; ++i) deltas_that_differ += with[i] != without[i] ? 1U : 0U;
  EXPECT_GT(deltas_that_differ, kElements / 10) << "the control: of deltas what was left out does travel";
  const auto averages_of = [](const Values& values) { return Values(values.begin() + kElements / 3, values.end()); };
  EXPECT_EQ(std::ranges::count_if(averages_of(with), [](float average) { return average < 0; }), 0);
  EXPECT_EQ(averages_of(with), averages_of(without));
}

}  // namespace
}  // namespace shoal::round_feedback_test
