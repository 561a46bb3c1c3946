// RoundMember rule by rule (DESIGN.md §6): one of two members, the other and the group by hand.
#include "runtime/sync/rounds/round_member.h"
#include "tests/runtime/sync/diloco_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

namespace shoal::round_member_test {
namespace {

constexpr StageId kStage{0};
constexpr Incarnation kSelf{11};
constexpr Incarnation kGroup{50};

TensorBlob values_of(std::vector<float> values) {
  auto bytes = std::make_shared<AlignedBuffer>(values.size() * sizeof(float));
  std::copy(values.begin(), values.end(), reinterpret_cast<float*>(bytes->data()));
  return {DType::kFloat32, {static_cast<std::int64_t>(values.size())}, std::move(bytes)};
}

OrderId order_of(std::uint32_t counter, std::uint64_t number = 1) {
  return {RunId{9}, {}, Term{1}, kStage, StepId{2 * number}, Epoch{kGroup, counter}, {0, number}};
}

CommitRound entry_of(std::uint32_t counter, std::uint64_t digest) {
  return {kStage, StepId{2}, {0, 1}, Epoch{kGroup, counter}, digest, {{kSelf, 30}}, 0};
}

// At the boundary after two steps on 10 and 20 tokens.
class Bench {
 public:
  explicit Bench(SyncConfig sync = diloco(2)) : member({RunId{9}, {}, kStage, kSelf, sync}) {
    member.start_at(0);
    member.trained(10, 40);
    member.reach(1);
    member.trained(20, 80);
    member.reach(2);
  }
  // The mean of this member alone.
  std::uint64_t agree(std::vector<float> values, std::uint32_t counter = 1) {
    (void)member.contributed(values_of(std::move(values)));
    (void)member.hear(Prepare{order_of(counter), {}});
    const auto answers = member.hear(Reduce{order_of(counter), {kSelf}, 30});
    EXPECT_EQ(answers.reduced.size(), 1U);
    return answers.reduced.empty() ? 0 : answers.reduced[0].digest;
  }
  RoundMember member;
};

TEST(RoundMember, IsAtNoBoundaryWhereNothingIsDue) {
  RoundMember member({RunId{9}, {}, kStage, kSelf, diloco(2)});
  member.start_at(0);
  member.reach(1);
  EXPECT_FALSE(member.is_at_boundary());
  EXPECT_FALSE(member.wanted_contribution());
}

// Orders of rounds that others are at already: beyond the bound they are not kept, and are said again.
TEST(RoundMember, S6OpensABoundedNumberOfRoundsThatAreToCome) {
  Bench bench;
  const std::uint64_t most = RoundSchedule(diloco(2)).open_max();
  for (std::uint64_t number = 1; number <= most; ++number) (void)bench.member.hear(Prepare{order_of(1, number), {}});
  EXPECT_EQ(bench.member.stale_orders(), 0U);
  for (int again = 0; again < 3; ++again) (void)bench.member.hear(Prepare{order_of(1, most + 1), {}});
  EXPECT_EQ(bench.member.stale_orders(), 3U);
  EXPECT_EQ(bench.member.contributed(values_of({1, 2})).manifests.size(), 1U) << "the round that it is at goes on";
}

// All fragments have a round in flight where a replica joins: it takes part in each, or none of them is ever over.
TEST(RoundMember, WhoJoinsTakesPartInEveryRoundInFlightHoweverManyFragmentsThereAre) {
  constexpr std::uint64_t kFragments = 1024;  // as many as may be configured
  const SyncConfig sync = diloco(kFragments, kFragments, 0, OuterUpdate::kDelayed);
  const RoundSchedule schedule(sync);
  RoundMember member({RunId{9}, {}, kStage, kSelf, sync});
  member.start_at(kFragments);
  const auto answer_all = [&](std::uint64_t version) {
    std::size_t manifests = 0;
    for (const RoundId& round : schedule.in_flight_after(version)) {
      OrderId order = order_of(1);
      order.step = StepId{schedule.contribution_version(round)};
      order.round = round;
      manifests += member.hear(Prepare{order, {}}).manifests.size();
    }
    while (member.wanted_contribution()) manifests += member.contributed(values_of({1})).manifests.size();
    return manifests;
  };
  EXPECT_EQ(answer_all(kFragments), kFragments);
  member.reach(kFragments + 1);
  EXPECT_EQ(answer_all(kFragments + 1), kFragments) << "and in the next one of the first fragment";
}

TEST(RoundMember, ContributesFirstAndWeighsWhatItTrainedOn) {
  Bench bench;
  ASSERT_EQ(bench.member.wanted_contribution(), (RoundId{0, 1}));
  EXPECT_TRUE(bench.member.hear(Prepare{order_of(1), {}}).manifests.empty());
  const auto answers = bench.member.contributed(values_of({1, 2}));
  ASSERT_EQ(answers.manifests.size(), 1U);
  EXPECT_EQ(answers.manifests[0].share_tokens, 30U);
  EXPECT_FALSE(bench.member.is_ready());  // not agreed
  EXPECT_TRUE(bench.member.updates().empty());
}

TEST(RoundMember, UpdatesWhenTheEntryComesAndLeavesTheBoundary) {
  Bench bench;
  const std::uint64_t digest = bench.agree({1, 2});
  EXPECT_TRUE(bench.member.is_at_boundary());
  EXPECT_EQ(bench.member.follow(entry_of(1, digest), 2), std::nullopt);
  const auto updates = bench.member.updates();
  ASSERT_EQ(updates.size(), 1U);
  EXPECT_EQ(updates[0].mean.as<float>()[1], 2.0F);
  EXPECT_EQ(updates[0].own_weight, 30);
  bench.member.updated();
  EXPECT_FALSE(bench.member.is_at_boundary());
  EXPECT_EQ(bench.member.follow(entry_of(1, digest), 2), std::nullopt);  // a repeat says nothing
}

TEST(RoundMember, AnEntryOfAnotherEpochOrDigestIsNoneItCanGoOnFrom) {  // P-24
  for (const bool is_other_epoch : {true, false}) {
    Bench bench;
    const std::uint64_t digest = bench.agree({1, 2});
    EXPECT_NE(bench.member.follow(is_other_epoch ? entry_of(2, digest) : entry_of(1, digest + 1), 2), std::nullopt);
  }
}

// Entry of round 1, closed by these two others with 70 tokens.
constexpr Incarnation kFirst{12};
constexpr Incarnation kSecond{13};
CommitRound entry_without_self(const TensorBlob& mean) {
  CommitRound entry = entry_of(1, digest_of_mean(mean));
  entry.shares = {{kFirst, 40}, {kSecond, 30}};
  return entry;
}

StepSum mean_for(Incarnation member, const TensorBlob& mean, Incarnation from = kFirst) {
  return {member, from, {}, StepId{2}, 70, mean};
}

TEST(RoundMember, WhoMissedARoundAsksForItsMeanAndGoesOnWithThat) {
  Bench bench;
  const Instant now{};
  const TensorBlob mean = values_of({3, 4});
  (void)bench.member.contributed(values_of({1, 2}));
  (void)bench.member.hear(Prepare{order_of(1), {}});
  ASSERT_EQ(bench.member.follow(entry_without_self(mean), 3), std::nullopt);
  EXPECT_FALSE(bench.member.is_ready());
  EXPECT_TRUE(bench.member.hear(Prepare{order_of(1), {}}).manifests.empty()) << "the round is closed";
  const auto asked = bench.member.questions(now);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].step, 2U);
  EXPECT_TRUE(asked[0].donor == kFirst || asked[0].donor == kSecond);
  bench.member.hear(mean_for(kSelf, values_of({3, 5})));  // the control: another mean than the journal's
  EXPECT_FALSE(bench.member.is_ready());
  bench.member.hear(mean_for(kSelf, mean));
  ASSERT_TRUE(bench.member.is_ready());
  const auto updates = bench.member.updates();
  ASSERT_EQ(updates.size(), 1U);
  EXPECT_EQ(updates[0].mean, mean);
  EXPECT_EQ(updates[0].own_weight, 0) << "nothing of it was merged";
  EXPECT_EQ(updates[0].total_weight, 70);
  EXPECT_TRUE(bench.member.questions(now + MissedRounds::kAskAgain).empty());
  bench.member.updated();
  bench.member.trained(5, 40);  // its next share is of the next round's steps alone
  bench.member.reach(3);
  bench.member.trained(6, 40);
  bench.member.reach(4);
  (void)bench.member.hear(Prepare{order_of(1, 2), {}});
  EXPECT_EQ(bench.member.contributed(values_of({1, 2})).manifests.at(0).share_tokens, 11U);
}

