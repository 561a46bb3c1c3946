// Tests who dials whom, when a link is good, who may say what.
#include "runtime/transport/links.h"

#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::links_test {
namespace {

using namespace std::chrono_literals;

constexpr RunId kRun{77};

LinkSelf node(std::uint64_t process) {
  return {ProcessRole::kNode, ProcessIncarnation{process}, "node", kRun, Term{3}};
}

template <class Effect>
std::vector<Effect> of_type(const std::vector<LinkEffect>& effects) {
  std::vector<Effect> found;
  for (const auto& effect : effects) {
    if (const auto* one = std::get_if<Effect>(&effect)) found.push_back(*one);
  }
  return found;
}

Peers peers_of(std::vector<std::uint64_t> processes, std::uint64_t serial = 1) {
  Peers peers{kRun, Term{3}, serial, {}};
  for (const auto process : processes) {
    peers.peers.push_back({ProcessIncarnation{process}, ProcessRole::kNode, "node", {"host", 1}});
  }
  return peers;
}

Hello hello_of(std::uint64_t process, bool is_answer = true) {
  return {kProtocolVersion, kRun, Term{3}, ProcessIncarnation{process}, ProcessRole::kNode, "node", is_answer};
}

struct Links {
  LinkTable table;
  Instant now = Instant{} + 1h;
  explicit Links(LinkSelf self) : table(std::move(self), {}, 1) {}
  std::vector<LinkEffect> after(Duration wait) { return table.tick(now += wait); }
};

TEST(Links, OfEveryPairExactlyOneSideDials) {
  struct Process {
    ProcessRole role;
    std::uint64_t number;
  };
  const std::vector<Process> all{{ProcessRole::kSpawner, 0}, {ProcessRole::kStorage, 1}, {ProcessRole::kNode, 2},
                                 {ProcessRole::kNode, 3},    {ProcessRole::kNode, 9},    {ProcessRole::kStorage, 12}};
  for (const Process& a : all) {
    for (const Process& b : all) {
      const bool both_storage = a.role == ProcessRole::kStorage && b.role == ProcessRole::kStorage;
      if (a.number == b.number || both_storage) continue;
      const ProcessIncarnation one{a.number};
      const ProcessIncarnation other{b.number};
      EXPECT_NE(dials(a.role, one, b.role, other), dials(b.role, other, a.role, one)) << one << ' ' << other;
    }
  }
  EXPECT_TRUE(dials(ProcessRole::kNode, std::nullopt, ProcessRole::kSpawner, kSpawnerProcess));
  EXPECT_FALSE(dials(ProcessRole::kNode, std::nullopt, ProcessRole::kNode, ProcessIncarnation{5}));
}

TEST(Links, ALinkIsGoodOnlyAfterTheAnsweringHello) {
  Links links(node(2));
  EXPECT_TRUE(links.table.is_settled());
  (void)links.table.peers(peers_of({5}));
  EXPECT_FALSE(links.table.is_settled());
  ASSERT_EQ(of_type<DialPeer>(links.after(1s)).size(), 1U);
  const auto greeted = links.table.dialled(ProcessIncarnation{5}, LinkId{1}, links.now);
  EXPECT_EQ(of_type<SendHello>(greeted).size(), 1U);
  EXPECT_FALSE(links.table.link_to(ProcessIncarnation{5}));
  const auto up = links.table.hello(LinkId{1}, hello_of(5), links.now);
  EXPECT_EQ(of_type<LinkUp>(up).size(), 1U);
  EXPECT_TRUE(of_type<SendHello>(up).empty()) << "an answer is not answered";
  EXPECT_EQ(links.table.link_to(ProcessIncarnation{5}), LinkId{1});
  EXPECT_TRUE(links.table.is_settled());
  (void)links.table.lost(LinkId{1}, "cut", links.now);
  EXPECT_FALSE(links.table.is_settled());
}

TEST(Links, WhoWasLinkedBeforeItWasExpectedIsNotWaitedFor) {
  Links links(node(2));
  ASSERT_TRUE(links.table.stranger(LinkId{1}, links.now));
  (void)links.table.hello(LinkId{1}, hello_of(5), links.now);
  ASSERT_EQ(links.table.link_to(ProcessIncarnation{5}), LinkId{1});
  (void)links.table.peers(peers_of({5}));
  EXPECT_TRUE(links.table.is_settled());
}

TEST(Links, FailedDialsBackOffUpToHalfASecond) {
  Links links(node(2));
  (void)links.table.peers(peers_of({5}));
  int dials_made = 0;
  for (int i = 0; i < 1000; ++i) {
    for (const auto& dial : of_type<DialPeer>(links.after(10ms))) {
      ++dials_made;
      (void)links.table.dialled(dial.process, std::nullopt, links.now);
    }
  }
  EXPECT_GE(dials_made, 20) << "for ever, at least twice a second";
  EXPECT_LE(dials_made, 60);
}

TEST(Links, AnUnansweredHelloIsGivenUpAndDialledAgain) {
  Links links(node(2));
  (void)links.table.peers(peers_of({5}));
  (void)links.after(1s);
  (void)links.table.dialled(ProcessIncarnation{5}, LinkId{1}, links.now);
  EXPECT_EQ(of_type<CloseLink>(links.after(3s)).size(), 1U);
  EXPECT_EQ(of_type<DialPeer>(links.after(1s)).size(), 1U);
}

TEST(Links, ARestartedSpawnerOfAnOlderTermIsRefused) {
  for (const std::uint64_t term : {2, 3, 4}) {
    Links links(node(2));
    links.table.set_spawner({"host", 1});
    (void)links.after(1s);
    (void)links.table.dialled(kSpawnerProcess, LinkId{1}, links.now);
    Hello hello = hello_of(0);
    hello.role = ProcessRole::kSpawner;
    hello.term = Term{term};
    const auto effects = links.table.hello(LinkId{1}, hello, links.now);
    EXPECT_EQ(of_type<LinkUp>(effects).size(), term >= 3 ? 1U : 0U);
    EXPECT_EQ(of_type<CloseLink>(effects).size(), term >= 3 ? 0U : 1U);
  }
}

TEST(Links, OtherVersionsRunsAndImpostorsAreRefused) {
  const auto refuses = [](auto change) {
    Links links(node(2));
    EXPECT_TRUE(links.table.stranger(LinkId{1}, links.now));
    Hello hello = hello_of(1, false);
    change(hello);
    return of_type<CloseLink>(links.table.hello(LinkId{1}, hello, links.now)).size() == 1;
  };
  EXPECT_FALSE(refuses([](Hello&) {}));
  EXPECT_TRUE(refuses([](Hello& hello) { ++hello.protocol_version; }));
  EXPECT_TRUE(refuses([](Hello& hello) { hello.run = RunId{5}; }));
  EXPECT_TRUE(refuses([](Hello& hello) { hello.role = ProcessRole::kSpawner; })) << "the spawner dials nobody";
}

TEST(Links, TheNewestLinkToAProcessReplacesTheOlder) {
  Links links(node(9));
  for (const std::uint64_t link : {1, 2}) {
    EXPECT_TRUE(links.table.stranger(LinkId{link}, links.now));
    const auto effects = links.table.hello(LinkId{link}, hello_of(5, false), links.now);
    EXPECT_EQ(of_type<CloseLink>(effects).size(), link - 1);
  }
  EXPECT_EQ(links.table.link_to(ProcessIncarnation{5}), LinkId{2});
  (void)links.table.lost(LinkId{1}, "late", links.now);
  EXPECT_EQ(links.table.link_to(ProcessIncarnation{5}), LinkId{2});
}

TEST(Links, OnlyTheSpawnerReportsALostPeer) {
  for (const bool is_spawner : {true, false}) {
    Links links(is_spawner ? LinkSelf{ProcessRole::kSpawner, kSpawnerProcess, "spawner", kRun, Term{3}} : node(9));
    EXPECT_TRUE(links.table.stranger(LinkId{1}, links.now));
    (void)links.table.hello(LinkId{1}, hello_of(5, false), links.now);
    EXPECT_EQ(of_type<ReportLost>(links.table.lost(LinkId{1}, "reset", links.now)).size(), is_spawner ? 1U : 0U);
  }
}

TEST(Links, AFarewellIsNeverAnswered) {  // two live processes once refused each other for ever
  Links links(node(9));
  EXPECT_TRUE(links.table.stranger(LinkId{1}, links.now));
  const auto farewell = of_type<CloseLink>(links.table.hello(LinkId{1}, Hello{}, links.now));
  ASSERT_EQ(farewell.size(), 1U);
  EXPECT_TRUE(farewell.front().was_farewell);
  EXPECT_TRUE(links.table.stranger(LinkId{2}, links.now));
  Hello other_version = hello_of(5, false);
  other_version.protocol_version = kProtocolVersion + 1;
  const auto objected = of_type<CloseLink>(links.table.hello(LinkId{2}, other_version, links.now));
  ASSERT_EQ(objected.size(), 1U);
  EXPECT_FALSE(objected.front().was_farewell);
}

TEST(Links, APeerThatHasNoNumberYetIsWaitedFor) {
  Links links(node(2));
  (void)links.table.peers(peers_of({2, 5}));
  ASSERT_EQ(of_type<DialPeer>(links.after(0ms)).size(), 1U);
  (void)links.table.dialled(ProcessIncarnation{5}, LinkId{1}, links.now);
  EXPECT_TRUE(of_type<CloseLink>(links.table.hello(LinkId{1}, hello_of(0), links.now)).empty());
  EXPECT_FALSE(links.table.link_to(ProcessIncarnation{5}));
  (void)links.table.hello(LinkId{1}, hello_of(5), links.now);
  EXPECT_EQ(links.table.link_to(ProcessIncarnation{5}), LinkId{1});
}

Hello hello_as(std::uint64_t process, const std::string& name, ProcessRole role = ProcessRole::kNode) {
  Hello hello = hello_of(process, false);
  hello.name = name;
  hello.role = role;
  return hello;
}

// The number in a Hello is its sender's word; whose it is, the spawner says in Peers.
TEST(Links, S7NobodyTakesTheNumberOfAnotherProcess) {
  for (const Hello& claim : {hello_as(5, "evil"), hello_as(5, "node", ProcessRole::kStorage), hello_as(9, "evil")}) {
    Links links(node(9));
    (void)links.table.peers(peers_of({5}));
    ASSERT_TRUE(links.table.stranger(LinkId{1}, links.now) && links.table.stranger(LinkId{2}, links.now));
    (void)links.table.hello(LinkId{1}, hello_of(5, false), links.now);
    EXPECT_EQ(of_type<CloseLink>(links.table.hello(LinkId{2}, claim, links.now)).size(), 1U);
    EXPECT_EQ(links.table.link_to(ProcessIncarnation{5}), LinkId{1});
    EXPECT_FALSE(links.table.link_to(ProcessIncarnation{9}));
  }
}

// Peers may come behind the Hello of a process that has just joined.
TEST(Links, S7WhoHasTheNumberOfAnotherLosesItsLinkWhenPeersSayWhoseItIs) {
  for (const char* name : {"evil", "node"}) {
    Links links(node(9));
    ASSERT_TRUE(links.table.stranger(LinkId{1}, links.now));
    (void)links.table.hello(LinkId{1}, hello_as(5, name), links.now);
    ASSERT_TRUE(links.table.link_to(ProcessIncarnation{5}));
    const bool is_honest = std::string(name) == "node";
    EXPECT_EQ(of_type<CloseLink>(links.table.peers(peers_of({5}))).size(), is_honest ? 0U : 1U) << name;
    EXPECT_EQ(links.table.link_to(ProcessIncarnation{5}).has_value(), is_honest) << name;
  }
  Links newcomer({ProcessRole::kNode, std::nullopt, "node", kRun, Term{3}});
  ASSERT_TRUE(newcomer.table.stranger(LinkId{1}, newcomer.now));
  (void)newcomer.table.hello(LinkId{1}, hello_as(5, "evil"), newcomer.now);
  const auto named = newcomer.table.identify(ProcessIncarnation{5}, kRun, Term{3}, newcomer.now);
  EXPECT_EQ(of_type<CloseLink>(named).size(), 1U) << "the number of this process itself";
}

// It may be honest, and another have got its number: it joins like one that has none.
TEST(Links, S7TheSpawnerGivesANumberToWhoClaimsThatOfAnother) {
  Links links({ProcessRole::kSpawner, kSpawnerProcess, "spawner", kRun, Term{3}});
  (void)links.table.peers(peers_of({5}));
  ASSERT_TRUE(links.table.stranger(LinkId{1}, links.now) && links.table.stranger(LinkId{2}, links.now));
  (void)links.table.hello(LinkId{1}, hello_of(5, false), links.now);
  EXPECT_TRUE(of_type<CloseLink>(links.table.hello(LinkId{2}, hello_as(5, "evil"), links.now)).empty());
  EXPECT_EQ(links.table.link_to(ProcessIncarnation{5}), LinkId{1});
  ASSERT_TRUE(links.table.identity(LinkId{2}));
  EXPECT_FALSE(links.table.identity(LinkId{2})->process);
  (void)links.table.bind(LinkId{2}, ProcessIncarnation{6});
  EXPECT_EQ(links.table.link_to(ProcessIncarnation{5}), LinkId{1});
  EXPECT_EQ(links.table.link_to(ProcessIncarnation{6}), LinkId{2});
}

LinkSelf storage(std::optional<ProcessIncarnation> process = ProcessIncarnation{9}) {
  return {ProcessRole::kStorage, process, "storage", kRun, Term{3}};
}

// Storage keeps what others send: until it has heard who has a number, whoever says it may be anybody.
TEST(Links, S7StorageAnswersANumberOnceItIsNamed) {
  for (const char* name : {"evil", "node"}) {
    Links links(storage(std::nullopt));
    ASSERT_TRUE(links.table.stranger(LinkId{1}, links.now));
    EXPECT_TRUE(links.table.hello(LinkId{1}, hello_as(5, name), links.now).empty());
    EXPECT_FALSE(links.table.link_to(ProcessIncarnation{5}));
    EXPECT_TRUE(links.table.identify(ProcessIncarnation{9}, kRun, Term{3}, links.now).empty()) << "nor is it then";
    ASSERT_TRUE(links.table.identity(LinkId{1}));
    EXPECT_FALSE(may_say(*links.table.identity(LinkId{1}), SaveShard{}));
    const auto named = links.table.peers(peers_of({5}));
    const bool is_honest = std::string(name) == "node";
    EXPECT_EQ(of_type<SendHello>(named).size(), is_honest ? 1U : 0U) << name;
    EXPECT_EQ(of_type<CloseLink>(named).size(), is_honest ? 0U : 1U) << name;
    EXPECT_EQ(links.table.link_to(ProcessIncarnation{5}).has_value(), is_honest) << name;
  }
}

TEST(Links, S7OfTwoThatClaimOneNumberTheOneThatPeersNameHasIt) {
  Links links(storage());
  for (const std::uint64_t link : {1U, 2U, 3U}) ASSERT_TRUE(links.table.stranger(LinkId{link}, links.now));
  for (const std::uint64_t link : {1U, 3U}) {
    (void)links.table.hello(LinkId{link}, hello_as(5, "evil"), links.now);
  }
  (void)links.table.hello(LinkId{2}, hello_of(5, false), links.now);
  EXPECT_EQ(of_type<CloseLink>(links.table.peers(peers_of({5}))).size(), 2U);
  EXPECT_EQ(links.table.link_to(ProcessIncarnation{5}), LinkId{2});
}

TEST(Links, S7ANumberThatIsNamedTakesThePlaceOfOneThatWasClaimedBefore) {
  Links links(storage());
  (void)links.table.peers(peers_of({6}));
  ASSERT_TRUE(links.table.stranger(LinkId{1}, links.now));
  (void)links.table.hello(LinkId{1}, hello_of(5, false), links.now);
  (void)links.table.hello(LinkId{1}, hello_of(6, false), links.now);
  EXPECT_EQ(links.table.link_to(ProcessIncarnation{6}), LinkId{1});
  EXPECT_TRUE(of_type<CloseLink>(links.after(3000ms)).empty()) << "it waits for no name";
}

TEST(Links, S6StorageDoesNotWaitForANumberForEver) {
  Links links(storage());
  ASSERT_TRUE(links.table.stranger(LinkId{1}, links.now));
  (void)links.after(1500ms);
  (void)links.table.hello(LinkId{1}, hello_of(5, false), links.now);
  EXPECT_TRUE(of_type<CloseLink>(links.after(1500ms)).empty()) << "Peers may be on their way";
  EXPECT_EQ(of_type<CloseLink>(links.after(1500ms)).size(), 1U);
  EXPECT_TRUE(links.table.peers(peers_of({5})).empty());
}

// A process that the run has given up may live on, and say its last words.
TEST(Links, S7TheNumberOfAProcessThatLeftStaysItsOwn) {
  for (const LinkSelf& self :
       {node(9), storage(), LinkSelf{ProcessRole::kSpawner, kSpawnerProcess, "s", kRun, Term{3}}}) {
    Links links(self);
    (void)links.table.peers(peers_of({5}, 1));
    (void)links.table.peers(peers_of({}, 2));
    ASSERT_TRUE(links.table.stranger(LinkId{1}, links.now) && links.table.stranger(LinkId{2}, links.now));
    (void)links.table.hello(LinkId{1}, hello_as(5, "evil"), links.now);
    EXPECT_FALSE(links.table.link_to(ProcessIncarnation{5}));
    (void)links.table.hello(LinkId{2}, hello_of(5, false), links.now);
    EXPECT_EQ(links.table.link_to(ProcessIncarnation{5}), LinkId{2});
  }
}

TEST(Links, S6RemembersSoManyNamesOfThoseWhoLeft) {
  Links links(node(1));
  std::vector<std::uint64_t> there;
  for (std::uint64_t process = 2; process <= kFormerNamesMax + 3; ++process) there.push_back(process);
  std::uint64_t serial = 0;
  for (; !there.empty(); there.erase(there.begin())) (void)links.table.peers(peers_of(there, ++serial));
  (void)links.table.peers(peers_of({}, ++serial));  // they have left one after the other, two too many
  for (const std::uint64_t process : {std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{4}, kFormerNamesMax + 3}) {
    ASSERT_TRUE(links.table.stranger(LinkId{process}, links.now));
    (void)links.table.hello(LinkId{process}, hello_as(process, "evil"), links.now);
    EXPECT_EQ(links.table.link_to(ProcessIncarnation{process}).has_value(), process <= 3) << process;
  }
}

TEST(Links, S7ANumberOnceSaidStays) {
  Links links(node(2));
  (void)links.table.peers(peers_of({5, 6}));
  ASSERT_TRUE(links.table.stranger(LinkId{1}, links.now) && links.table.stranger(LinkId{2}, links.now));
  (void)links.table.hello(LinkId{1}, hello_of(5, false), links.now);
  EXPECT_EQ(of_type<CloseLink>(links.table.hello(LinkId{1}, hello_of(6, false), links.now)).size(), 1U);
  EXPECT_FALSE(links.table.link_to(ProcessIncarnation{6}));
}

TEST(Links, WhoGetsAnotherNumberKeepsNoOldOneFromItsOwner) {
  Links links({ProcessRole::kSpawner, kSpawnerProcess, "spawner", kRun, Term{3}});
  ASSERT_TRUE(links.table.stranger(LinkId{1}, links.now) && links.table.stranger(LinkId{2}, links.now));
  (void)links.table.hello(LinkId{1}, hello_as(5, "other"), links.now);
  (void)links.table.bind(LinkId{1}, ProcessIncarnation{6});
  EXPECT_FALSE(links.table.link_to(ProcessIncarnation{5}));
  (void)links.table.hello(LinkId{2}, hello_of(5, false), links.now);
  EXPECT_EQ(links.table.link_to(ProcessIncarnation{5}), LinkId{2});
  EXPECT_EQ(links.table.link_to(ProcessIncarnation{6}), LinkId{1});
}

TEST(Links, NobodySpeaksForAnotherProcess) {
  const ProcessIncarnation from{5};
  EXPECT_TRUE(speaks_for_itself(from, Leaving{from, "bye"}));
  EXPECT_FALSE(speaks_for_itself(from, Leaving{ProcessIncarnation{6}, "bye"}));
  EXPECT_FALSE(speaks_for_itself(from, Heartbeat{ProcessIncarnation{6}, 1}));
  EXPECT_FALSE(speaks_for_itself(from, StageReady{{}, {}, ProcessIncarnation{6}, 0, 0}));
  EXPECT_TRUE(speaks_for_itself(from, Progress{}));
}

TEST(Links, ANodeReportsTheLossOfItsSpawner) {
  Links links(node(9));
  links.table.set_spawner({"host", 1});
  ASSERT_EQ(of_type<DialPeer>(links.after(0ms)).size(), 1U);
  (void)links.table.dialled(kSpawnerProcess, LinkId{1}, links.now);
  const Hello answer{kProtocolVersion, kRun, Term{3}, kSpawnerProcess, ProcessRole::kSpawner, "spawner", true};
  (void)links.table.hello(LinkId{1}, answer, links.now);
  ASSERT_TRUE(links.table.link_to(kSpawnerProcess));
  const auto reported = of_type<ReportLost>(links.table.lost(LinkId{1}, "reset", links.now));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported.front().process, kSpawnerProcess);
}

