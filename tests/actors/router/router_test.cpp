// What routers do with letters: journal, retries, faults on order, and whom a router believes.
#include "actors/router/router.h"

#include <map>

#include <gmock/gmock.h>

#include "tests/actors/router/router_network.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using testing::forward_of;
using testing::Heard;
using testing::kFirst;
using testing::kRun;
using testing::kSecond;
using testing::kTerm;
using testing::Network;
using testing::recorder;
using testing::tensor_of;

TEST(Router, AJoinIsAnsweredOverItsLinkAndGivesTheProcessItsNumber) {
  Network net;
  net.spawner();
  const auto supervisor = net.attach(1, Role::kSupervisor);
  RouterConfig settings;
  settings.self.name = "node1";
  settings.spawner = Endpoint{"host", 1};
  (void)net.start_router(5, settings);
  const auto agent = net.attach(5, Role::kNodeAgent);
  net.advance(1s);
  Join join;
  join.nonce = 99;
  net.say(5, to_supervisor(), join);
  ASSERT_EQ(supervisor->all<Join>().size(), 1U);
  Welcome welcome;
  welcome.nonce = 99;
  welcome.process = ProcessIncarnation{5};
  welcome.run = kRun;
  welcome.term = kTerm;
  net.say(1, to_node_agent(ProcessIncarnation{5}), welcome);
  EXPECT_EQ(agent->all<Welcome>().size(), 1U);
  net.say(5, to_supervisor(), Heartbeat{ProcessIncarnation{5}, 1});
  EXPECT_EQ(supervisor->all<Heartbeat>().size(), 1U);
  EXPECT_GE(supervisor->all<FetchJournal>().size(), 1U) << "a welcomed process asks for the journal";
}

TEST(Router, AStrangerMaySayNothingButJoin) {
  Network net;
  net.spawner();
  const auto supervisor = net.attach(1, Role::kSupervisor);
  RouterConfig settings;
  settings.spawner = Endpoint{"host", 1};
  (void)net.start_router(5, settings);
  net.advance(1s);
  net.say(5, to_supervisor(), Heartbeat{ProcessIncarnation{2}, 1});
  EXPECT_TRUE(supervisor->all<Heartbeat>().empty());
}

// A node that says it is storage is not heard, and one that says what its certificate says is.
TEST(Router, S7AHelloInAnotherRoleThanTheCertificatesIsRefused) {
  for (const auto role : {PeerRole::kNode, PeerRole::kStorage}) {
    Network net;
    RouterConfig careful;
    careful.self = {ProcessRole::kSpawner, kSpawnerProcess, "spawner", kRun, kTerm};
    careful.certified_role = [role](const caf::node_id&) { return role; };
    (void)net.start_router(1, std::move(careful));
    const auto supervisor = net.attach(1, Role::kSupervisor);
    RouterConfig storage;
    storage.self = {ProcessRole::kStorage, ProcessIncarnation{5}, "storage", kRun, kTerm};
    storage.spawner = Endpoint{"host", 1};
    (void)net.start_router(5, std::move(storage));
    net.advance(1s);
    net.say(5, to_supervisor(), Heartbeat{ProcessIncarnation{5}, 1});
    net.advance(1s);
    EXPECT_EQ(supervisor->all<Heartbeat>().size(), role == PeerRole::kStorage ? 1U : 0U) << role_text(role);
  }
}

TEST(Router, AForwardReachesItsReplicaBitForBitAndTheAnswerComesBack) {
  Network net;
  net.two_stages();
  const auto first = net.attach(2, Role::kStage, StageId{0}, kFirst);
  const auto second = net.attach(3, Role::kStage, StageId{1}, kSecond);
  const Forward forward = forward_of(2);
  net.say(2, to_stage({}, kSecond), forward);
  net.advance(10ms);
  ASSERT_EQ(second->all<Forward>().size(), 1U);
  EXPECT_EQ(second->all<Forward>()[0], forward);
  Backward backward;
  backward.cause = forward.cause;
  backward.sender = kSecond;
  backward.input_gradient = tensor_of(1000);
  net.say(3, to_stage({}, kFirst), backward);
  net.advance(10ms);
  ASSERT_EQ(first->all<Backward>().size(), 1U);
  EXPECT_EQ(first->all<Backward>()[0], backward);
}