// A member that asks for the first mean of two rounds with contributions of one step is given the second one's, too.
TEST(RoundMember, AMeanThatComesBeforeItsEntryIsKeptForIt) {
  Bench bench;
  const TensorBlob mean = values_of({3, 4});
  (void)bench.member.contributed(values_of({1, 2}));
  bench.member.hear(mean_for(kSelf, values_of({3, 5})));  // the control: another mean than the journal's
  bench.member.hear(mean_for(kSelf, mean));
  bench.member.hear(mean_for(kSelf, mean));
  EXPECT_FALSE(bench.member.is_ready());
  ASSERT_EQ(bench.member.follow(entry_without_self(mean), 3), std::nullopt);
  ASSERT_TRUE(bench.member.is_ready());
  EXPECT_EQ(bench.member.updates().at(0).mean, mean);
  EXPECT_TRUE(bench.member.questions(Instant{}).empty());
}

TEST(RoundMember, AMissedMeanIsAskedOfTheNextHolderWhenOneLeavesAndOfNobodyInTheEnd) {
  Bench bench;
  Instant now{};
  (void)bench.member.contributed(values_of({1, 2}));
  ASSERT_EQ(bench.member.follow(entry_without_self(values_of({3, 4})), 3), std::nullopt);
  const Incarnation asked = bench.member.questions(now).at(0).donor;
  EXPECT_TRUE(bench.member.questions(now).empty()) << "not at once";
  now += MissedRounds::kAskAgain;
  EXPECT_EQ(bench.member.questions(now).at(0).donor, asked) << "who is there is asked again";
  EXPECT_EQ(bench.member.lost(asked), std::nullopt);
  const Incarnation other = bench.member.questions(now).at(0).donor;
  EXPECT_NE(other, asked);
  EXPECT_EQ(bench.member.lost(Incarnation{14}), std::nullopt) << "it had no share";
  EXPECT_NE(bench.member.lost(other), std::nullopt);
}

