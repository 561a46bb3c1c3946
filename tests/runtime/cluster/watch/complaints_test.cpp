// Tests who has to go when two processes do not reach each other.
#include "runtime/cluster/watch/complaints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace shoal::complaints_test {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = Instant{} + 1h;

ProcessIncarnation process(std::uint64_t number) { return ProcessIncarnation{number}; }

Party member(std::uint64_t number, std::uint32_t stage, std::size_t replicas) {
  return {process(number), "node" + std::to_string(number), false, {StageId{stage}}, replicas};
}
Party spare(std::uint64_t number) { return {process(number), "spare", false, {}, 0}; }
Party storage(std::uint64_t number) { return {process(number), "storage", true, {}, 0}; }

std::vector<Party> two_by_two() {
  return {member(1, 0, 2), member(2, 1, 2), member(3, 0, 2), member(4, 1, 2), storage(9)};
}

// Says it every second for so long; the first expulsion.
std::optional<Expulsion> insist(Complaints& complaints, const std::vector<Party>& parties,
                                const std::vector<std::pair<int, int>>& pairs, int seconds,
                                PairLink link = PairLink::kNone) {
  for (int second = 0; second <= seconds; ++second) {
    const Instant now = kStart + second * 1s;
    for (const auto& [from, about] : pairs) {
      complaints.hear(process(static_cast<std::uint64_t>(from)), process(static_cast<std::uint64_t>(about)), link, now);
    }
    if (auto goes = complaints.judge(parties, now)) return goes;
  }
  return std::nullopt;
}

TEST(Complaints, AreHeardOnlyWhenTheyLast) {
  Complaints complaints;
  EXPECT_FALSE(insist(complaints, two_by_two(), {{1, 3}}, 4).has_value());
  EXPECT_NE(complaints.explain(two_by_two()).find("node1 and node3 cannot reach each other"), std::string::npos);
  EXPECT_FALSE(complaints.judge(two_by_two(), kStart + 20s).has_value());
  EXPECT_EQ(complaints.explain(two_by_two()), "") << "forgotten";
}

TEST(Complaints, NameWhomAProcessDoesNotReach) {
  Complaints complaints;
  complaints.hear(process(1), process(3), PairLink::kNone, kStart);
  complaints.hear(process(2), process(1), PairLink::kNone, kStart);
  complaints.hear(process(1), process(4), PairLink::kStands, kStart);
  EXPECT_EQ(complaints.unreached_by(process(1), kStart), (std::vector{process(2), process(3)}));
  EXPECT_EQ(complaints.unreached_by(process(3), kStart), std::vector{process(1)});
  EXPECT_TRUE(complaints.unreached_by(process(4), kStart).empty()) << "its link stands";
  EXPECT_TRUE(complaints.unreached_by(process(1), kStart + 5s).empty()) << "nobody says so any more";
}

// A cut of some seconds may heal before the link breaks: it is told of, and costs nobody.
TEST(Complaints, NobodyGoesWhileTheLinkStandsButItIsSaid) {
  Complaints complaints;
  EXPECT_FALSE(insist(complaints, two_by_two(), {{1, 3}}, 60, PairLink::kStands).has_value());
  EXPECT_NE(complaints.explain(two_by_two()).find("node1 and node3 cannot reach each other"), std::string::npos);
  for (int second = 61; second < 70; ++second) {
    complaints.hear(process(1), process(3), PairLink::kNone, kStart + second * 1s);
    EXPECT_EQ(complaints.judge(two_by_two(), kStart + second * 1s).has_value(), second >= 66) << second;
  }
}

TEST(Complaints, NameThePortThatIsDialledAndWhoDialsIt) {
  std::vector<Party> parties = two_by_two();
  for (Party& party : parties) {
    const auto number = static_cast<std::uint16_t>(party.process.value);
    party.endpoint = {"10.0.0." + std::to_string(number), static_cast<std::uint16_t>(7100 + number)};
  }
  Complaints complaints;
  complaints.hear(process(3), process(1), PairLink::kNone, kStart);
  complaints.hear(process(2), process(9), PairLink::kNone, kStart);
  EXPECT_EQ(complaints.explain(parties),
            "node1 and node3 cannot reach each other: open TCP port 7103 of 10.0.0.3 for node1; "
            "node2 and storage cannot reach each other: open TCP port 7109 of 10.0.0.9 for node2");
}

TEST(Complaints, OfEqualPartiesTheYoungerGoes) {
  Complaints complaints;
  const auto goes = insist(complaints, two_by_two(), {{1, 3}}, 10);
  ASSERT_TRUE(goes.has_value());
  EXPECT_EQ(goes->process, process(3));
  EXPECT_NE(goes->reason.find("it and node1 cannot reach each other"), std::string::npos) << goes->reason;
}

TEST(Complaints, TheOneThatMoreOthersCannotReachGoes) {
  Complaints complaints;
  const auto goes = insist(complaints, two_by_two(), {{1, 3}, {4, 1}, {1, 2}}, 10);
  ASSERT_TRUE(goes.has_value());
  EXPECT_EQ(goes->process, process(1));
}

