// The duty that lets processes in and takes them out.
#include <gtest/gtest.h>

#include "runtime/cluster/duties/gathering.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::gathering_test {
namespace {

Join join_of(const std::string& name, std::uint64_t nonce) {
  Join join;
  join.name = name;
  join.nonce = nonce;
  return join;
}

struct GatheringDutyTest : testing::Test, DutyBench {
  GatheringDuty duty{truth, truth.roster, numbers};
};

TEST_F(GatheringDutyTest, WelcomesANewProcessAndThenSaysThatItJoined) {
  const Answers answers = duty.on(join_of("node1", 7), now);
  ASSERT_EQ(sent<Welcome>(answers).size(), 1U);
  EXPECT_EQ(sent<Welcome>(answers)[0].process, ProcessIncarnation{1});
  EXPECT_LT(place_of<Welcomed>(answers), place_of<ProcessJoined>(answers));
  EXPECT_LT(place_of<ProcessJoined>(answers), place_of<WorkersChanged>(answers));
  const Answers joined = duty.on(ProcessJoined{ProcessIncarnation{1}, {}}, now);
  EXPECT_EQ(asked<SendJournal>(joined).size(), 1U);
  EXPECT_EQ(told<PeersChanged>(joined).size(), 1U);
}

TEST_F(GatheringDutyTest, CallsADeviceThatJoinsAsItWillWhenItLeaves) {
  Join second = join_of("node1", 8);
  second.device_index = 1;
  (void)duty.on(join_of("node1", 7), now);
  (void)duty.on(second, now);
  const Answers joined = duty.on(ProcessJoined{ProcessIncarnation{2}, {}}, now);
  std::vector<std::string> subjects;
  for (const DutyAnswer& answer : joined.all()) {
    if (const auto* one = std::get_if<Announcement>(&answer)) subjects.push_back(one->subject);
  }
  EXPECT_EQ(subjects, std::vector<std::string>{"node1:1"});
}

TEST_F(GatheringDutyTest, ComparesWhatARepeatedJoinServes) {
  (void)duty.on(join_of("node1", 7), now);
  const Answers answers = duty.on(join_of("node1", 7), now);
  EXPECT_EQ(sent<Welcome>(answers).size(), 1U);
  EXPECT_LT(place_of<LinkedAgain>(answers), place_of<Served>(answers));
  EXPECT_LT(place_of<MembersDue>(answers), place_of<WorkersChanged>(answers));
  EXPECT_TRUE(told<ProcessJoined>(answers).empty());
}

TEST_F(GatheringDutyTest, RefusesATakenNameWithAReason) {
  (void)duty.on(join_of("node1", 7), now);
  EXPECT_TRUE(duty.on(join_of("node1", 8), now).all().empty()) << "its holder may be dead";
  truth.signs.expect(ProcessIncarnation{1}, now);
  const Answers answers = duty.on(join_of("node1", 8), now);
  EXPECT_EQ(sent<JoinRefused>(answers).size(), 1U);
  EXPECT_EQ(announced(answers), std::vector<std::string>{"join_refused"});
}

TEST_F(GatheringDutyTest, KnowsAMemberOfAnEarlierTerm) {
  ReservedNumbers later;
  later.reserved(NumberKind::kProcess, 1001, 1000);
  GatheringDuty taken_over{truth, truth.roster, later};
  Join join = join_of("node1", 7);
  join.previous = ProcessIncarnation{3};
  EXPECT_EQ(told<CameBack>(taken_over.on(join, now)).size(), 1U);
}

// The spawner before this one wrote down that process 3 is node1.
TEST_F(GatheringDutyTest, S7GivesANumberOfAnEarlierTermBackToWhomItWasGivenAlone) {
  truth.roster.processes.await({{ProcessIncarnation{3}, ProcessRole::kNode, "node1", {}}});
  ReservedNumbers later;
  later.reserved(NumberKind::kProcess, 1001, 1000);
  GatheringDuty taken_over{truth, truth.roster, later};
  Join evil = join_of("evil", 6);
  evil.previous = ProcessIncarnation{3};
  const Answers to_evil = taken_over.on(evil, now);
  EXPECT_TRUE(told<CameBack>(to_evil).empty());
  ASSERT_EQ(sent<Welcome>(to_evil).size(), 1U);
  EXPECT_EQ(sent<Welcome>(to_evil)[0].process, ProcessIncarnation{1001});
  EXPECT_EQ(asked<Note>(to_evil).size(), 1U);
  Join lost = join_of("node2", 8);
  lost.previous = ProcessIncarnation{4};  // it is on no record
  EXPECT_EQ(sent<Welcome>(taken_over.on(lost, now)).at(0).process, ProcessIncarnation{1002});
  Join own = join_of("node1", 7);
  own.previous = ProcessIncarnation{3};
  EXPECT_EQ(told<CameBack>(taken_over.on(own, now)).size(), 1U) << "the control";
  EXPECT_TRUE(truth.roster.processes.awaited().empty());
}

TEST_F(GatheringDutyTest, TellsWhoAsksAfterTheEndThatTheRunIsOver) {
  truth.phase = RunPhase::kEnding;
  truth.ending.dismissal.begin(EndRun{0, "done"}, now);
  const auto refused = sent<JoinRefused>(duty.on(join_of("node1", 7), now));
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].reason, JoinRefusal::kRunIsOver);
}

TEST_F(GatheringDutyTest, TakesOutOnceWhoIsGivenUp) {
  const ProcessIncarnation process = join("storage1", ProcessRole::kStorage);
  const auto gone = told<ProcessGone>(duty.on(GivenUp{process, "silent"}, now));
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].role, ProcessRole::kStorage);
  EXPECT_TRUE(duty.on(GivenUp{process, "silent"}, now).all().empty());
}

TEST_F(GatheringDutyTest, EndsAProcessThatWasGivenUpAndAsksAgain) {
  const ProcessIncarnation process = join("node1");
  (void)duty.on(GivenUp{process, "silent"}, now);
  Join again = join_of("node1", 7);
  again.previous = process;
  EXPECT_EQ(sent<EndProcess>(duty.on(again, now)).size(), 1U);
}

TEST_F(GatheringDutyTest, EndsReplicasThatAreInNoView) {
  train();
  Join join = join_of("node1", 7);
  join.serves = {{StageId{0}, ReplicaId{0}, Incarnation{99}, truth.view().branch(), 0}};
  const auto ends = sent<EndStage>(duty.on(Served{join, process(0, 0)}, now));
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].replica, Incarnation{99});
  EXPECT_TRUE(truth.roster.ended.contains(replica(0, 0))) << "it does not name its member";
}

TEST_F(GatheringDutyTest, SendsTheJournalToWhomeverLacksEntries) {
  train();
  EXPECT_EQ(asked<SendJournal>(duty.on(FetchJournal{process(0, 0), JournalPosition{1}}, now)).size(), 1U);
  EXPECT_TRUE(duty.on(FetchJournal{process(0, 0), truth.view().position()}, now).all().empty());
}

TEST_F(GatheringDutyTest, EndsAReplicaThatNobodyWaitsFor) {
  train();
  EXPECT_EQ(sent<EndStage>(duty.on(StrangerReady{{StageId{0}, Incarnation{99}, {}, 0, 5}}, now)).size(), 1U);
  EXPECT_TRUE(duty.on(StrangerReady{{StageId{0}, replica(0, 0), {}, 0, 5}}, now).all().empty());
}

}  // namespace
}  // namespace shoal::gathering_test