TEST(Links, AJoiningNodeHasNoNumberUntilItIsBound) {
  Links links({ProcessRole::kSpawner, kSpawnerProcess, "spawner", kRun, Term{3}});
  EXPECT_TRUE(links.table.stranger(LinkId{1}, links.now));
  (void)links.table.hello(LinkId{1}, hello_of(0, false), links.now);
  ASSERT_TRUE(links.table.identity(LinkId{1}));
  EXPECT_FALSE(links.table.identity(LinkId{1})->process);
  EXPECT_EQ(of_type<LinkUp>(links.table.bind(LinkId{1}, ProcessIncarnation{6})).size(), 1U);
  EXPECT_EQ(links.table.link_to(ProcessIncarnation{6}), LinkId{1});
  EXPECT_TRUE(of_type<CloseLink>(links.table.hello(LinkId{1}, hello_of(6), links.now)).empty());
}

TEST(Links, SilentStrangersAreClosedAndBounded) {
  LinkLimits limits;
  limits.strangers_max = 3;
  LinkTable table(node(2), limits, 1);
  const Instant begin = Instant{} + 1h;
  for (std::uint64_t link = 1; link <= 3; ++link) EXPECT_TRUE(table.stranger(LinkId{link}, begin));
  EXPECT_FALSE(table.stranger(LinkId{4}, begin));
  EXPECT_EQ(of_type<CloseLink>(table.tick(begin + 5s)).size(), 3U);
  EXPECT_TRUE(table.stranger(LinkId{5}, begin + 5s));
}