TEST(Router, ALostForwardIsAskedForAndSentAgain) {
  Network net;
  int lost = 0;
  net.two_stages([&lost](const Letter& letter) {
    if (!std::holds_alternative<Forward>(letter.body)) return 1;
    return lost++ == 0 ? 0 : 1;
  });
  const auto second = net.attach(3, Role::kStage, StageId{1}, kSecond);
  net.say(2, to_stage({}, kSecond), forward_of(2));
  net.advance(500ms);
  EXPECT_TRUE(second->all<Forward>().empty());
  net.advance(1s);
  ASSERT_EQ(second->all<Ask>().size(), 1U);
  net.say(3, to_stage({}, kFirst),
          AskAnswer{second->all<Ask>()[0].cause, kSecond, Purpose::kTrain, AskState::kUnknown});
  net.advance(100ms);
  EXPECT_EQ(second->all<Forward>().size(), 1U);
}

TEST(Router, AForwardToAReplicaThatIsNotThereMovesToAnother) {
  Network net;
  net.two_stages();
  constexpr Incarnation kThird{13};
  net.journal({1, 2, 3}, {net.entry(AddReplica{StageId{1}, ReplicaId{1}, kThird, ProcessIncarnation{3}, 0})});
  const auto third = net.attach(3, Role::kStage, StageId{1}, kThird);
  net.say(2, to_stage({}, kSecond), forward_of(3));
  net.advance(100ms);
  ASSERT_EQ(third->all<Forward>().size(), 1U);
  EXPECT_THAT(third->all<Forward>()[0].path, ::testing::ElementsAre(kFirst, kThird));
}

