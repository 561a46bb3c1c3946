// Tests who serves, who saves, who is copied and who leaves last, as members die, end, come back and are told to leave.
#include "runtime/cluster/roster.h"

#include <gtest/gtest.h>

#include <random>

namespace shoal::roster_test {
namespace {

using Replicas = std::vector<Incarnation>;
constexpr StageId kFirst{0}, kLast{1};

// Two stages; process n serves as replica 10 n: 1 and 3 the first stage, 2 and 4 the last one.
class Scene {
 public:
  Scene() {
    for (std::uint64_t number = 1; number <= 4; ++number) {
      join(number);
      add(number, StageId{number % 2 == 1 ? 0U : 1U});
    }
  }
  void join(std::uint64_t number, ProcessRole role = ProcessRole::kNode) {
    Join join;
    join.name = "node" + std::to_string(number);
    join.nonce = number;
    join.role = role;
    (void)roster.processes.admit(join, ProcessIncarnation{number});
  }
  void then(JournalBody body) {
    roster.follow({JournalPosition{roster.view.position().value + 1}, {}, Term{1}, std::move(body)});
  }
  void add(std::uint64_t number, StageId stage) {
    const ReplicaId slot{number > 2 ? 1U : 0U};
    then(AddReplica{stage, slot, Incarnation{10 * number}, ProcessIncarnation{number}, 0});
  }
  void lose(std::uint64_t number) { roster.processes.lose(ProcessIncarnation{number}); }
  void end(std::uint64_t number) { roster.ended.insert(Incarnation{10 * number}); }
  void leave(std::uint64_t number) { roster.leavers.add(ProcessIncarnation{number}, "node", "asked to"); }
  Replicas live(StageId stage) const {
    Replicas replicas;
    for (const ReplicaMember& member : roster.live(stage)) replicas.push_back(member.incarnation);
    return replicas;
  }

