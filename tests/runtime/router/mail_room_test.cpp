// Tests what a router reads of the letters that pass through it: the journal, shards and sums on their way, bytes and
// retries.
#include "runtime/router/mail_room.h"

#include <gmock/gmock.h>

#include "messages/codec.h"
#include "tests/runtime/router/core_network.h"

namespace shoal::mail_room_test {
namespace {

using namespace std::chrono_literals;
using test_support::CoreNetwork;
using test_support::forward_of;
using test_support::Given;
using test_support::kFirst;
using test_support::kRun;
using test_support::kSecond;
using test_support::kTerm;
using test_support::Port;
using test_support::tensor_of;

TEST(MailRoom, P3FollowsTheJournalByPositionAndFetchesGaps) {
  CoreNetwork net;
  net.two_stages();
  const auto supervisor = net.attach(1, Role::kSupervisor);
  const auto stage = net.attach(2, Role::kStage, StageId{0}, kFirst);
  ASSERT_EQ(stage->entries.size(), 2U) << "what it lacked when it was attached";
  const auto third = net.entry(AppointGroup{StageId{0}, Incarnation{50}});
  const auto fourth = net.entry(AppointGroup{StageId{1}, Incarnation{51}});
  net.journal({2}, {fourth});
  EXPECT_EQ(stage->entries.size(), 2U);
  net.advance(300ms);
  const auto asked = supervisor->all<FetchJournal>();
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked.back(), (FetchJournal{ProcessIncarnation{2}, JournalPosition{2}}));
  net.journal({2}, {third, fourth});
  net.journal({2}, {third, fourth});
  ASSERT_EQ(stage->entries.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(stage->entries[i].position.value, i + 1);
}

// It was away for longer than the spawner keeps entries.
TEST(MailRoom, P3aARouterThatLacksEntriesNobodyKeepsBeginsWithWhatTheySaid) {
  CoreNetwork net;
  net.two_stages();
  const auto attached = net.attach(2, Role::kStage, StageId{0}, kFirst);
  View past;
  past.apply({JournalPosition{1}, {}, kTerm, AddReplica{StageId{1}, {}, kSecond, ProcessIncarnation{3}, 0}});
  while (past.position().value < 10) {
    past.apply({JournalPosition{past.position().value + 1}, {}, kTerm, AppointGroup{StageId{0}, Incarnation{50}}});
  }
  net.position = past.position().value;
  const JournalEntries news{kRun, kTerm, {net.entry(AppointGroup{StageId{1}, Incarnation{51}})}, past.state()};
  for (int twice = 0; twice < 2; ++twice) net.say(1, {ProcessIncarnation{2}, Role::kRouter, {}, {}}, news);
  const auto late = net.attach(2, Role::kStage, StageId{0}, Incarnation{13});
  for (const auto& stage : {attached, late}) {
    ASSERT_EQ(stage->pasts.size(), 1U);
    EXPECT_EQ(stage->pasts[0].state(), past.state());
    ASSERT_TRUE(!stage->entries.empty() && stage->entries.back().position == JournalPosition{11});
  }
  EXPECT_EQ(attached->entries.size(), 3U) << "two before it was away, and the one after what it missed";
}

TEST(MailRoom, ALetterAheadOfTheJournalWaitsForIt) {
  CoreNetwork net;
  net.two_stages();
  const auto second = net.attach(3, Role::kStage, StageId{1}, kSecond);
  const auto third = net.entry(AppointGroup{StageId{0}, Incarnation{50}});
  net.journal({1, 2}, {third});
  net.say(2, to_stage({}, kSecond), forward_of(3));
  EXPECT_TRUE(second->all<Forward>().empty());
  net.journal({3}, {third});
  EXPECT_EQ(second->all<Forward>().size(), 1U);
}

// In the middle of a roll-back half of the stages may be on the new branch already.
TEST(MailRoom, AForwardTooFarAheadOfTheJournalIsSentAgainWithoutATimeOut) {
  CoreNetwork net;
  net.held_bytes_max = 1000;
  net.two_stages();
  const auto second = net.attach(3, Role::kStage, StageId{1}, kSecond);
  const auto third = net.entry(RemoveReplica{StageId{0}, kFirst, "rolls back"});
  const auto fourth = net.entry(AddReplica{StageId{0}, {}, Incarnation{14}, ProcessIncarnation{2}, 0});
  net.journal({1, 2}, {third, fourth});
  Forward forward = forward_of(4);
  forward.sender = Incarnation{14};
  forward.path.front() = forward.sender;
  net.say(2, to_stage({}, kSecond), forward);
  EXPECT_TRUE(second->all<Forward>().empty());
  net.journal({3}, {third, fourth});
  net.advance(600ms);
  EXPECT_EQ(second->all<Forward>().size(), 1U);
  EXPECT_TRUE(second->all<Ask>().empty()) << "before anybody asks";
}

constexpr std::uint64_t kNoPosition = ~std::uint64_t{0};

// Node 4 tells node 3 of a position that no journal reaches, as often as it can.
struct NetworkWithALiar : CoreNetwork {
  std::shared_ptr<Given> second;