TEST(Links, OldPeersAreIgnoredAndWhoLeftLosesItsLink) {
  Links links(node(9));
  (void)links.table.peers(peers_of({5}, 2));
  EXPECT_TRUE(links.table.stranger(LinkId{1}, links.now));
  (void)links.table.hello(LinkId{1}, hello_of(5, false), links.now);
  EXPECT_TRUE(links.table.peers(peers_of({}, 1)).empty()) << "an older serial";
  EXPECT_EQ(of_type<CloseLink>(links.table.peers(peers_of({}, 3))).size(), 1U);
  EXPECT_FALSE(links.table.link_to(ProcessIncarnation{5}));
}

// A node of the run with a good link to the spawner.
void link_with_spawner(Links& links) {
  links.table.set_spawner({"spawner", 1});
  (void)links.after(1s);
  (void)links.table.dialled(kSpawnerProcess, LinkId{900}, links.now);
  Hello hello = hello_of(0);
  hello.role = ProcessRole::kSpawner;
  ASSERT_EQ(of_type<LinkUp>(links.table.hello(LinkId{900}, hello, links.now)).size(), 1U);
}

TEST(Links, APeerThatCannotBeReachedIsComplainedAboutWhileItLasts) {
  for (const std::uint64_t peer : {1U, 5U}) {  // one that is dialled, and one that should dial us
    Links links(node(2));
    link_with_spawner(links);
    (void)links.table.peers(peers_of({peer}));
    std::vector<ReportUnreachable> complaints;
    for (int i = 0; i < 100; ++i) {
      for (const auto& complaint : of_type<ReportUnreachable>(links.after(100ms))) complaints.push_back(complaint);
    }
    EXPECT_GE(complaints.size(), 6U) << "once a second after three";
    EXPECT_LE(complaints.size(), 8U);
    const auto is_told = [](const ReportUnreachable& complaint) { return !complaint.remedy.empty(); };
    EXPECT_TRUE(is_told(complaints.front()));
    EXPECT_EQ(std::count_if(complaints.begin(), complaints.end(), is_told), 1) << "a person is told once";
    ASSERT_TRUE(links.table.stranger(LinkId{1}, links.now));
    (void)links.table.hello(LinkId{1}, hello_of(peer, false), links.now);
    ASSERT_TRUE(links.table.link_to(ProcessIncarnation{peer}));
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(of_type<ReportUnreachable>(links.after(100ms)).empty());
  }
}