TEST(RoundMember, GivesItsMeanToWhoMissedItUntilTheNextStepIsApplied) {
  for (const bool asks_first : {true, false}) {
    Bench bench;
    Instant now{};
    const FetchState question{kFirst, 2, {}, kSelf, {}};
    const std::uint64_t digest = bench.agree({1, 2});
    if (asks_first) bench.member.hear(question, now);
    EXPECT_TRUE(bench.member.means().empty()) << "the journal has not said that it was missed";
    ASSERT_EQ(bench.member.follow(entry_of(1, digest), 2), std::nullopt);
    bench.member.updated();
    if (!asks_first) bench.member.hear(question, now);
    const auto given = bench.member.means();
    ASSERT_EQ(given.size(), 1U);
    EXPECT_EQ(given[0], (StepSum{kFirst, kSelf, {}, StepId{2}, 30, values_of({1, 2})}));
    if (asks_first) {
      bench.member.hear(question, now);
      EXPECT_EQ(bench.member.means().size(), 1U) << "what came before the entry may have been a joiner's last word";
    }
    bench.member.hear(question, now + MissedRounds::kAskAgain);
    EXPECT_TRUE(bench.member.means().empty()) << "it is on its way";
    bench.member.lost_on_its_way({kSecond, 2, "its link broke"});
    bench.member.lost_on_its_way({kFirst, 1, "its link broke"});
    bench.member.hear(question, now + MissedRounds::kAskAgain);
    EXPECT_TRUE(bench.member.means().empty()) << "nor are these it";
    bench.member.lost_on_its_way({kFirst, 2, "its link broke"});
    EXPECT_TRUE(bench.member.means().empty()) << "whoever has it does not ask";
    bench.member.hear(question, now + MissedRounds::kAskAgain);
    EXPECT_EQ(bench.member.means().size(), 1U);
    bench.member.hear(question, now + MissedRounds::kAskAgain + KeptMeans::kMeanLost);
    EXPECT_EQ(bench.member.means().size(), 1U);
    bench.member.hear(FetchState{kSelf, 2, {}, kSelf, {}}, now);
    EXPECT_TRUE(bench.member.means().empty()) << "who has a share holds it";
    bench.member.reach(3);
    bench.member.hear(FetchState{kSecond, 2, {}, kSelf, {}}, now);
    EXPECT_TRUE(bench.member.means().empty()) << "nobody can need it any more";
  }
}