  NetworkWithALiar() {
    held_bytes_max = 64 * 1024;
    two_stages();
    node(4);
    advance(1s);
    tell(2, {2, 3, 4});
    second = attach(3, Role::kStage, StageId{1}, kSecond);
    for (int i = 0; i < 100; ++i) say(4, to_stage(ProcessIncarnation{3}, kSecond), answer_at(kNoPosition));
  }
  void tell(std::uint64_t serial, const std::vector<Port>& ports) {
    Peers peers{kRun, kTerm, serial, {}};
    for (const Port port : ports) {
      peers.peers.push_back({ProcessIncarnation{port}, ProcessRole::kNode, "node", {"host", port}});
    }
    for (const Port port : ports) say(1, {ProcessIncarnation{port}, Role::kRouter, {}, {}}, peers);
    advance(5s);
  }
  // An answer that speaks for a replica which nobody knows.
  static Backward answer_at(std::uint64_t at) {
    Backward answer;
    answer.cause.position = JournalPosition{at};
    answer.sender = Incarnation{77};
    return answer;
  }
};

TEST(MailRoom, S6PositionsThatNoJournalReachesKeepNoHonestLetterOut) {
  NetworkWithALiar net;
  const JournalEntry third = net.entry(AppointGroup{StageId{0}, Incarnation{50}});
  net.journal({1, 2}, {third});
  Forward forward = forward_of(3);
  forward.input = tensor_of(4);
  net.say(2, to_stage({}, kSecond), forward);
  EXPECT_EQ(net.core(3).undelivered().count(Undelivered::Why::kTooFarAhead), 38U) << "36 found no room, two gave way";
  net.journal({3}, {third});
  EXPECT_EQ(net.second->all<Forward>(), std::vector<Forward>{forward});
  EXPECT_TRUE(net.second->all<Backward>().empty());
}

TEST(MailRoom, S6WhatIsAheadOfTheJournalGoesWithTheProcessThatSentIt) {
  NetworkWithALiar net;
  const Undelivered& undelivered = net.core(3).undelivered();
  ASSERT_EQ(undelivered.count(Undelivered::Why::kNobody), 0U);
  net.tell(3, {2, 3});
  EXPECT_EQ(undelivered.count(Undelivered::Why::kNobody), 64U);
}

// Otherwise each entry, which is each step, would cost the spawner a question.
TEST(MailRoom, APositionThatNoJournalReachesIsSeldomAskedFor) {
  NetworkWithALiar net;
  const auto supervisor = net.attach(1, Role::kSupervisor);
  for (int i = 0; i < 100; ++i) {
    net.journal({1, 2, 3}, {net.entry(AppointGroup{StageId{0}, Incarnation{50}})});
    net.advance(90ms);
  }
  EXPECT_LE(supervisor->all<FetchJournal>().size(), 20U) << "in ten seconds";
}

TEST(MailRoom, S7ANodeCannotPlayTheSpawner) {
  CoreNetwork net;
  net.two_stages();
  const auto stage = net.attach(3, Role::kStage, StageId{1}, kSecond);
  const auto forged = net.entry(RemoveReplica{StageId{1}, kSecond, "forged"});
  net.say(2, {ProcessIncarnation{3}, Role::kRouter, {}, {}}, JournalEntries{kRun, Term{9}, {forged}});
  EXPECT_EQ(stage->entries.size(), 2U);
}

TEST(MailRoom, P3bWhoFollowedAnotherJournalIsToldToEnd) {
  CoreNetwork net;
  net.two_stages();
  const auto agent = net.attach(2, Role::kNodeAgent);
  RouterSettings later;
  later.self = {ProcessRole::kSpawner, kSpawnerProcess, "spawner", kRun, Term{3}};
  net.kill(1);
  net.start(1, std::move(later));
  net.advance(2s);
  const JournalEntry other{JournalPosition{1}, {}, Term{3}, AppointGroup{StageId{0}, Incarnation{50}}};
  net.say(1, {ProcessIncarnation{2}, Role::kRouter, {}, {}}, JournalEntries{kRun, Term{3}, {other}});
  EXPECT_FALSE(agent->all<EndProcess>().empty());
}

TEST(MailRoom, LettersToWhoIsStillToComeAreKeptForIt) {
  CoreNetwork net;
  net.spawner();
  const auto taken = std::make_shared<std::atomic<std::uint64_t>>(0);
  net.say(1, to_metrics(), RunEvent{RunEventKind::kStarted, "run", "nobody expects metrics", 0});
  net.core(1).attach({to_metrics(), false, {}, taken});
  net.say(1, to_metrics(), RunEvent{RunEventKind::kResumed, "run", "first words", 0});
  const auto metrics = net.processes.at(1)->attach({to_metrics(), true, {}, taken});
  net.say(1, to_metrics(), RunEvent{RunEventKind::kTraining, "run", "more", 0});
  const auto events = metrics->all<RunEvent>();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, RunEventKind::kResumed);
  EXPECT_EQ(events[1].kind, RunEventKind::kTraining);
}

// A spawner, nodes 2 and 3 and storage 4.
struct NetworkWithStorage : CoreNetwork {
  std::shared_ptr<Given> supervisor;
  SaveShard shard;

