// Tests whether a node is reached: the words of both sides, what the run remembers of it, and the dial itself.
#include "runtime/transport/control/reach.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "runtime/base/compose.h"
#include "tests/runtime/transport/control/control_port.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::reach_test {
namespace {

using std::chrono::seconds;

constexpr Instant kStart{};
const HostPort kAddress{"10.0.0.2", 7100};
const ReachAnswer kReached{"", true};
const ReachAnswer kShut{"Connection timed out", false};

ControlRequest question_of(const std::string& name, const HostPort& address, const std::string& serial) {
  const PeerIdentity node{RunId{1}, PeerRole::kNode, name};
  return {"POST", std::string(kReachPath), {}, reach_question_text(address), node, serial, "::1"};
}

TEST(ReachWords, ComeBackAsTheyWereAndDamagedOnesAreRefused) {
  EXPECT_EQ(parse_reach_question(reach_question_text(kAddress)).value(), kAddress);
  EXPECT_EQ(parse_reach_question(reach_question_text({"::1", 1})).value(), (HostPort{"::1", 1}));
  for (const char* bad : {"", "{}", "[]", "{\"address\": 7}", "{\"address\": \"host\"}"}) {
    EXPECT_EQ(parse_reach_question(bad).failure().error, Error::kUsage) << bad;
  }
  for (const ReachAnswer& answer : {kReached, kShut, ReachAnswer{"a \"reason\"", true}}) {
    EXPECT_EQ(parse_reach_answer(reach_answer_text(answer)).value(), answer);
  }
  for (const char* bad : {"{}", "{\"why\": 7, \"is_open\": true}", "{\"why\": \"\"}"}) {
    EXPECT_FALSE(parse_reach_answer(bad).ok()) << bad;
  }
}

TEST(ReachWords, NameTheAddressAndWhatToOpen) {
  EXPECT_EQ(not_reached_text(kAddress, kShut, PortChoice::kGiven),
            "the run does not reach this node at 10.0.0.2:7100 (Connection timed out): open TCP port 7100 of 10.0.0.2 "
            "for the run's machines, or choose another with --listen HOST:PORT");
  EXPECT_EQ(not_reached_text("node2", kAddress, kShut),
            "node2 is not reached at 10.0.0.2:7100: open TCP port 7100 of 10.0.0.2");
  const ReachAnswer other{"node3 answers there, and not node2.", true};
  EXPECT_EQ(not_reached_text("node2", kAddress, other),
            "node2 is not reached at 10.0.0.2:7100: node3 answers there, and not node2.");
  EXPECT_EQ(not_reached_text(kAddress, other, PortChoice::kGiven),
            "the run does not reach this node at 10.0.0.2:7100: node3 answers there, and not node2. Look what stands "
            "between, or choose another port with --listen HOST:PORT");
  EXPECT_EQ(
      not_reached_text(kAddress, kShut, PortChoice::kAny),
      "the run does not reach this node at 10.0.0.2:7100 (Connection timed out): start it with --listen HOST:PORT "
      "and open that port for the run's machines; without --listen it has another port at every start");
}

TEST(ReachBook, TellsOfANodeUntilItIsReachedOrAsksNoMore) {
  ReachBook book;
  EXPECT_EQ(book.explain(kStart), "");
  book.note("node2", kAddress, kShut, kStart);
  EXPECT_EQ(book.explain(kStart + seconds(15)), "; " + not_reached_text("node2", kAddress, kShut));
  EXPECT_EQ(book.explain(kStart + seconds(16)), "") << "it has left";
  book.note("node2", {"10.0.0.2", 7101}, kShut, kStart + seconds(1));
  book.note("node2", kAddress, kReached, kStart + seconds(2));
  EXPECT_EQ(book.explain(kStart + seconds(2)), "; " + not_reached_text("node2", {"10.0.0.2", 7101}, kShut))
      << "its other device";
}

TEST(ReachBook, S6RemembersNoMoreThanItsBound) {
  ReachBook book;
  for (std::size_t i = 0; i < 2 * ReachBook::kEntriesMax; ++i) book.note(compose("n", i), kAddress, kShut, kStart);
  const std::string text = book.explain(kStart);
  EXPECT_NE(text.find(compose("n", ReachBook::kEntriesMax - 1, " is")), std::string::npos);
  EXPECT_EQ(text.find(compose("n", ReachBook::kEntriesMax, " is")), std::string::npos);
  book.note("late", kAddress, kShut, kStart + seconds(16));
  EXPECT_EQ(book.explain(kStart + seconds(16)), "; " + not_reached_text("late", kAddress, kShut))
      << "old ones make room";
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
    book.note(name, kAddress, is_reached ? kReached : kShut, kStart);
    is_reached ? (void)unreached.erase(name) : (void)unreached.insert(name);
    std::string expected;
    for (const std::string& one : unreached) expected += "; " + not_reached_text(one, kAddress, kShut);
    ASSERT_EQ(book.explain(kStart), expected) << i;
  }
}