TEST(RoundMember, KeepsNoMeanOfARoundThatNobodyMissed) {
  Bench bench;
  const std::uint64_t digest = bench.agree({1, 2});
  ASSERT_EQ(bench.member.follow(entry_of(1, digest), 1), std::nullopt);
  bench.member.hear(FetchState{kFirst, 2, {}, kSelf, {}}, Instant{});
  EXPECT_TRUE(bench.member.means().empty());
}

TEST(RoundMember, ANewEpochDropsTheMeanAndKeepsTheContribution) {  // P-15
  Bench bench;
  (void)bench.agree({1, 2});
  const auto again = bench.member.hear(Prepare{order_of(2), {}});
  ASSERT_EQ(again.manifests.size(), 1U);
  EXPECT_EQ(again.manifests[0].share_tokens, 30U);
  EXPECT_EQ(bench.member.hear(Reduce{order_of(1), {kSelf}, 30}).reduced.size(), 0U);  // from the old one
  EXPECT_EQ(bench.member.hear(Reduce{order_of(2), {kSelf}, 30}).reduced.size(), 1U);
  EXPECT_TRUE(bench.member.hear(Prepare{order_of(1), {}}).manifests.empty());
}

TEST(RoundMember, WhoCameLaterTakesPartForTheMeanAlone) {
  RoundMember member({RunId{9}, {}, kStage, kSelf, diloco(2)});
  member.start_at(3);
  EXPECT_TRUE(member.hear(Prepare{order_of(1), {}}).manifests.empty());
  ASSERT_EQ(member.wanted_contribution(), (RoundId{0, 1}));
  const auto answers = member.contributed(values_of({5, 5}));
  ASSERT_EQ(answers.manifests.size(), 1U);
  EXPECT_EQ(answers.manifests[0].share_tokens, 0U);
}

TEST(RoundMember, AContributionThatIsNotFiniteWeighsNothingAndSpoilsNothing) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Bench bench;
    (void)bench.member.hear(Prepare{order_of(1), {}});
    const auto answers = bench.member.contributed(values_of({1, bad}));
    ASSERT_EQ(answers.manifests.size(), 1U);
    EXPECT_EQ(answers.manifests[0].share_tokens, 0U);
    const auto sum = bench.member.hear(Reduce{order_of(1), {kSelf}, 30});
    ASSERT_EQ(sum.reduced.size(), 1U);
    EXPECT_EQ(bench.member.follow(entry_of(1, sum.reduced[0].digest), 2), std::nullopt);
    EXPECT_EQ(bench.member.updates().at(0).mean.as<float>()[1], 0.0F);
  }
}