// Node 2 has a link with the spawner, 900, and one with storage, 1.
bool link_with_spawner_and_storage(Links& links) {
  link_with_spawner(links);
  (void)links.table.peers(peers_of({1}));
  if (!links.table.stranger(LinkId{1}, links.now)) return false;
  (void)links.table.hello(LinkId{1}, hello_of(1, false), links.now);
  return true;
}

// Links of which some let nothing through, since so long.
struct CutLinks {
  std::map<LinkId, Duration> unanswered;
  std::vector<ReportUnreachable> after(Links& links, Duration pause) {
    links.now += pause;
    for (auto& [link, since] : unanswered) since += pause;
    return of_type<ReportUnreachable>(links.table.tick(links.now, [this](LinkId link) {
      const auto found = unanswered.find(link);
      return found == unanswered.end() ? Duration::zero() : found->second;
    }));
  }
};

// A firewall that drops what comes breaks no link.
TEST(Links, APeerToWhomNothingComesThroughIsComplainedAboutThoughItsLinkStands) {
  Links links(node(2));
  ASSERT_TRUE(link_with_spawner_and_storage(links));
  CutLinks cut;
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(cut.after(links, 0ms).empty()) << "the control";
  cut.unanswered[LinkId{1}] = 100ms;
  std::vector<ReportUnreachable> complaints;
  int first = 0;
  for (int i = 1; i <= 80; ++i) {
    for (const auto& complaint : cut.after(links, 100ms)) complaints.push_back(complaint);
    if (complaints.empty()) first = i;
  }
  EXPECT_LT(first, 40) << "within four seconds";
  EXPECT_GE(complaints.size(), 4U);
  EXPECT_EQ(complaints.front().since, Duration::zero()) << "its link stands";
  EXPECT_EQ(complaints.front().process, ProcessIncarnation{1});
  const auto told = std::ranges::count_if(complaints, [](const auto& one) { return !one.remedy.empty(); });
  EXPECT_EQ(told, 1) << "a person is told once";
  cut.unanswered.clear();
  (void)cut.after(links, 1s);
  EXPECT_TRUE(cut.after(links, 10s).empty());
}