  Roster roster{View{}, ProcessDirectory(FingerprintRule::kMayDiffer), Leavers(std::chrono::minutes(1))};
};

Joiner joiner_of(StageId stage, std::uint64_t donor) {
  Joiner joiner;
  joiner.order.stage = stage;
  joiner.order.donor = Incarnation{donor};
  return joiner;
}

TEST(Roster, AMemberServesWhileItsProcessLivesAndItsActorHasNotEnded) {
  Scene scene;
  EXPECT_EQ(scene.live(kFirst), (Replicas{Incarnation{10}, Incarnation{30}}));
  scene.lose(1);
  scene.end(4);
  EXPECT_EQ(scene.live(kFirst), Replicas{Incarnation{30}});
  EXPECT_EQ(scene.live(kLast), Replicas{Incarnation{20}});
  EXPECT_EQ(scene.roster.live_count(), 2U);
  EXPECT_EQ(scene.roster.view.replica_count(), 4U) << "the view changes with entries only";
  scene.end(3);
  EXPECT_FALSE(scene.roster.is_served(kFirst));
  EXPECT_TRUE(scene.roster.is_served(kLast));
}

TEST(Roster, WhatARemovedReplicaWasIsForgottenWithItsEntry) {
  Scene scene;
  scene.end(1);
  scene.roster.removing.insert(Incarnation{10});
  scene.then(RemoveReplica{kFirst, Incarnation{10}, "its actor ended"});
  EXPECT_TRUE(scene.roster.ended.empty());
  EXPECT_TRUE(scene.roster.removing.empty());
}

TEST(Roster, ASlotRemembersWhoServedItAndHowOften) {
  Scene scene;
  scene.lose(1);
  scene.then(RemoveReplica{kFirst, Incarnation{10}, "lost"});
  scene.join(5);
  scene.then(AddReplica{kFirst, ReplicaId{0}, Incarnation{50}, ProcessIncarnation{5}, 0});
  const SlotPast& past = scene.roster.slots.at({kFirst, ReplicaId{0}});
  EXPECT_EQ(past.times_added, 2U);
  EXPECT_EQ(past.last_worker, "node5");
  EXPECT_EQ(scene.roster.slots.at({kLast, ReplicaId{1}}).times_added, 1U);
}

// As after a spawner's return: the entry that added it is of an earlier term.
TEST(Roster, OneThatGivesWayLeavesNoPastThatThisTermHasNotSeen) {
  Scene scene;
  scene.roster.slots.clear();
  scene.roster.giving_way = Incarnation{10};
  scene.then(RemoveReplica{kFirst, Incarnation{10}, "its worker serves another stage"});
  EXPECT_FALSE(scene.roster.giving_way);
  EXPECT_TRUE(scene.roster.slots.empty()) << "a place that was added no times has been started again -1 times";
}

TEST(Roster, WhatAProcessDoesNotServeAnyMoreHasEnded) {
  Scene scene;
  Join join;
  EXPECT_TRUE(scene.roster.compare(join, ProcessIncarnation{1}).empty());
  EXPECT_EQ(scene.live(kFirst), Replicas{Incarnation{30}});

  const ServedReplica own{kFirst, ReplicaId{1}, Incarnation{30}, Branch{}, 0};
  const ServedReplica of_another{kLast, ReplicaId{0}, Incarnation{20}, Branch{}, 0};
  join.serves = {own, of_another};
  EXPECT_EQ(scene.roster.compare(join, ProcessIncarnation{3}), std::vector{of_another});
  EXPECT_EQ(scene.live(kFirst), Replicas{Incarnation{30}});
  EXPECT_EQ(scene.live(kLast).size(), 2U) << "of others it says nothing";

  ServedReplica of_another_branch = own;
  of_another_branch.branch = Branch{1};
  join.serves = {of_another_branch};
  EXPECT_EQ(scene.roster.compare(join, ProcessIncarnation{3}), std::vector{of_another_branch});
  EXPECT_FALSE(scene.roster.is_served(kFirst));
}

TEST(Roster, TheLowestThatStaysSaves) {
  Scene scene;
  EXPECT_EQ(scene.roster.savers(2), (Replicas{Incarnation{10}, Incarnation{20}}));
  scene.leave(1);
  EXPECT_EQ(scene.roster.savers(2), (Replicas{Incarnation{30}, Incarnation{20}}));
  scene.leave(3);
  EXPECT_EQ(scene.roster.savers(2), (Replicas{Incarnation{10}, Incarnation{20}})) << "nobody stays";
  scene.lose(1);
  EXPECT_EQ(scene.roster.savers(2), (Replicas{Incarnation{30}, Incarnation{20}}));
  scene.lose(3);
  EXPECT_TRUE(scene.roster.savers(2).empty()) << "no checkpoint is whole without a stage";
}

TEST(Roster, AJoinerCopiesTheLiveMemberThatFeedsTheFewest) {
  Scene scene;
  EXPECT_EQ(scene.roster.donor_of(kFirst, {}), Incarnation{10});
  EXPECT_EQ(scene.roster.donor_of(kFirst, {joiner_of(kFirst, 10)}), Incarnation{30});
  scene.leave(3);
  EXPECT_EQ(scene.roster.donor_of(kFirst, {joiner_of(kFirst, 10)}), Incarnation{10}) << "the other one leaves soon";
  scene.lose(1);
  EXPECT_EQ(scene.roster.donor_of(kFirst, {}), Incarnation{30}) << "the last one stays until somebody has its state";
  scene.lose(3);
  EXPECT_EQ(scene.roster.donor_of(kFirst, {}), Incarnation{});
}

TEST(Roster, WhoGoesThoughItsProcessStaysIsAskedForNothingWhileAnotherStays) {
  for (const bool is_mover : {true, false}) {
    Scene scene;
    const ReplicaMember member = scene.roster.view.replicas_of(kFirst).front();
    EXPECT_FALSE(scene.roster.goes(member));
    if (is_mover) scene.roster.mover = Mover{member.incarnation, member.process, kFirst, kLast};
    if (!is_mover) scene.roster.giving_way = member.incarnation;
    EXPECT_TRUE(scene.roster.goes(member));
    EXPECT_EQ(scene.roster.leaving(), Replicas{member.incarnation});
    EXPECT_EQ(scene.roster.donor_of(kFirst, {}), Incarnation{30});
    EXPECT_EQ(scene.roster.savers(1), Replicas{Incarnation{30}});
    scene.end(3);
    EXPECT_EQ(scene.roster.donor_of(kFirst, {}), member.incarnation) << "nobody else is left";
  }
}

TEST(Roster, TheLastOfAStageLeavesWhenNobodyIsOnTheWayToIt) {
  Scene scene;
  EXPECT_FALSE(scene.roster.last_that_leaves({}));
  scene.leave(1);
  EXPECT_TRUE(scene.roster.is_served_without(kFirst, ProcessIncarnation{1}));
  EXPECT_FALSE(scene.roster.last_that_leaves({}));
  scene.end(3);
  EXPECT_FALSE(scene.roster.is_served_without(kFirst, ProcessIncarnation{1}));
  ASSERT_TRUE(scene.roster.last_that_leaves({}));
  EXPECT_EQ(scene.roster.last_that_leaves({})->stage, kFirst);
  EXPECT_EQ(scene.roster.last_that_leaves({})->name, "node1");
  EXPECT_TRUE(scene.roster.last_that_leaves({joiner_of(kLast, 20)})) << "another stage's joiner";
  EXPECT_FALSE(scene.roster.last_that_leaves({joiner_of(kFirst, 10)}));
}

TEST(Roster, WhoLeavesIsNamedByItsMembersLiveOrNot) {
  Scene scene;
  scene.leave(3);
  scene.leave(4);
  scene.end(3);
  EXPECT_EQ(scene.roster.leaving(), (Replicas{Incarnation{30}, Incarnation{40}}));
  EXPECT_TRUE(scene.roster.stages_of(ProcessIncarnation{3}).empty());
  EXPECT_EQ(scene.roster.stages_of(ProcessIncarnation{4}), std::vector{kLast});
}

TEST(Roster, PartiesAreTheLivingWithWhatTheyServe) {
  Scene scene;
  scene.join(5, ProcessRole::kStorage);
  scene.lose(2);
  scene.end(3);
  const auto parties = scene.roster.parties();
  ASSERT_EQ(parties.size(), 4U);
  EXPECT_EQ(parties[0].stages, std::vector{kFirst});
  EXPECT_EQ(parties[0].stage_replicas, 1U);
  EXPECT_EQ(parties[1].name, "node3");
  EXPECT_TRUE(parties[1].stages.empty());
  EXPECT_EQ(parties[2].stages, std::vector{kLast});
  EXPECT_TRUE(parties[3].is_storage);
}

// Whatever is lost, ended or leaving: who saves and who is copied is live, and stays where anybody does.
TEST(Roster, NobodyIsAskedForAStateThatHasNone) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int run = 0; run < 200; ++run) {
    Scene scene;
    for (std::uint64_t number = 1; number <= 4; ++number) {
      if (random() % 3 == 0) scene.lose(number);
      if (random() % 3 == 0) scene.end(number);
      if (random() % 2 == 0) scene.leave(number);
    }
    const Roster& roster = scene.roster;
    const Replicas savers = roster.savers(2);
    EXPECT_EQ(savers.empty(), !roster.is_served(kFirst) || !roster.is_served(kLast));
    for (std::size_t stage = 0; stage < savers.size(); ++stage) {
      const StageId of{static_cast<std::uint32_t>(stage)};
      EXPECT_TRUE(roster.is_live(*roster.view.find(savers[stage])));
      const bool leaves = roster.leavers.contains(roster.view.members().process_of(savers[stage]));
      EXPECT_TRUE(!leaves || !roster.is_served_without(of, ProcessIncarnation{}));
      const Incarnation donor = roster.donor_of(of, {});
      ASSERT_NE(donor, Incarnation{});
      EXPECT_TRUE(roster.is_live(*roster.view.find(donor)));
    }
  }
}

}  // namespace
}  // namespace shoal::roster_test