TEST(ReachService, AnswersWhatItsDialSaysAndExplainsIt) {
  ReachAnswer says = kShut;
  ReachService service([&says](const HostPort& address, const std::string& name) {
    return address == kAddress && name == "node2" ? says : ReachAnswer{"another", true};
  });
  ControlRequest request = question_of("node2", kAddress, "1f");
  EXPECT_EQ(parse_reach_answer(service.answer(request).body).value(), kShut);
  EXPECT_EQ(service.explain(), "; " + not_reached_text("node2", kAddress, kShut));
  says = kReached;
  EXPECT_EQ(parse_reach_answer(service.answer(request).body).value(), kReached);
  EXPECT_EQ(service.explain(), "");
  request.body = "{}";
  EXPECT_EQ(service.answer(request).status, 400);
}

// A resolver keeps its caller waiting as long as it likes.
TEST(ReachService, DialsNoNames) {
  int dials = 0;
  ReachService service([&dials](const HostPort&, const std::string&) { return ++dials, kReached; });
  for (const char* name : {"localhost", "node2.example", "10.0.0", "fe80::1%eth0", "\x1B[2J"}) {
    const auto response = service.answer(question_of("node2", {name, 1}, "1f"));
    EXPECT_EQ(response.status, 400) << name;
  }
  EXPECT_EQ(dials, 0);
  EXPECT_NE(service.answer(question_of("node2", {"localhost", 1}, "1f")).body.find("numeric addresses"),
            std::string::npos);
  for (const char* number : {"10.0.0.2", "::1"}) {
    EXPECT_EQ(service.answer(question_of("node2", {number, 1}, "1f")).status, 200) << number;
  }
  EXPECT_EQ(dials, 2) << "the control";
}

// Dials that are under way until they are let go on.
class HeldDials {
 public:
  ReachAnswer dial() {
    ++begun_;
    released_.wait(false);
    return kReached;
  }
  void release() {
    released_ = true;
    released_.notify_all();
  }
  [[nodiscard]] std::size_t begun() const { return begun_; }

 private:
  std::atomic<std::size_t> begun_ = 0;
  std::atomic<bool> released_ = false;
};

TEST(ReachService, S6DialsSoManyAtOnceAndOneForACertificate) {
  HeldDials held;
  ReachService service([&held](const HostPort&, const std::string&) { return held.dial(); });
  std::vector<std::jthread> asking;
  std::atomic<int> answered = 0;
  const auto ask_as = [&](std::size_t number) {
    asking.emplace_back([&, number] {
      const auto name = compose("n", number);
      if (service.answer(question_of(name, kAddress, name)).status == 200) ++answered;
    });
  };
  ask_as(0);
  ASSERT_TRUE(test_support::eventually([&] { return held.begun() == 1; }));
  EXPECT_EQ(service.answer(question_of("n0", {"10.0.0.3", 1}, "n0")).status, 503) << "the same certificate";
  for (std::size_t number = 1; number < ReachService::kDialsMax; ++number) ask_as(number);
  ASSERT_TRUE(test_support::eventually([&] { return held.begun() == ReachService::kDialsMax; }));
  EXPECT_EQ(service.answer(question_of("late", kAddress, "late")).status, 503);
  held.release();
  asking.clear();
  EXPECT_EQ(answered, static_cast<int>(ReachService::kDialsMax));
  EXPECT_EQ(service.answer(question_of("late", kAddress, "late")).status, 200) << "there is room again";
}

const std::vector<PeerRole> kRoles = {PeerRole::kSpawner, PeerRole::kNode};