// This machine may be the one that is cut off: then a person is told of the spawner alone.
TEST(Links, WhereNothingComesThroughToTheSpawnerNobodyElseIsComplainedAbout) {
  Links links(node(2));
  ASSERT_TRUE(link_with_spawner_and_storage(links));
  CutLinks cut;
  cut.unanswered = {{LinkId{1}, 5s}, {LinkId{900}, 5s}};
  std::vector<ReportUnreachable> complaints;
  for (int i = 0; i < 50; ++i) {
    for (const auto& complaint : cut.after(links, 100ms)) complaints.push_back(complaint);
  }
  ASSERT_GE(complaints.size(), 4U);
  for (const auto& complaint : complaints) EXPECT_EQ(complaint.process, kSpawnerProcess);
  EXPECT_THAT(complaints.front().remedy, ::testing::HasSubstr("comes through any more"));
}

TEST(Links, WhoIsNotReachedIsNamedWithWhatToOpen) {
  EXPECT_EQ(unreachable_text("storage", {"10.0.0.1", 7001}, true),
            "cannot reach storage at 10.0.0.1:7001: open TCP port 7001 of 10.0.0.1 for this machine");
  EXPECT_EQ(unreachable_text("node1", {"10.0.0.3", 7100}, false),
            "node1 does not reach this process: open the port of --listen for it");
  EXPECT_EQ(unanswered_text("node1", {"10.0.0.3", 7100}),
            "nothing that this process sends to node1 comes through any more: look at what stands between this machine "
            "and 10.0.0.3");
}