TEST(Complaints, NeverCostAStageItsLastReplica) {
  Complaints complaints;
  const std::vector<Party> parties = {member(1, 0, 1), member(2, 1, 3), member(3, 1, 3)};
  const auto goes = insist(complaints, parties, {{1, 2}, {1, 3}}, 10);
  ASSERT_TRUE(goes.has_value());
  EXPECT_EQ(goes->process, process(2)) << "though nobody reaches the other";
  Complaints lonely;
  EXPECT_FALSE(insist(lonely, {member(1, 0, 1), member(2, 1, 1)}, {{1, 2}}, 60).has_value());
}

TEST(Complaints, ASharedDeviceIsAsScarceAsTheScarcestOfItsStages) {
  std::vector<Party> parties = {member(1, 0, 1), member(2, 2, 3), member(3, 3, 3)};
  parties[0].stages.push_back(StageId{3});
  Complaints complaints;
  const auto goes = insist(complaints, parties, {{1, 2}}, 10);
  ASSERT_TRUE(goes.has_value()) << "its second stage must talk with the next one";
  EXPECT_EQ(goes->process, process(2));
}

TEST(Complaints, NeverCostStorage) {
  Complaints complaints;
  const auto goes = insist(complaints, two_by_two(), {{1, 9}, {9, 2}, {3, 9}}, 10);
  ASSERT_TRUE(goes.has_value());
  EXPECT_NE(goes->process, process(9));
}

TEST(Complaints, OfPairsThatNeedNotTalkChangeNothing) {
  Complaints complaints;
  std::vector<Party> parties = {member(1, 0, 2), member(2, 2, 2), spare(5), storage(9)};
  EXPECT_FALSE(insist(complaints, parties, {{1, 2}, {1, 5}, {5, 9}, {5, 5}, {77, 78}}, 60).has_value());
}

TEST(Complaints, AboutTheLostAreForgotten) {
  Complaints complaints;
  (void)insist(complaints, two_by_two(), {{1, 3}}, 4);
  complaints.forget(process(3));
  EXPECT_EQ(complaints.explain(two_by_two()), "");
}

// The step stands between the last replicas of two stages, which nobody can spare.
TEST(Complaints, ThatLastAreNamedOfReplicasAlone) {
  const std::vector<Party> parties = {member(1, 0, 1), member(2, 1, 1), storage(9)};
  const auto lasting_after = [&](const std::vector<std::pair<int, int>>& pairs, int seconds) {
    Complaints complaints;
    EXPECT_FALSE(insist(complaints, parties, pairs, seconds).has_value());
    return complaints.lasting(parties, kStart + seconds * 1s);
  };
  EXPECT_EQ(lasting_after({{1, 2}}, 19), std::nullopt);
  EXPECT_EQ(lasting_after({{1, 2}}, 21), parties[0].name + " and " + parties[1].name + " cannot reach each other");
  EXPECT_EQ(lasting_after({{1, 9}}, 60), std::nullopt) << "a step needs no storage";
  for (const int seconds : {59, 61}) {
    Complaints complaints;
    EXPECT_FALSE(insist(complaints, parties, {{1, 2}}, seconds).has_value());
    EXPECT_EQ(complaints.dividing(parties, kStart + seconds * 1s).has_value(), seconds > 60) << seconds;
  }
  Complaints forgotten;
  (void)insist(forgotten, parties, {{1, 2}}, 30);
  EXPECT_EQ(forgotten.lasting(parties, kStart + 40s), std::nullopt) << "nobody says it any more";
}

// Whatever is said by whom: storage and last replicas stay, and who goes was complained about or complained.
TEST(Complaints, KeepTheirPromisesForAnyWords) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 500; ++trial) {
    Complaints complaints;
    std::vector<Party> parties = {storage(9)};
    for (std::uint64_t number = 1; number < 8; ++number) {
      parties.push_back(random() % 4 == 0 ? spare(number)
                                          : member(number, static_cast<std::uint32_t>(random() % 3), 1 + random() % 3));
    }
    std::vector<std::pair<int, int>> pairs;
    for (int i = 0; i < 6; ++i) pairs.emplace_back(1 + random() % 9, 1 + random() % 9);
    const auto goes = insist(complaints, parties, pairs, 10);
    if (!goes) continue;
    const auto who = std::ranges::find_if(parties, [&](const Party& party) { return party.process == goes->process; });
    ASSERT_NE(who, parties.end());
    ASSERT_FALSE(who->is_storage);
    ASSERT_GT(who->stage_replicas, 1U);
    ASSERT_TRUE(std::ranges::any_of(pairs, [&](const auto& pair) {
      return process(static_cast<std::uint64_t>(pair.first)) == goes->process ||
             process(static_cast<std::uint64_t>(pair.second)) == goes->process;
    }));
  }
}

}  // namespace
}  // namespace shoal::complaints_test