TEST(TryToReach, TellsAListenerFromNobody) {
  const test_support::TestRun run(0x5eed);
  test_support::CafProcess node(run.files(PeerRole::kNode, "node"), run.policy(kRoles));
  const auto context = TlsContext::mutual(run.files(PeerRole::kSpawner, "spawner"), run.policy(kRoles));
  const std::uint16_t port = node.publish();
  EXPECT_EQ(try_to_reach({"127.0.0.1", port}, "node", **context), kReached);
  ASSERT_TRUE(test_support::eventually([&] { return node.transport().counters().admitted == 1; })) << "it is judged";
  EXPECT_EQ(node.transport().counters().refused, 0U) << "it leaves no line in the node's log";
  node.transport().close(port);
  EXPECT_TRUE(test_support::eventually([&] { return !try_to_reach({"127.0.0.1", port}, "node", **context).is_open; }));
}

TEST(TryToReach, NamesWhoElseAnswersThere) {
  const test_support::TestRun run(0x5eed);
  const test_support::TestRun foreign(0xf0);
  const auto context = TlsContext::mutual(run.files(PeerRole::kSpawner, "spawner"), run.policy(kRoles));
  const auto why = [&](std::uint16_t port) {
    const ReachAnswer answer = try_to_reach({"127.0.0.1", port}, "node", **context);
    EXPECT_TRUE(answer.is_open);
    return answer.why;
  };
  test_support::CafProcess impostor(foreign.files(PeerRole::kNode, "node"), foreign.policy(kRoles));
  EXPECT_NE(why(impostor.publish()).find("The peer is not of this run: the certificate is refused"), std::string::npos);
  test_support::CafProcess another(run.files(PeerRole::kNode, "node3"), run.policy(kRoles));
  EXPECT_EQ(why(another.publish()), "node3 answers there, and not node.");
  PeerPolicy wary = run.policy(kRoles);
  wary.refused = {"spawner/spawner"};
  test_support::CafProcess refuses(run.files(PeerRole::kNode, "node"), wary);
  EXPECT_TRUE(why(refuses.publish()).starts_with("the node refuses the spawner: "));
}

// A listener of another kind: one that answers no TLS, and one that says nothing at all.
TEST(TryToReach, NamesAProgramThatIsNoShoalInTime) {
  const test_support::TestRun run(0x5eed);
  const auto context = TlsContext::mutual(run.files(PeerRole::kSpawner, "spawner"), run.policy(kRoles));
  const auto listener = listen_on({"127.0.0.1", 0});
  ASSERT_TRUE(listener.ok());
  const std::uint16_t port = local_port(listener->descriptor());
  const auto begun = std::chrono::steady_clock::now();
  const ReachAnswer silent = try_to_reach({"127.0.0.1", port}, "node", **context);
  EXPECT_TRUE(silent.is_open);
  EXPECT_TRUE(silent.why.starts_with("no node of this run answers there: ")) << silent.why;
  EXPECT_LT(std::chrono::steady_clock::now() - begun, kReachAnswerWithin) << "its asker waits so long";
  const std::jthread speaks([&listener] {
    EXPECT_TRUE(wait_readable(listener->descriptor(), deadline_in(test_support::kPatience)));
    EXPECT_TRUE(Socket(::accept(listener->descriptor(), nullptr, nullptr)).is_open()) << "the first, which has left";
    EXPECT_TRUE(wait_readable(listener->descriptor(), deadline_in(test_support::kPatience)));
    const Socket caller(::accept(listener->descriptor(), nullptr, nullptr));
    const std::string_view banner = "SSH-2.0-OpenSSH_9.2\r\n";
    EXPECT_EQ(::send(caller.descriptor(), banner.data(), banner.size(), MSG_NOSIGNAL), ssize_t(banner.size()));
    EXPECT_TRUE(wait_readable(caller.descriptor(), deadline_in(test_support::kPatience)));
  });
  const ReachAnswer other = try_to_reach({"127.0.0.1", port}, "node", **context);
  EXPECT_TRUE(other.is_open);
  EXPECT_TRUE(other.why.starts_with("no node of this run answers there: ")) << other.why;
}

static_assert(kReachAnswerWithin > kReachWithin, "who asks waits longer than who dials");

}  // namespace
}  // namespace shoal::reach_test