  NetworkWithStorage() {
    two_stages();
    RouterSettings settings;
    settings.self = {ProcessRole::kStorage, ProcessIncarnation{4}, "storage", kRun, kTerm};
    settings.spawner = Endpoint{"host", 1};
    start(4, std::move(settings));
    advance(1s);
    Peers peers{kRun, kTerm, 2, {}};
    peers.peers.push_back({ProcessIncarnation{2}, ProcessRole::kNode, "node", {"host", 2}});
    peers.peers.push_back({ProcessIncarnation{4}, ProcessRole::kStorage, "storage", {"host", 4}});
    for (const std::uint64_t port : {2U, 4U}) say(1, {ProcessIncarnation{port}, Role::kRouter, {}, {}}, peers);
    advance(1s);
    supervisor = attach(1, Role::kSupervisor);
    shard.run = kRun;
    shard.step = 30;
    shard.stages = 2;
    shard.replica = kFirst;
    shard.image = tensor_of(100);
  }
  void save() { say(2, {{}, Role::kStorage, {}, {}}, shard); }
};

TEST(MailRoom, AShardThatHasComeIsToldToTheSupervisorBeforeItIsWritten) {
  NetworkWithStorage net;
  const auto disk = net.attach(4, Role::kStorage);
  net.save();
  ASSERT_EQ(disk->all<SaveShard>().size(), 1U);
  EXPECT_EQ(disk->all<SaveShard>()[0].process, ProcessIncarnation{2}) << "by the link that it came over";
  const auto told = net.supervisor->all<StateProgress>();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0], (StateProgress{{}, 30, StageId{0}, kFirst, {}, true, 400, 800}));
}

TEST(MailRoom, AShardThatComesInPiecesIsToldToTheSupervisor) {
  NetworkWithStorage net;
  const EncodedLetter part =
      encode(Letter{ProcessIncarnation{2}, {ProcessIncarnation{4}, Role::kStorage, {}, {}}, net.shard});
  for (std::uint64_t link = 1; link <= 3; ++link) net.core(4).progress_on_lane(LinkId{link}, {part, 100, {}}, net.now);
  net.drain();
  const auto told = net.supervisor->all<StateProgress>();
  ASSERT_EQ(told.size(), 1U) << "only over the link of the node that the letter is from (S-7)";
  EXPECT_EQ(told[0], (StateProgress{{}, 30, StageId{0}, kFirst, {}, true, 100, 800}));
}