TEST(Links, WithoutTheSpawnerNobodyIsComplainedAbout) {
  Links links(node(2));
  (void)links.table.peers(peers_of({1, 5}));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(of_type<ReportUnreachable>(links.after(100ms)).empty());
}

TEST(Links, S7RolesSayOnlyWhatIsTheirs) {
  const LinkIdentity spawner{ProcessRole::kSpawner, kSpawnerProcess, ""};
  const LinkIdentity worker{ProcessRole::kNode, ProcessIncarnation{4}, ""};
  const LinkIdentity storage{ProcessRole::kStorage, ProcessIncarnation{5}, ""};
  const LinkIdentity stranger{ProcessRole::kNode, std::nullopt, ""};
  const std::vector<MessageBody> orders{JournalEntries{}, EndProcess{}, Peers{},  Revocations{},
                                        SpawnStage{},     Prepare{},    Welcome{}};
  for (const MessageBody& body : orders) {
    EXPECT_TRUE(may_say(spawner, body));
    EXPECT_FALSE(may_say(worker, body));
    EXPECT_FALSE(may_say(storage, body));
    EXPECT_FALSE(may_say(stranger, body));
  }
  EXPECT_TRUE(may_say(storage, StateImage{}));
  EXPECT_FALSE(may_say(worker, StateImage{})) << "in the name of storage";
  EXPECT_FALSE(may_say(worker, StateUnavailable{})) << "in the name of storage";
  StateImage copy;
  copy.donor = Incarnation{7};
  EXPECT_TRUE(may_say(worker, copy)) << "to a joiner of its stage";
  EXPECT_FALSE(may_say(storage, copy)) << "in the name of a replica";
  EXPECT_TRUE(may_say(stranger, Join{}));
  EXPECT_FALSE(may_say(stranger, Backward{}));
  for (const auto& who : {spawner, worker, storage}) {
    EXPECT_FALSE(may_say(who, Prepared{})) << "votes stay in the spawner's process";
    EXPECT_FALSE(may_say(who, ProcessLost{}));
  }
}