TEST(Router, FollowsTheJournalByPositionAndFetchesGaps) {
  Network net;
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
TEST(Router, ThatLacksEntriesNobodyKeepsBeginsWithWhatTheySaid) {
  Network net;
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
  net.advance(10ms);
  const auto late = net.attach(2, Role::kStage, StageId{0}, Incarnation{13});
  for (const auto& stage : {attached, late}) {
    ASSERT_EQ(stage->pasts.size(), 1U);
    EXPECT_EQ(stage->pasts[0].state(), past.state());
    ASSERT_TRUE(!stage->entries.empty() && stage->entries.back().position == JournalPosition{11});
  }
  EXPECT_EQ(attached->entries.size(), 3U) << "two before it was away, and the one after what it missed";
}

TEST(Router, ALetterAheadOfTheJournalWaitsForIt) {
  Network net;
  net.two_stages();
  const auto second = net.attach(3, Role::kStage, StageId{1}, kSecond);
  const auto third = net.entry(AppointGroup{StageId{0}, Incarnation{50}});
  net.journal({1, 2}, {third});
  net.say(2, to_stage({}, kSecond), forward_of(3));
  net.advance(50ms);
  EXPECT_TRUE(second->all<Forward>().empty());
  net.journal({3}, {third});
  EXPECT_EQ(second->all<Forward>().size(), 1U);
}

// In the middle of a roll-back half of the stages may be on the new branch already.
TEST(Router, AForwardTooFarAheadOfTheJournalIsSentAgainWithoutATimeOut) {
  Network net;
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
  net.advance(50ms);
  EXPECT_TRUE(second->all<Forward>().empty());
  net.journal({3}, {third, fourth});
  net.advance(600ms);
  EXPECT_EQ(second->all<Forward>().size(), 1U);
  EXPECT_TRUE(second->all<Ask>().empty()) << "before anybody asks";
}

TEST(Router, ANodeCannotPlayTheSpawner) {
  Network net;
  net.two_stages();
  const auto stage = net.attach(3, Role::kStage, StageId{1}, kSecond);
  const auto forged = net.entry(RemoveReplica{StageId{1}, kSecond, "forged"});
  net.say(2, {ProcessIncarnation{3}, Role::kRouter, {}, {}}, JournalEntries{kRun, Term{9}, {forged}});
  net.advance(50ms);
  EXPECT_EQ(stage->entries.size(), 2U);
}

Inject injection(const Address& target, InjectKind how) { return {1, target, false, how, 0}; }

TEST(Router, AnInjectionEndsItsTargetAndNobodyElse) {
  Network net;
  net.two_stages();
  const auto first = net.attach(2, Role::kStage, StageId{0}, kFirst);
  const auto second = net.attach(3, Role::kStage, StageId{1}, kSecond);
  int ended = 0;
  for (const auto& actor : net.others) actor->attach_functor([&ended] { ++ended; });
  const Address target = to_stage(ProcessIncarnation{3}, kSecond);
  net.say(1, target, injection(target, InjectKind::kExit));
  net.advance(50ms);
  EXPECT_EQ(ended, 1);
  net.say(2, to_stage({}, kSecond), forward_of(2));
  net.advance(50ms);
  EXPECT_TRUE(second->all<Forward>().empty());
}

TEST(Router, AnInjectionThatIsNoEndIsHeardByItsTarget) {
  Network net;
  net.two_stages();
  const auto stage = net.attach(3, Role::kStage, StageId{1}, kSecond);
  const auto agent = net.attach(3, Role::kNodeAgent);
  const Address target = to_stage(ProcessIncarnation{3}, kSecond);
  net.say(1, target, injection(target, InjectKind::kThrow));
  Inject whole = injection(to_node_agent(ProcessIncarnation{3}), InjectKind::kKill);
  whole.whole_process = true;
  net.say(1, whole.target, whole);
  net.advance(50ms);
  EXPECT_EQ(stage->all<Inject>().size(), 1U);
  EXPECT_EQ(agent->all<Inject>(), std::vector<Inject>{whole}) << "the agent lives: it has to kill the process";
}

TEST(Router, ARouterItselfMayBeTheTarget) {
  Network net;
  net.two_stages();
  int ended = 0;
  caf::actor_cast<caf::actor>(net.published.at(3))->attach_functor([&ended] { ++ended; });
  const Address target{ProcessIncarnation{3}, Role::kRouter, {}, {}};
  net.say(1, target, injection(target, InjectKind::kKill));
  net.advance(50ms);
  EXPECT_EQ(ended, 1);
}

TEST(Router, AnInjectionForWhoIsDownIsSufferedByItsNextLife) {
  Network net;
  net.two_stages();
  net.say(1, to_sync_group(StageId{1}), injection(to_sync_group(StageId{1}), InjectKind::kExit));
  const auto other = net.attach(1, Role::kSyncGroup, StageId{0}, Incarnation{20});
  const auto meant = net.attach(1, Role::kSyncGroup, StageId{1}, Incarnation{21});
  int ended = 0;
  net.others.back()->attach_functor([&ended] { ++ended; });
  net.others[net.others.size() - 2]->attach_functor([&ended] { ended += 100; });
  net.advance(50ms);
  EXPECT_EQ(ended, 1);
  const auto third = net.attach(1, Role::kSyncGroup, StageId{1}, Incarnation{22});
  net.others.back()->attach_functor([&ended] { ++ended; });
  net.advance(50ms);
  EXPECT_EQ(ended, 1) << "once";
}

TEST(Router, AnInjectionThatNobodyComesForIsSaidToHaveMissed) {
  Network net;
  net.two_stages();
  const auto metrics = net.attach(1, Role::kMetrics);
  const Address target = to_stage(ProcessIncarnation{3}, kSecond);
  net.say(1, target, injection(target, InjectKind::kKill));
  net.advance(4s);
  EXPECT_TRUE(metrics->all<RunEvent>().empty());
  net.advance(2s);
  ASSERT_EQ(metrics->all<RunEvent>().size(), 1U);
  EXPECT_EQ(metrics->all<RunEvent>()[0].event, "injection_missed");
  const auto stage = net.attach(3, Role::kStage, StageId{1}, kSecond);
  int ended = 0;
  net.others.back()->attach_functor([&ended] { ++ended; });
  net.advance(50ms);
  EXPECT_EQ(ended, 0) << "it is given up";
}

TEST(Router, LettersToWhoIsStillToComeAreKeptForIt) {
  Network net;
  net.spawner();
  const auto taken = std::make_shared<std::atomic<std::uint64_t>>(0);
  net.say(1, to_metrics(), RunEvent{"early", "run", "nobody expects metrics", 0});
  caf::anon_send(net.published.at(1), Attach{Role::kMetrics, {}, {}, {}, {}, taken});
  net.say(1, to_metrics(), RunEvent{"resumed", "run", "first words", 0});
  const auto metrics = std::make_shared<Heard>();
  net.others.push_back(net.system->spawn(recorder, metrics));
  caf::anon_send(net.published.at(1), Attach{Role::kMetrics, {}, {}, net.others.back(), {}, taken});
  net.drain();
  net.say(1, to_metrics(), RunEvent{"training", "run", "more", 0});
  const auto events = metrics->all<RunEvent>();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].event, "resumed");
  EXPECT_EQ(events[1].event, "training");
}