// After step 2, whose round is due later.
TEST(RoundMember, ALastStepMakesTheRoundInFlightDue) {
  for (const bool is_last : {true, false}) {
    Bench bench(diloco(2, 1, 1));
    if (is_last) bench.member.close();
    const std::uint64_t digest = bench.agree({1, 2});
    EXPECT_EQ(bench.member.is_at_boundary(), is_last);
    EXPECT_FALSE(bench.member.is_ready());
    EXPECT_EQ(bench.member.follow(entry_of(1, digest), 2), std::nullopt);
    ASSERT_EQ(bench.member.is_ready(), is_last);
    if (!is_last) continue;
    const auto updates = bench.member.updates();
    ASSERT_EQ(updates.size(), 1U);
    EXPECT_TRUE(updates[0].is_closing);
    bench.member.updated();
    bench.member.reach(3);  // the round was due there: a run that goes on has it already
    EXPECT_TRUE(bench.member.is_ready());
    EXPECT_TRUE(bench.member.updates().empty());
  }
}

TEST(RoundMember, AfterAnEndAnEagerRoundHasNoStalePartAgain) {
  Bench bench(diloco(2, 1, 0, OuterUpdate::kEager));
  bench.member.close();
  const std::uint64_t digest = bench.agree({1, 2});
  EXPECT_EQ(bench.member.follow(entry_of(1, digest), 2), std::nullopt);
  const auto updates = bench.member.updates();
  ASSERT_EQ(updates.size(), 2U);  // ahead of round 1, as at every first boundary; then round 1
  EXPECT_FALSE(updates[0].is_closing);
  EXPECT_TRUE(updates[1].is_closing && updates[1].mean.has_value());
  bench.member.updated();
  bench.member.trained(40, 100);
  bench.member.reach(3);
  bench.member.reach(4);
  (void)bench.member.contributed(values_of({3, 3}));
  ASSERT_TRUE(bench.member.is_ready());
  const auto ahead = bench.member.updates();
  ASSERT_EQ(ahead.size(), 1U);
  EXPECT_FALSE(ahead[0].mean.has_value());
  EXPECT_EQ(ahead[0].newest_weight, 40);
  EXPECT_EQ(ahead[0].own_weight, 0);
  EXPECT_EQ(ahead[0].total_weight, 60);  // the others', whatever each of them has
}

// A run that began again from a checkpoint with a round in flight: nobody here took part in it.
TEST(RoundMember, ADelayedRoundOfNobodysTokensLeavesTheNextOneItsOwnStart) {
  RoundMember member({RunId{9}, {}, kStage, kSelf, diloco(2, 1, 0, OuterUpdate::kDelayed)});
  member.start_at(2);
  (void)member.hear(Prepare{order_of(1), {}});
  (void)member.contributed(values_of({5, 5}));
  const auto sum = member.hear(Reduce{order_of(1), {kSelf}, 0});
  ASSERT_EQ(sum.reduced.size(), 1U);
  EXPECT_EQ(member.follow(entry_of(1, sum.reduced[0].digest), 2), std::nullopt);
  member.trained(10, 40);
  member.reach(3);
  member.reach(4);
  (void)member.contributed(values_of({1, 1}));
  const auto updates = member.updates();
  ASSERT_EQ(updates.size(), 1U);
  EXPECT_FALSE(updates[0].mean.has_value());
}

TEST(RoundMember, WhatAnEndOfTheRunAgreedOnIsNotWaitedForAndTheNextRoundIs) {
  for (const std::uint64_t end : {2U, 0U}) {  // the control: no end
    RoundMember member({RunId{9}, {}, kStage, kSelf, diloco(2, 1, 1)});
    member.start_at(2);
    member.pass_over_until(end);
    EXPECT_EQ(member.hear(Prepare{order_of(1), {}}).manifests.empty() && !member.wanted_contribution(), end == 2U);
    if (end == 0) continue;
    member.reach(3);
    EXPECT_TRUE(member.is_ready());
    member.updated();
    member.reach(4);
    EXPECT_EQ(member.wanted_contribution(), (RoundId{0, 2}));
  }
}