TEST(MailRoom, AnImageSaysForHowLongItWasOnItsWay) {
  CoreNetwork net;
  net.two_stages();
  const auto taker = net.attach(3, Role::kStage, StageId{1}, kSecond);
  StateImage image;
  image.replica = kSecond;
  image.donor = kFirst;
  image.image = tensor_of(100);
  const EncodedLetter letter =
      encode(Letter{ProcessIncarnation{2}, {ProcessIncarnation{3}, Role::kStage, StageId{1}, kSecond}, image});
  for (std::uint64_t link = 1; link <= 3; ++link) net.core(3).receive_from_lane(LinkId{link}, letter, 70ms, net.now);
  net.drain();
  ASSERT_EQ(taker->all<StateImage>().size(), 1U) << "over the link of its sender";
  EXPECT_EQ(taker->all<StateImage>()[0].on_its_way_ms, 70);
}

TEST(MailRoom, AShardThatABrokenLinkMayHaveLostIsToldToTheSupervisor) {
  for (const bool has_sent : {true, false}) {
    NetworkWithStorage net;
    if (has_sent) net.save();
    net.kill(4);
    net.advance(100ms);
    const auto told = net.supervisor->all<StateUnavailable>();
    ASSERT_EQ(told.size(), has_sent ? 1U : 0U);
    for (const StateUnavailable& one : told)
      EXPECT_EQ(std::pair(one.replica, one.step), std::pair(kFirst, net.shard.step));
  }
}

TEST(MailRoom, CountsTheBytesOfCopiesAndOfCheckpointsApart) {
  NetworkWithStorage net;
  const auto metrics = net.attach(1, Role::kMetrics);
  net.save();
  const Address joiner = to_stage(ProcessIncarnation{4}, Incarnation{13});  // nobody there: bytes are counted here
  net.say(2, joiner, StateImage{Incarnation{13}, 4, tensor_of(10'000), kFirst});
  net.say(2, joiner, StepSum{Incarnation{13}, kFirst, {}, StepId{4}, 1, tensor_of(10'000)});
  ReplicaReport report;
  report.replica = kFirst;
  net.say(2, to_metrics(), report);
  const auto reports = metrics->all<ReplicaReport>();
  ASSERT_EQ(reports.size(), 1U);
  const ByteCounts& sent = reports[0].bytes;
  EXPECT_GT(sent.checkpoint, 400U);
  EXPECT_LT(sent.checkpoint, 2 * 400U);
  EXPECT_GT(sent.state, 80'000U) << "the state, and the sums that it lacks";
  EXPECT_LT(sent.state, 81'000U);
  EXPECT_LT(sent.control, 10'000U);
}

TEST(MailRoom, ASumThatABrokenLinkMayHaveLostIsToldToTheReplicaThatGaveIt) {
  for (const bool has_sent : {true, false}) {
    CoreNetwork net;
    net.two_stages();
    const auto donor = net.attach(2, Role::kStage, StageId{0}, kFirst);
    if (has_sent) net.say(2, to_stage({}, kSecond), StepSum{kSecond, kFirst, {}, StepId{4}, 1, tensor_of(100)});
    net.kill(3);
    const auto told = donor->all<StateUnavailable>();
    ASSERT_EQ(told.size(), has_sent ? 1U : 0U);
    for (const StateUnavailable& one : told)
      EXPECT_EQ(std::pair(one.replica, one.step), std::pair(kSecond, std::uint64_t{4}));
  }
}

// A node that comes back says how far the journal has brought what it serves.
TEST(MailRoom, AJoinTellsTheStepsThatItsReplicasHaveFollowed) {
  CoreNetwork net;
  net.two_stages();
  const auto supervisor = net.attach(1, Role::kSupervisor);
  Join join;
  join.name = "node";
  join.serves = {{StageId{0}, {}, kFirst, {}, 99}, {StageId{0}, {}, Incarnation{77}, {}, 99}};
  net.say(2, to_supervisor(), join);
  const auto joins = supervisor->all<Join>();
  ASSERT_EQ(joins.size(), 1U);
  EXPECT_EQ(joins[0].serves[0].version, 0U);
  EXPECT_EQ(joins[0].serves[1].version, 99U) << "of a replica in no view it knows no better";
}

}  // namespace
}  // namespace shoal::mail_room_test