TEST(Router, S7AnInjectionFromANodeIsDropped) {
  Network net;
  net.two_stages();
  const auto stage = net.attach(3, Role::kStage, StageId{1}, kSecond);
  const auto supervisor = net.attach(1, Role::kSupervisor);
  int ended = 0;
  for (const auto& actor : net.others) actor->attach_functor([&ended] { ++ended; });
  const Address target = to_stage(ProcessIncarnation{3}, kSecond);
  for (const auto how : {InjectKind::kExit, InjectKind::kKill, InjectKind::kThrow}) {
    net.say(2, target, injection(target, how));
    net.say(2, to_supervisor(), injection(to_supervisor(), how));
  }
  net.advance(50ms);
  EXPECT_EQ(ended, 0);
  EXPECT_TRUE(stage->all<Inject>().empty());
  EXPECT_TRUE(supervisor->all<Inject>().empty());
  net.say(1, target, injection(target, InjectKind::kKill));  // the control: from the spawner it works
  net.advance(50ms);
  EXPECT_EQ(ended, 1);
}

TEST(Router, TheSpawnerReportsALostProcessAndLettersWaitForItsReturn) {
  Network net;
  net.two_stages();
  const auto supervisor = net.attach(1, Role::kSupervisor);
  caf::anon_send_exit(net.published.at(2), caf::exit_reason::kill);
  net.published.erase(2);
  net.advance(100ms);
  ASSERT_EQ(supervisor->all<ProcessLost>().size(), 1U);
  EXPECT_EQ(supervisor->all<ProcessLost>()[0].process, ProcessIncarnation{2});
  net.say(1, to_node_agent(ProcessIncarnation{2}), SpawnStage{});
  net.node(2);
  const auto agent = net.attach(2, Role::kNodeAgent);
  net.advance(1s);
  EXPECT_EQ(agent->all<SpawnStage>().size(), 1U);
}

TEST(Router, MissingGoesToTheTableOfTheUpstreamReplica) {
  Network net;
  net.two_stages();
  const auto second = net.attach(3, Role::kStage, StageId{1}, kSecond);
  net.say(2, to_stage({}, kSecond), forward_of(2));
  Missing missing;
  missing.order.stage = StageId{1};
  missing.upstream = kFirst;
  missing.microbatches = {MicrobatchId{0}};
  net.say(1, {ProcessIncarnation{2}, Role::kRouter, {}, {}}, missing);
  net.advance(50ms);
  EXPECT_EQ(second->all<Forward>().size(), 2U);
}

// A spawner, node 2 and storage 4, which has been sent a shard.
struct NetworkWithStorage : Network {
  std::shared_ptr<Heard> supervisor;
  SaveShard shard;