TEST(RoundMember, WhatTheJournalSaysIsOverIsNotWaitedFor) {
  RoundMember member({RunId{9}, {}, kStage, kSelf, diloco(2, 1, 1)});
  member.pass_over({0, 1});
  member.start_at(2);
  EXPECT_TRUE(member.hear(Prepare{order_of(1), {}}).manifests.empty());
  EXPECT_EQ(member.stale_orders(), 1U);
  member.reach(3);
  EXPECT_TRUE(member.is_ready());
}

// Two members through their first eager round and to the boundary at which it is due.
class EagerPair {
 public:
  static constexpr std::size_t kElements = 300;

  explicit EagerPair(SyncBackend backend) {
    SyncConfig sync = diloco(2, 1, 0, OuterUpdate::kEager);
    sync.wire = WireFormat::kInt8;
    sync.backend = backend;
    for (const auto& [id, tokens] : kTokens) {
      RoundMember& member = members_.emplace(id, RoundMemberSetup{RunId{9}, {}, kStage, id, sync}).first->second;
      member.start_at(0);
      member.trained(tokens, 120);
      member.reach(1);
      member.reach(2);
      std::vector<float> values;
      for (std::size_t i = 0; i < kElements; ++i) values.push_back(normal_(random_));
      contributed[id] = values;
      (void)member.contributed(values_of(values));
      member.updated();
      (void)member.hear(Prepare{order_of(1), {}});
    }
    std::vector<AddressedPart> wire;
    const auto take = [&](RoundAnswers answers) {
      for (AddressedPart& part : answers.parts) wire.push_back(std::move(part));
      for (const Reduced& reduced : answers.reduced) digest_ = reduced.digest;
    };
    for (auto& [id, member] : members_) take(member.hear(Reduce{order_of(1), {kSelf, kPeer}, 120}));
    for (std::size_t at = 0; at < wire.size(); ++at) {
      const AddressedPart part = wire[at];
      take(members_.at(part.receiver).hear(part.part));
    }
    for (auto& [id, member] : members_) {
      CommitRound entry = entry_of(1, digest_);
      entry.shares.push_back({kPeer, 90});
      EXPECT_EQ(member.follow(entry, 2), std::nullopt);
      member.reach(3);
      member.reach(4);
      (void)member.contributed(values_of(std::vector<float>(kElements)));
    }
  }
  [[nodiscard]] RoundUpdate update(Incarnation id) const { return members_.at(id).updates().at(0); }

  static constexpr Incarnation kPeer{12};
  std::map<Incarnation, std::vector<float>> contributed;

 private:
  const std::map<Incarnation, std::uint64_t> kTokens = {{kSelf, 30}, {kPeer, 90}};
  std::mt19937 random_{7};
  std::normal_distribution<float> normal_{0, 1};
  std::map<Incarnation, RoundMember> members_;
  std::uint64_t digest_ = 0;
};

TEST(RoundMember, AnEagerUpdateKnowsTheOwnDeltaAsTheMeanHoldsIt) {
  for (const SyncBackend backend : {SyncBackend::kRing, SyncBackend::kOwner}) {
    const EagerPair pair(backend);
    const RoundUpdate self = pair.update(kSelf);
    const RoundUpdate peer = pair.update(EagerPair::kPeer);
    ASSERT_TRUE(self.own.has_value() && peer.own.has_value());
    float worst = 0;
    float worst_of_exact = 0;
    for (std::size_t i = 0; i < EagerPair::kElements; ++i) {
      const float mean = self.mean.as<float>()[i];
      const float exact = 0.25F * pair.contributed.at(kSelf)[i] + 0.75F * pair.contributed.at(EagerPair::kPeer)[i];
      worst = std::max(worst, std::abs(0.25F * self.own.as<float>()[i] + 0.75F * peer.own.as<float>()[i] - mean));
      worst_of_exact = std::max(worst_of_exact, std::abs(exact - mean));
    }
    EXPECT_LT(worst, 1e-5F);
    EXPECT_GT(worst_of_exact, 1e-3F) << "the control: what was contributed is not what travelled";
  }
}