// Only the spawner's process ends, fails or removes anything (DESIGN.md §8).
TEST(Links, S7NothingThatKillsIsHeardFromANode) {
  const LinkIdentity spawner{ProcessRole::kSpawner, kSpawnerProcess, ""};
  const std::vector<LinkIdentity> others = {{ProcessRole::kNode, ProcessIncarnation{4}, ""},
                                            {ProcessRole::kStorage, ProcessIncarnation{5}, ""},
                                            {ProcessRole::kNode, std::nullopt, ""},
                                            {ProcessRole::kStorage, std::nullopt, ""}};
  Inject whole_process;
  whole_process.whole_process = true;
  const std::vector<MessageBody> deadly{Inject{},   whole_process,    EndProcess{}, LeaveRun{},
                                        EndStage{}, JournalEntries{}, Zero{}};
  for (const MessageBody& body : deadly) {
    EXPECT_TRUE(may_say(spawner, body)) << body.index();
    for (const LinkIdentity& other : others) EXPECT_FALSE(may_say(other, body)) << body.index();
  }
}

// Two spawners at once: whoever has seen the newer one turns the older one away (S-4).
TEST(Links, TheSpawnerOfAnOlderTermIsRefused) {
  LinkTable table({ProcessRole::kNode, ProcessIncarnation{5}, "node1", RunId{9}, Term{1}}, {}, 1);
  table.set_spawner({"host", 1});
  const Instant now{};
  const auto greet = [&](std::uint64_t link, Term term) {
    (void)table.tick(now);
    (void)table.dialled(kSpawnerProcess, LinkId{link}, now);
    const Hello hello{kProtocolVersion, RunId{9}, term, kSpawnerProcess, ProcessRole::kSpawner, "spawner", true};
    (void)table.hello(LinkId{link}, hello, now);
    return table.link_to(kSpawnerProcess) == LinkId{link};
  };
  EXPECT_TRUE(greet(1, Term{2}));
  (void)table.lost(LinkId{1}, "killed", now);
  EXPECT_FALSE(greet(2, Term{1}));
  EXPECT_TRUE(greet(3, Term{2})) << "the same spawner after its link broke";
  (void)table.lost(LinkId{3}, "killed", now);
  EXPECT_TRUE(greet(4, Term{3}));
}

}  // namespace
}  // namespace shoal::links_test