  NetworkWithStorage() {
    two_stages();
    RouterConfig settings;
    settings.self = {ProcessRole::kStorage, ProcessIncarnation{4}, "storage", kRun, kTerm};
    settings.spawner = Endpoint{"host", 1};
    (void)start_router(4, std::move(settings));
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
  void save() {
    say(2, {{}, Role::kStorage, {}, {}}, shard);
    advance(10ms);
  }
};

TEST(Router, AShardThatHasComeIsToldToTheSupervisorBeforeItIsWritten) {
  NetworkWithStorage net;
  const auto disk = net.attach(4, Role::kStorage);
  net.save();
  EXPECT_EQ(disk->all<SaveShard>().size(), 1U);
  const auto told = net.supervisor->all<StateProgress>();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0], (StateProgress{{}, 30, StageId{0}, kFirst, {}, true, 400, 800}));
}

TEST(Router, AShardThatComesInPiecesIsToldToTheSupervisor) {
  NetworkWithStorage net;
  const EncodedLetter part =
      encode(Letter{ProcessIncarnation{2}, {ProcessIncarnation{4}, Role::kStorage, {}, {}}, net.shard});
  for (std::uint64_t link = 1; link <= 3; ++link) caf::anon_send(net.published.at(4), LaneProgress{link, part, 100});
  net.advance(10ms);
  const auto told = net.supervisor->all<StateProgress>();
  ASSERT_EQ(told.size(), 1U) << "only over the link of the node that the letter is from (S-7)";
  EXPECT_EQ(told[0], (StateProgress{{}, 30, StageId{0}, kFirst, {}, true, 100, 800}));
}

TEST(Router, AShardThatABrokenLinkMayHaveLostIsToldToTheSupervisor) {
  for (const bool has_sent : {true, false}) {
    NetworkWithStorage net;
    if (has_sent) net.save();
    caf::anon_send_exit(net.published.at(4), caf::exit_reason::kill);
    net.published.erase(4);
    net.advance(100ms);
    const auto told = net.supervisor->all<StateUnavailable>();
    ASSERT_EQ(told.size(), has_sent ? 1U : 0U);
    for (const StateUnavailable& one : told)
      EXPECT_EQ(std::pair(one.replica, one.step), std::pair(kFirst, net.shard.step));
  }
}

TEST(Router, CountsTheBytesOfCopiesAndOfCheckpointsApart) {
  NetworkWithStorage net;
  const auto metrics = net.attach(1, Role::kMetrics);
  net.save();
  const Address joiner = to_stage(ProcessIncarnation{4}, Incarnation{13});  // nobody there: bytes are counted here
  net.say(2, joiner, StateImage{Incarnation{13}, 4, tensor_of(10'000), kFirst});
  net.say(2, joiner, StepSum{Incarnation{13}, kFirst, {}, StepId{4}, 1, tensor_of(10'000)});
  ReplicaReport report;
  report.replica = kFirst;
  net.say(2, to_metrics(), report);
  net.advance(10ms);
  const auto reports = metrics->all<ReplicaReport>();
  ASSERT_EQ(reports.size(), 1U);
  const ByteCounts& sent = reports[0].bytes;
  EXPECT_GT(sent.checkpoint, 400U);
  EXPECT_LT(sent.checkpoint, 2 * 400U);
  EXPECT_GT(sent.state, 80'000U) << "the state, and the sums that it lacks";
  EXPECT_LT(sent.state, 81'000U);
  EXPECT_LT(sent.control, 10'000U);
}

TEST(Router, ASumThatABrokenLinkMayHaveLostIsToldToTheReplicaThatGaveIt) {
  for (const bool has_sent : {true, false}) {
    Network net;
    net.two_stages();
    const auto donor = net.attach(2, Role::kStage, StageId{0}, kFirst);
    if (has_sent) net.say(2, to_stage({}, kSecond), StepSum{kSecond, kFirst, {}, StepId{4}, 1, tensor_of(100)});
    net.advance(10ms);
    caf::anon_send_exit(net.published.at(3), caf::exit_reason::kill);
    net.published.erase(3);
    net.advance(100ms);
    const auto told = donor->all<StateUnavailable>();
    ASSERT_EQ(told.size(), has_sent ? 1U : 0U);
    for (const StateUnavailable& one : told)
      EXPECT_EQ(std::pair(one.replica, one.step), std::pair(kSecond, std::uint64_t{4}));
  }
}

}  // namespace
}  // namespace shoal
