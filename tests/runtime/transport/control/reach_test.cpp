// Whether a node is reached: the words of both sides, what the run remembers of it, and the dial itself.
#include "runtime/transport/control/reach.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "runtime/base/compose.h"
#include "tests/runtime/transport/control/control_port.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal {
namespace {

using std::chrono::seconds;

constexpr Instant kStart{};
const HostPort kAddress{"10.0.0.2", 7100};

TEST(ReachWords, ComeBackAsTheyWereAndDamagedOnesAreRefused) {
  EXPECT_EQ(parse_reach_question(reach_question_text(kAddress)).value(), kAddress);
  EXPECT_EQ(parse_reach_question(reach_question_text({"::1", 1})).value(), (HostPort{"::1", 1}));
  for (const char* bad : {"", "{}", "[]", "{\"address\": 7}", "{\"address\": \"host\"}"}) {
    EXPECT_EQ(parse_reach_question(bad).failure().error, Error::kUsage) << bad;
  }
  EXPECT_EQ(parse_reach_answer(reach_answer_text("")).value(), "");
  EXPECT_EQ(parse_reach_answer(reach_answer_text("a \"reason\"")).value(), "a \"reason\"");
  EXPECT_FALSE(parse_reach_answer("{}").ok());
}

TEST(ReachWords, NameTheAddressAndWhatToOpen) {
  EXPECT_EQ(not_reached_text(kAddress, "Connection timed out"),
            "the run does not reach this node at 10.0.0.2:7100 (Connection timed out): open TCP port 7100 of 10.0.0.2 "
            "for the run's machines, or choose another with --listen HOST:PORT");
  EXPECT_EQ(not_reached_text("node2", kAddress),
            "node2 is not reached at 10.0.0.2:7100: open TCP port 7100 of 10.0.0.2");
}

TEST(ReachBook, TellsOfANodeUntilItIsReachedOrAsksNoMore) {
  ReachBook book;
  EXPECT_EQ(book.explain(kStart), "");
  book.note("node2", kAddress, false, kStart);
  EXPECT_EQ(book.explain(kStart + seconds(15)), "; " + not_reached_text("node2", kAddress));
  EXPECT_EQ(book.explain(kStart + seconds(16)), "") << "it has left";
  book.note("node2", {"10.0.0.2", 7101}, false, kStart + seconds(1));
  book.note("node2", kAddress, true, kStart + seconds(2));
  EXPECT_EQ(book.explain(kStart + seconds(2)), "; " + not_reached_text("node2", {"10.0.0.2", 7101}))
      << "its other device";
}

TEST(ReachBook, S6RemembersNoMoreThanItsBound) {
  ReachBook book;
  for (std::size_t i = 0; i < 2 * ReachBook::kEntriesMax; ++i) book.note(compose("n", i), kAddress, false, kStart);
  const std::string text = book.explain(kStart);
  EXPECT_NE(text.find(compose("n", ReachBook::kEntriesMax - 1, " is")), std::string::npos);
  EXPECT_EQ(text.find(compose("n", ReachBook::kEntriesMax, " is")), std::string::npos);
  book.note("late", kAddress, false, kStart + seconds(16));
  EXPECT_EQ(book.explain(kStart + seconds(16)), "; " + not_reached_text("late", kAddress)) << "old ones make room";
}

// Against a set that is kept by hand.
TEST(ReachBook, RandomOrdersNameWhoIsNotReached) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  ReachBook book;
  std::set<std::string> unreached;
  for (int i = 0; i < 2000; ++i) {
    const std::string name = compose("node", random() % 8);
    const bool is_reached = random() % 2 == 0;
    book.note(name, kAddress, is_reached, kStart);
    is_reached ? (void)unreached.erase(name) : (void)unreached.insert(name);
    std::string expected;
    for (const std::string& one : unreached) expected += "; " + not_reached_text(one, kAddress);
    ASSERT_EQ(book.explain(kStart), expected) << i;
  }
}

TEST(ReachDesk, AnswersWhatItsDialSaysAndExplainsIt) {
  std::string why = "nobody";
  ReachDesk desk([&why](const HostPort& address) { return address == kAddress ? why : "another"; });
  const PeerIdentity node{RunId{1}, PeerRole::kNode, "node2"};
  const ControlRequest request{"POST", std::string(kReachPath), {}, reach_question_text(kAddress), node, "", "::1"};
  EXPECT_EQ(parse_reach_answer(desk.answer(request).body).value(), "nobody");
  EXPECT_EQ(desk.explain(), "; " + not_reached_text("node2", kAddress));
  why.clear();
  EXPECT_EQ(parse_reach_answer(desk.answer(request).body).value(), "");
  EXPECT_EQ(desk.explain(), "");
  ControlRequest damaged = request;
  damaged.body = "{}";
  EXPECT_EQ(desk.answer(damaged).status, 400);
}

TEST(ReachDesk, ADialTellsAListenerFromNobody) {
  const testing::TestRun run(0x5eed);
  const std::vector<PeerRole> roles = {PeerRole::kSpawner, PeerRole::kNode};
  testing::CafProcess node(run.files(PeerRole::kNode, "node"), run.policy(roles));
  const auto context = TlsContext::mutual(run.files(PeerRole::kSpawner, "spawner"), run.policy(roles));
  const std::uint16_t port = node.publish();
  EXPECT_EQ(why_not_reached({"127.0.0.1", port}, **context), "");
  ASSERT_TRUE(testing::eventually([&] { return node.transport().counters().admitted == 1; })) << "it is judged";
  EXPECT_EQ(node.transport().counters().refused, 0U) << "it leaves no line in the node's log";
  node.transport().close(port);
  EXPECT_TRUE(testing::eventually([&] { return !why_not_reached({"127.0.0.1", port}, **context).empty(); }));
}

}  // namespace
}  // namespace shoal