TEST(RoundMember, AnOrderThatIsInNoPlanIsTurnedAway) {
  Bench bench;
  OrderId order = order_of(1);
  order.step = StepId{3};  // no contribution is taken there
  EXPECT_TRUE(bench.member.hear(Prepare{order, {}}).manifests.empty());
  order = order_of(1, 7);
  order.round.fragment = 4;  // no such fragment
  EXPECT_TRUE(bench.member.hear(Prepare{order, {}}).manifests.empty());
  EXPECT_EQ(bench.member.stale_orders(), 2U);
}

TEST(RoundMember, ARepeatedReduceSendsAMarkAndWhatItsReceiverLacks) {
  Bench bench;
  (void)bench.member.contributed(values_of({1, 2}));
  (void)bench.member.hear(Prepare{order_of(1), {}});
  const Incarnation other{12};
  const Reduce reduce{order_of(1), {kSelf, other}, 60};
  const auto first = bench.member.hear(reduce);
  ASSERT_EQ(first.parts.size(), 1U);
  const auto repeated = bench.member.hear(reduce);
  EXPECT_TRUE(repeated.parts.empty());
  ASSERT_EQ(repeated.marks.size(), 1U);
  EXPECT_EQ(repeated.marks[0].receiver, other);
  MissingParts question{order_of(1), other, kSelf, repeated.marks[0].mark.mark, {{0, 0}}};
  EXPECT_EQ(bench.member.hear(question).parts, first.parts);
  EXPECT_TRUE(bench.member.hear(question).parts.empty()) << "it is on its way, behind that mark";
  question.order.epoch.counter = 7;
  EXPECT_TRUE(bench.member.hear(question).parts.empty());
}

TEST(RoundMember, TellsHowFarAMeanIs) {
  Bench bench;
  (void)bench.member.contributed(values_of({1, 2}));
  (void)bench.member.hear(Prepare{order_of(1), {}});
  (void)bench.member.hear(Reduce{order_of(1), {kSelf, Incarnation{12}}, 60});
  const Instant begun = Instant{} + std::chrono::hours(1);
  EXPECT_TRUE(bench.member.news(begun).empty());
  (void)bench.member.hear(Progress{order_of(1), Incarnation{12}, 0, 4});
  (void)bench.member.hear(Progress{order_of(2), Incarnation{12}, 0, 4});
  EXPECT_TRUE(bench.member.news(begun).empty()) << "soon enough";
  EXPECT_EQ(bench.member.news(begun + SumProgress::kPause), (std::vector{Progress{order_of(1), kSelf, 0, 1}}));
  EXPECT_TRUE(bench.member.news(begun + 9 * SumProgress::kPause).empty()) << "nothing came since";
}

TEST(RoundMember, AnEarlyPartWaitsForItsReduce) {
  Bench bench;
  constexpr Incarnation kPeer{12};
  (void)bench.member.contributed(values_of({4, 4}));
  (void)bench.member.hear(Prepare{order_of(1), {}});
  // The peer's share of the one bucket, which begins at the first member of the ring: 3/4 of 8.
  Part part{order_of(1), kPeer, 0, 0, values_of({6, 6})};
  EXPECT_TRUE(bench.member.hear(part).parts.empty());
  EXPECT_EQ(bench.member.early_parts(), 1U);
  const auto answers = bench.member.hear(Reduce{order_of(1), {kPeer, kSelf}, 120});
  ASSERT_EQ(answers.reduced.size(), 1U);
  ASSERT_EQ(bench.member.follow(entry_of(1, answers.reduced[0].digest), 2), std::nullopt);
  EXPECT_EQ(bench.member.updates().at(0).mean.as<float>()[0], 7.0F);  // 30/120 of 4, and 6
}

}  // namespace
}  // namespace shoal::round_member_test
