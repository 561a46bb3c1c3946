// The shell of the router: connections, local actors and timers are CAF's, and what the core says happens to them. What
// the core says is tested with it (tests/runtime/router).
#include "actors/router/router.h"

#include <map>

#include <gmock/gmock.h>

#include "tests/actors/router/router_network.h"

namespace shoal::router_test {
namespace {

using namespace std::chrono_literals;
using test_support::forward_of;
using test_support::Heard;
using test_support::kFirst;
using test_support::kRun;
using test_support::kSecond;
using test_support::kTerm;
using test_support::Network;
using test_support::recorder;
using test_support::tensor_of;

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
  join.name = "node1";
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

// A node that says it is storage is not heard, and one that says what its certificate says is.
TEST(Router, S7AHelloInAnotherRoleThanTheCertificatesIsRefused) {
  for (const auto role : {PeerRole::kNode, PeerRole::kStorage}) {
    Network net;
    RouterConfig careful;
    careful.self = {ProcessRole::kSpawner, kSpawnerProcess, "spawner", kRun, kTerm};
    careful.certified = [role](const caf::node_id&) { return PeerIdentity{kRun, role, "storage"}; };
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

TEST(Router, LettersToWhoIsStillToComeAreKeptForIt) {
  Network net;
  net.spawner();
  const auto taken = std::make_shared<std::atomic<std::uint64_t>>(0);
  net.say(1, to_metrics(), RunEvent{RunEventKind::kStarted, "run", "nobody expects metrics", 0});
  caf::anon_send(net.published.at(1), Attach{Role::kMetrics, {}, {}, {}, {}, taken});
  net.say(1, to_metrics(), RunEvent{RunEventKind::kResumed, "run", "first words", 0});
  const auto metrics = std::make_shared<Heard>();
  net.others.push_back(net.system->spawn(recorder, metrics));
  caf::anon_send(net.published.at(1), Attach{Role::kMetrics, {}, {}, net.others.back(), {}, taken});
  net.drain();
  net.say(1, to_metrics(), RunEvent{RunEventKind::kTraining, "run", "more", 0});
  const auto events = metrics->all<RunEvent>();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, RunEventKind::kResumed);
  EXPECT_EQ(events[1].kind, RunEventKind::kTraining);
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

}  // namespace
}  // namespace shoal::router_test
