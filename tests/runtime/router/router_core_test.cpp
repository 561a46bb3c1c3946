// Tests what routers do with letters: joins, retries, faults on order, lost links, and whom a router believes.
#include "runtime/router/router_core.h"

#include <random>

#include <gmock/gmock.h>

#include "runtime/base/compose.h"
#include "tests/runtime/router/core_network.h"

namespace shoal::router_core_test {
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

RouterSettings newcomer() {
  RouterSettings settings;
  settings.self.name = "node1";
  settings.spawner = Endpoint{"host", 1};
  return settings;
}

TEST(RouterCore, AJoinIsAnsweredOverItsLinkAndGivesTheProcessItsNumber) {
  CoreNetwork net;
  net.spawner();
  const auto supervisor = net.attach(1, Role::kSupervisor);
  net.start(5, newcomer());
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
  net.advance(1s);
  EXPECT_GE(supervisor->all<FetchJournal>().size(), 1U) << "a welcomed process asks for the journal";
}

TEST(RouterCore, S7AStrangerMaySayNothingButJoin) {
  CoreNetwork net;
  net.spawner();
  const auto supervisor = net.attach(1, Role::kSupervisor);
  net.start(5, newcomer());
  net.advance(1s);
  net.say(5, to_supervisor(), Heartbeat{ProcessIncarnation{2}, 1});
  EXPECT_TRUE(supervisor->all<Heartbeat>().empty());
  EXPECT_EQ(net.core(1).undelivered().count(Undelivered::Why::kNotAllowed), 1U);
}

// A node that says it is storage is not heard, nor one of another name; one that says what its certificate says is.
TEST(RouterCore, S7AHelloOfAnotherRoleOrNameThanTheCertificatesIsRefused) {
  const PeerIdentity storages{kRun, PeerRole::kStorage, "storage"};
  const PeerIdentity others[] = {{kRun, PeerRole::kNode, "storage"}, {kRun, PeerRole::kStorage, "other"}};
  for (const PeerIdentity& certified : {storages, others[0], others[1]}) {
    CoreNetwork net;
    RouterSettings careful;
    careful.self = {ProcessRole::kSpawner, kSpawnerProcess, "spawner", kRun, kTerm};
    careful.has_certificates = true;
    net.start(1, std::move(careful));
    net.processes.at(1)->certificate = certified;
    const auto supervisor = net.attach(1, Role::kSupervisor);
    RouterSettings storage = newcomer();
    storage.self = {ProcessRole::kStorage, ProcessIncarnation{5}, "storage", kRun, kTerm};
    net.start(5, std::move(storage));
    net.advance(1s);
    net.say(5, to_supervisor(), Heartbeat{ProcessIncarnation{5}, 1});
    net.advance(1s);
    EXPECT_EQ(supervisor->all<Heartbeat>().size(), certified == storages ? 1U : 0U) << peer_name(certified);
  }
}

// Else a node could leave, answer and be sent what is meant in the name of any other.
TEST(RouterCore, S7ANodeDoesNotBecomeAnotherByItsNumber) {
  CoreNetwork net;
  net.two_stages();
  const auto supervisor = net.attach(1, Role::kSupervisor);
  const auto honest = net.attach(2, Role::kNodeAgent);
  const auto first = net.attach(2, Role::kStage, StageId{0}, kFirst);
  RouterSettings evil = newcomer();
  evil.self = {ProcessRole::kNode, ProcessIncarnation{2}, "evil", kRun, kTerm};
  net.start(6, std::move(evil));
  const auto greedy = net.attach(6, Role::kNodeAgent);
  net.advance(1s);
  const Peers node3{kRun, kTerm, 1, {{ProcessIncarnation{3}, ProcessRole::kNode, "node", {"host", 3}}}};
  net.say(6, {ProcessIncarnation{2}, Role::kRouter, {}, {}}, node3);  // it dials node 3, too
  net.advance(1s);
  net.say(6, to_supervisor(), Leaving{ProcessIncarnation{2}, "in another's name"});
  net.say(1, to_node_agent(ProcessIncarnation{2}), HeartbeatEcho{});
  Backward answer;
  answer.sender = kSecond;
  net.say(3, to_stage({}, kFirst), answer);
  net.advance(1s);
  EXPECT_TRUE(supervisor->all<Leaving>().empty());
  EXPECT_TRUE(supervisor->all<ProcessLost>().empty()) << "the link of node 2 stands";
  EXPECT_TRUE(greedy->all<HeartbeatEcho>().empty());
  EXPECT_EQ(honest->all<HeartbeatEcho>().size(), 1U);
  EXPECT_EQ(first->all<Backward>().size(), 1U) << "from node 3, which it tried as well";
  net.say(2, to_supervisor(), Leaving{ProcessIncarnation{2}, "in its own"});
  EXPECT_EQ(supervisor->all<Leaving>().size(), 1U) << "the control";
}

TEST(RouterCore, AFrameThatDoesNotAddUpResetsItsLink) {
  CoreNetwork net;
  net.two_stages();
  const auto supervisor = net.attach(1, Role::kSupervisor);
  net.core(1).receive_frame(LinkId{1}, std::vector<char>(100, 'x'), net.now);
  net.drain();
  EXPECT_EQ(net.core(1).undelivered().count(Undelivered::Why::kBadFrame), 1U);
  EXPECT_EQ(supervisor->all<ProcessLost>().size(), 1U);
  net.advance(2s);
  const auto agent = net.attach(2, Role::kNodeAgent);
  net.say(1, to_node_agent(ProcessIncarnation{2}), HeartbeatEcho{ProcessIncarnation{2}});
  EXPECT_EQ(agent->all<HeartbeatEcho>().size(), 1U) << "it is dialled again";
}

TEST(RouterCore, AForwardReachesItsReplicaBitForBitAndTheAnswerComesBack) {
  CoreNetwork net;
  net.two_stages();
  const auto first = net.attach(2, Role::kStage, StageId{0}, kFirst);
  const auto second = net.attach(3, Role::kStage, StageId{1}, kSecond);
  const Forward forward = forward_of(2);
  net.say(2, to_stage({}, kSecond), forward);
  EXPECT_EQ(second->all<Forward>(), std::vector<Forward>{forward});
  Backward backward;
  backward.cause = forward.cause;
  backward.sender = kSecond;
  backward.input_gradient = tensor_of(1000);
  net.say(3, to_stage({}, kFirst), backward);
  EXPECT_EQ(first->all<Backward>(), std::vector<Backward>{backward});
}

TEST(RouterCore, P13ALostForwardIsAskedForAndSentAgain) {
  CoreNetwork net;
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

TEST(RouterCore, AForwardToAReplicaThatIsNotThereMovesToAnother) {
  CoreNetwork net;
  net.two_stages();
  constexpr Incarnation kThird{13};
  net.journal({1, 2, 3}, {net.entry(AddReplica{StageId{1}, ReplicaId{1}, kThird, ProcessIncarnation{3}, 0})});
  const auto third = net.attach(3, Role::kStage, StageId{1}, kThird);
  net.say(2, to_stage({}, kSecond), forward_of(3));
  net.advance(100ms);
  ASSERT_EQ(third->all<Forward>().size(), 1U);
  EXPECT_THAT(third->all<Forward>()[0].path, ::testing::ElementsAre(kFirst, kThird));
}

Inject injection(const Address& target, InjectKind how) { return {1, target, false, how, 0}; }

TEST(RouterCore, AnInjectionEndsItsTargetAndNobodyElse) {
  CoreNetwork net;
  net.two_stages();
  const auto first = net.attach(2, Role::kStage, StageId{0}, kFirst);
  const auto second = net.attach(3, Role::kStage, StageId{1}, kSecond);
  const Address target = to_stage(ProcessIncarnation{3}, kSecond);
  net.say(1, target, injection(target, InjectKind::kExit));
  EXPECT_EQ(std::pair(first->ends, second->ends), std::pair(0, 1));
  net.core(3).actor_down(local_key(target));
  net.say(2, to_stage({}, kSecond), forward_of(2));
  EXPECT_TRUE(second->all<Forward>().empty());
}

TEST(RouterCore, AnInjectionThatIsNoEndIsHeardByItsTarget) {
  CoreNetwork net;
  net.two_stages();
  const auto stage = net.attach(3, Role::kStage, StageId{1}, kSecond);
  const auto agent = net.attach(3, Role::kNodeAgent);
  const Address target = to_stage(ProcessIncarnation{3}, kSecond);
  net.say(1, target, injection(target, InjectKind::kThrow));
  Inject whole = injection(to_node_agent(ProcessIncarnation{3}), InjectKind::kKill);
  whole.whole_process = true;
  net.say(1, whole.target, whole);
  EXPECT_EQ(stage->all<Inject>().size(), 1U);
  EXPECT_EQ(agent->all<Inject>(), std::vector<Inject>{whole}) << "the agent lives: it has to kill the process";
  EXPECT_EQ(agent->ends, 0);
}

TEST(RouterCore, ARouterItselfMayBeTheTarget) {
  CoreNetwork net;
  net.two_stages();
  const Address target{ProcessIncarnation{3}, Role::kRouter, {}, {}};
  net.say(1, target, injection(target, InjectKind::kKill));
  EXPECT_EQ(net.processes.at(3)->given({}).ends, 1);
}

TEST(RouterCore, AnInjectionForWhoIsDownIsPerformedOnItsNextLife) {
  CoreNetwork net;
  net.two_stages();
  net.say(1, to_sync_group(StageId{1}), injection(to_sync_group(StageId{1}), InjectKind::kExit));
  const auto other = net.attach(1, Role::kSyncGroup, StageId{0}, Incarnation{20});
  const auto meant = net.attach(1, Role::kSyncGroup, StageId{1}, Incarnation{21});
  EXPECT_EQ(std::pair(other->ends, meant->ends), std::pair(0, 1));
  const auto third = net.attach(1, Role::kSyncGroup, StageId{1}, Incarnation{22});
  EXPECT_EQ(third->ends, 0) << "once";
}

TEST(RouterCore, AnInjectionThatNobodyComesForIsSaidToHaveMissed) {
  CoreNetwork net;
  net.two_stages();
  const auto metrics = net.attach(1, Role::kMetrics);
  const Address target = to_stage(ProcessIncarnation{3}, kSecond);
  net.say(1, target, injection(target, InjectKind::kKill));
  net.advance(4s);
  EXPECT_TRUE(metrics->all<RunEvent>().empty());
  net.advance(2s);
  ASSERT_EQ(metrics->all<RunEvent>().size(), 1U);
  EXPECT_EQ(metrics->all<RunEvent>()[0].kind, RunEventKind::kInjectionMissed);
  EXPECT_EQ(net.attach(3, Role::kStage, StageId{1}, kSecond)->ends, 0) << "it is given up";
}

TEST(RouterCore, S7AnInjectionFromANodeIsDropped) {
  CoreNetwork net;
  net.two_stages();
  const auto stage = net.attach(3, Role::kStage, StageId{1}, kSecond);
  const auto supervisor = net.attach(1, Role::kSupervisor);
  const Address target = to_stage(ProcessIncarnation{3}, kSecond);
  for (const auto how : {InjectKind::kExit, InjectKind::kKill, InjectKind::kThrow}) {
    net.say(2, target, injection(target, how));
    net.say(2, to_supervisor(), injection(to_supervisor(), how));
  }
  EXPECT_TRUE(stage->bodies.empty());
  EXPECT_EQ(std::pair(stage->ends, supervisor->ends), std::pair(0, 0));
  net.say(1, target, injection(target, InjectKind::kKill));  // the control: from the spawner it works
  EXPECT_EQ(stage->ends, 1);
}

TEST(RouterCore, S7WhatADonorOfAnotherProcessGivesIsDroppedAndCounted) {  // P-10
  CoreNetwork net;
  net.two_stages();
  constexpr Incarnation kJoiner{13};
  const auto joiner = net.attach(2, Role::kStage, StageId{1}, kJoiner);
  const Address to{ProcessIncarnation{2}, Role::kStage, StageId{1}, kJoiner};
  const Undelivered& undelivered = net.core(2).undelivered();
  net.say(3, to, StateUnavailable{kJoiner, 1, "forged", kFirst});
  net.say(3, to, StateUnavailable{kJoiner, 1, "forged", {}});
  EXPECT_TRUE(joiner->all<StateUnavailable>().empty());
  EXPECT_EQ(undelivered.count(Undelivered::Why::kForged), 1U);
  EXPECT_EQ(undelivered.count(Undelivered::Why::kNotAllowed), 1U) << "only storage speaks for storage";
  net.say(3, to, StateUnavailable{kJoiner, 1, "its own", kSecond});
  EXPECT_EQ(joiner->all<StateUnavailable>().size(), 1U) << "the control";
}

TEST(RouterCore, TheSpawnerReportsALostProcessAndLettersWaitForItsReturn) {
  CoreNetwork net;
  net.two_stages();
  const auto supervisor = net.attach(1, Role::kSupervisor);
  net.kill(2);
  ASSERT_EQ(supervisor->all<ProcessLost>().size(), 1U);
  EXPECT_EQ(supervisor->all<ProcessLost>()[0].process, ProcessIncarnation{2});
  net.say(1, to_node_agent(ProcessIncarnation{2}), SpawnStage{});
  net.node(2);
  const auto agent = net.attach(2, Role::kNodeAgent);
  net.advance(1s);
  EXPECT_EQ(agent->all<SpawnStage>().size(), 1U);
}

TEST(RouterCore, P17MissingGoesToTheTableOfTheUpstreamReplica) {
  CoreNetwork net;
  net.two_stages();
  const auto second = net.attach(3, Role::kStage, StageId{1}, kSecond);
  net.say(2, to_stage({}, kSecond), forward_of(2));
  Missing missing;
  missing.order.stage = StageId{1};
  missing.upstream = kFirst;
  missing.microbatches = {MicrobatchId{0}};
  net.say(1, {ProcessIncarnation{2}, Role::kRouter, {}, {}}, missing);
  EXPECT_EQ(second->all<Forward>().size(), 2U);
}

TEST(RouterCore, WhatIsKeptForAZeroedReplicaIsForgotten) {
  for (const bool is_zeroed : {false, true}) {
    CoreNetwork net;
    net.two_stages();
    const auto second = net.attach(3, Role::kStage, StageId{1}, kSecond);
    net.say(2, to_stage({}, kSecond), forward_of(2));
    if (is_zeroed) net.say(2, {ProcessIncarnation{2}, Role::kRouter, StageId{0}, kFirst}, Zero{});
    net.advance(2s);
    EXPECT_EQ(second->all<Ask>().empty(), is_zeroed);
  }
}

// A supervisor that sends entries and answers who lacks some, and a stage that says truly what it has got.
struct BusyNetwork : CoreNetwork {
  std::shared_ptr<Given> supervisor, second;
  std::vector<JournalEntry> written;
  std::size_t fetched = 0, asked = 0;

  BusyNetwork() {
    two_stages();
    supervisor = attach(1, Role::kSupervisor);
    second = attach(3, Role::kStage, StageId{1}, kSecond);
    written = second->entries;
  }
  void send(std::uint32_t microbatch) {
    Forward forward = forward_of(2);
    forward.cause.microbatch = MicrobatchId{microbatch};
    forward.input = tensor_of(4);
    say(2, to_stage({}, kSecond), forward);
  }
  void write(Port to) {
    written.push_back(entry(AppointGroup{StageId{0}, Incarnation{50 + position}}));
    say(1, {ProcessIncarnation{to}, Role::kRouter, {}, {}}, JournalEntries{kRun, kTerm, {written.back()}});
  }
  [[nodiscard]] bool has(MicrobatchId microbatch) const {
    const auto forwards = second->all<Forward>();
    return std::ranges::any_of(forwards,
                               [microbatch](const Forward& one) { return one.cause.microbatch == microbatch; });
  }
  void answer() {
    const auto fetches = supervisor->all<FetchJournal>();
    for (; fetched < fetches.size(); ++fetched) {
      const auto after = static_cast<std::ptrdiff_t>(fetches[fetched].after.value);
      const std::vector<JournalEntry> missed(written.begin() + after, written.end());
      const Address router{fetches[fetched].process, Role::kRouter, {}, {}};
      say(1, router, JournalEntries{kRun, kTerm, missed});
    }
    const auto asks = second->all<Ask>();
    for (; asked < asks.size(); ++asked) {
      const AskState state = has(asks[asked].cause.microbatch) ? AskState::kWorking : AskState::kUnknown;
      say(3, to_stage({}, kFirst), AskAnswer{asks[asked].cause, kSecond, Purpose::kTrain, state});
    }
  }
  void pass(Duration time) {
    advance(time);
    answer();
  }
};

TEST(RouterCore, WhateverLinksBreakForwardsComeAndTheJournalInItsOrder) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(compose("seed ", seed));
  std::mt19937_64 random(seed);
  BusyNetwork net;
  std::uint32_t sent = 0;
  for (int move = 0; move < 300; ++move) {
    const auto choice = random() % 10;
    if (choice < 3) net.send(sent++);
    if (choice == 3) net.write(random() % 2 == 0 ? 2 : 3);
    if (choice == 4) net.cut(2, 3);
    if (choice == 5) net.cut(1, random() % 2 == 0 ? 2 : 3);
    if (choice > 5) net.pass(std::chrono::milliseconds(random() % 300));
  }
  for (int second = 0; second < 30; ++second) net.pass(1s);
  for (std::uint32_t microbatch = 0; microbatch < sent; ++microbatch) {
    EXPECT_TRUE(net.has(MicrobatchId{microbatch})) << microbatch;
  }
  ASSERT_EQ(net.second->entries.size(), net.written.size());
  for (std::size_t i = 0; i < net.written.size(); ++i) EXPECT_EQ(net.second->entries[i].position.value, i + 1);
}

}  // namespace
}  // namespace shoal::router_core_test
