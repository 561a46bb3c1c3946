// One port per process: hosts on which nothing but the announced ports is open, a node whose port is shut, and
// strangers who occupy the port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>

#include "runtime/transport/sockets.h"
#include "tests/support/guest/first_bytes.h"
#include "tests/support/process_scene.h"
#include "tests/system/network/run_on_hosts.h"

namespace shoal::one_port_test {
namespace {

using ::testing::HasSubstr;
constexpr Milliseconds kSoon{20'000};
constexpr std::chrono::seconds kToldWithin{5};

using OnePort = RunOnHosts;

TEST_F(OnePort, IsAllThatARunNeedsToTrainDieResumeAndDrain) {
  for (int host = 1; host < kBoss; ++host) hosts.close_all_but(host, "7100", "7000-7100");
  hosts.close_all_but(kBoss, "7000-7001", "7100");
  if (!hosts.are_there()) GTEST_SKIP() << hosts.why_not();
  const SmallRun small{2, 2, kEndless, {"sync.reduction=exact", "checkpoint.every=5"}};
  Program& first = start_spawner(small);
  const Words join = wait_for_join_words(first);
  std::vector<Program*> nodes;
  for (int host = 1; host < kBoss; ++host) nodes.push_back(&start_node(host, join));
  ASSERT_TRUE(scene.wait_for_steps(6)) << first.err();

  ASSERT_EQ(::kill(scene.worker_of("host1")->pid, SIGKILL), 0);
  ASSERT_TRUE(wait_until([&] { return has_event("process_lost", "host1"); }, kRunLimit));
  ASSERT_TRUE(goes_on()) << first.err();

  first.signal(SIGKILL);
  ASSERT_EQ(first.wait(kSoon), 128 + SIGKILL);
  Program& second = start_on(kBoss, {"spawner", "--resume", scene.run().string()});
  const Words again = wait_for_join_words(second);
  EXPECT_EQ(again.at(2), hosts.address_of(kBoss) + ":7000") << "it listens where it is open";
  ASSERT_TRUE(goes_on()) << second.err();

  (void)ask_on_boss({"drain", "host4"});
  EXPECT_EQ(nodes.back()->wait(kRunLimit), 0) << nodes.back()->err();
  ASSERT_TRUE(goes_on()) << second.err();
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait(kRunLimit), 75) << second.err();
  for (Program* node : nodes) EXPECT_EQ(node->wait(kSoon), 0) << node->err();
}

TEST_F(OnePort, ThatIsShutIsNamedWithinSecondsAtTheNodeAndInTheStatus) {
  hosts.close_all_but(1, "7999", "7000-7100");
  if (!hosts.are_there()) GTEST_SKIP() << hosts.why_not();
  Program& boss = start_spawner({2, 1, kEndless, {}});
  const Words join = wait_for_join_words(boss);
  Program& shut = start_node(1, join);
  Program& open = start_node(2, join);
  ASSERT_TRUE(wait_until([&] { return has_event("joined", "host1"); }, kSoon)) << boss.err();
  const auto joined = std::chrono::steady_clock::now();
  const std::string what = "open TCP port 7100 of " + hosts.address_of(1);
  ASSERT_TRUE(wait_until([&] { return shut.err().find(what) != std::string::npos; }, kSoon)) << shut.err();
  EXPECT_LT(std::chrono::steady_clock::now() - joined, kToldWithin);
  EXPECT_THAT(shut.err(), HasSubstr(hosts.address_of(1) + kNodePort));
  EXPECT_THAT(ask_on_boss({"status"}), HasSubstr("host1 is not reached at " + hosts.address_of(1) + kNodePort));
  EXPECT_LT(std::chrono::steady_clock::now() - joined, kToldWithin + std::chrono::seconds(1));
  EXPECT_EQ(open.err().find("does not reach this node"), std::string::npos) << "the control: " << open.err();
}

// A firewall that is changed while a run trains breaks no link: packets vanish.
TEST_F(OnePort, ThatIsCutOffWhileItTrainsIsNamedWithinSecondsAtANodeAndInTheStatus) {
  if (!hosts.are_there()) GTEST_SKIP() << hosts.why_not();
  Program& boss = start_spawner({2, 1, kEndless, {}});
  const Words join = wait_for_join_words(boss);
  Program& one = start_node(1, join);
  Program& other = start_node(2, join);
  ASSERT_TRUE(scene.wait_for_steps(6)) << boss.err();
  const std::string told = "comes through any more";
  EXPECT_EQ((one.err() + other.err()).find(told), std::string::npos) << "the control";
  Program& doctor = start_on(1, {"doctor", "--join", hosts.address_of(kBoss) + ":7000"});
  (void)doctor.wait(kSoon);
  EXPECT_THAT(doctor.out(), HasSubstr("good      lane to storage"));
  EXPECT_THAT(doctor.out(), HasSubstr("untried   ports of nodes"));
  hosts.cut(1, 2);
  ASSERT_TRUE(hosts.are_there()) << hosts.why_not();
  const auto cut = std::chrono::steady_clock::now();
  const auto tells = [&](const Program& node, const std::string& peer) {
    return node.err().find("sends to " + peer + " " + told) != std::string::npos;
  };
  // The one that has something to send notices it; what the other one sends is a heartbeat.
  ASSERT_TRUE(wait_until([&] { return tells(one, "host2") || tells(other, "host1"); }, kSoon)) << one.err();
  EXPECT_LT(std::chrono::steady_clock::now() - cut, kToldWithin);
  EXPECT_THAT(ask_on_boss({"status"}), HasSubstr("cannot reach each other: open TCP port 7100 of "));
  EXPECT_LT(std::chrono::steady_clock::now() - cut, kToldWithin + std::chrono::seconds(1));
  EXPECT_FALSE(has_event("process_lost", "host1") || has_event("process_lost", "host2")) << "it may heal";
}

TEST_F(OnePort, OfStorageThatIsShutIsNamedAtTheNodeAndByTheDoctor) {
  hosts.close_all_but(kBoss, "7000", "7100");
  if (!hosts.are_there()) GTEST_SKIP() << hosts.why_not();
  Program& boss = start_spawner({1, 1, kEndless, {}});
  const Words join = wait_for_join_words(boss);
  Program& node = start_node(1, join);
  ASSERT_TRUE(wait_until([&] { return has_event("joined", "host1"); }, kSoon)) << boss.err();
  const auto joined = std::chrono::steady_clock::now();
  const std::string address = hosts.address_of(kBoss) + ":7001";
  ASSERT_TRUE(wait_until([&] { return node.err().find(address + ": open TCP port 7001") != std::string::npos; }, kSoon))
      << node.err();
  EXPECT_LT(std::chrono::steady_clock::now() - joined, kToldWithin);
  EXPECT_THAT(ask_on_boss({"status"}), HasSubstr("open TCP port 7001 of " + hosts.address_of(kBoss)));
  Program& doctor = start_on(1, {"doctor", "--join", hosts.address_of(kBoss) + ":7000"});
  EXPECT_EQ(doctor.wait(kSoon), 1);
  EXPECT_THAT(doctor.out(), HasSubstr("good      link with the spawner"));
  EXPECT_THAT(doctor.out(), HasSubstr("wrong     link with storage"));
  EXPECT_EQ(doctor.out().find("lane to storage"), std::string::npos) << "the first that fails is named";
  EXPECT_EQ(doctor.out().find("ports of nodes"), std::string::npos);
}

// A run whose spawner's port strangers occupy, by connections that say one thing first and then nothing.
class OnePortOfARun : public testing::TestWithParam<guest::FirstBytes> {
 protected:
  OnePortOfARun() {
    is_allowed = ::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max >= kFiles;
    rlimit more = files;
    more.rlim_cur = kFiles;
    is_allowed = is_allowed && ::setrlimit(RLIMIT_NOFILE, &more) == 0;
  }
  ~OnePortOfARun() override {
    strangers.clear();
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  void occupy(int count) {
    const std::string json = read_all(scene.run() / "spawner.json");
    const auto begin = json.find("127.0.0.1:");
    const auto port = parse_host_port(json.substr(begin, json.find('"', begin) - begin));
    ASSERT_TRUE(port.ok()) << json;
    const std::string bytes = guest::bytes_of(GetParam());
    for (int i = 0; i < count; ++i) {
      auto socket = dial(*port, std::chrono::steady_clock::now() + std::chrono::seconds(5));
      if (!socket) continue;
      (void)::send(socket->descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      strangers.push_back(std::move(*socket));
    }
  }
  void expect_answers() {
    Program& status = scene.start({"status", "--run", scene.run().string()});
    EXPECT_EQ(status.wait(kSoon), 0) << status.err();
  }
  [[nodiscard]] std::size_t count_of(const std::string& event) const {
    const auto records = scene.records();
    return static_cast<std::size_t>(std::ranges::count(records.events, event, &EventLine::event));
  }

  static constexpr rlim_t kFiles = 8192;
  rlimit files{};
  bool is_allowed = false;
  ProcessScene scene;
  std::vector<Socket> strangers;
};

TEST_P(OnePortOfARun, AnswersKeepsItsLinksAndMakesNewOnesUnderTwoThousandStrangers) {
  if (!is_allowed) GTEST_SKIP() << "no more than " << files.rlim_max << " open files are allowed";
  Program& run = scene.start(train(scene, "run", {2, 2, kEndless, {}}));
  ASSERT_TRUE(scene.wait_for_steps(5)) << run.err();
  occupy(2000);
  EXPECT_GE(strangers.size(), 1900U);
  for (int i = 0; i < 3; ++i) {
    occupy(64);
    expect_answers();
    EXPECT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 2));
  }
  EXPECT_EQ(count_of("process_lost") + count_of("suspected"), 0U);
  const auto victim = scene.worker_of("node2");
  ASSERT_TRUE(victim.has_value());
  occupy(64);
  const std::size_t joined = count_of("joined");
  ASSERT_EQ(::kill(victim->pid, SIGKILL), 0);
  EXPECT_TRUE(wait_until([&] { return count_of("process_lost") == 1; }, kRunLimit));
  occupy(64);
  EXPECT_TRUE(wait_until([&] { return count_of("joined") == joined + 1; }, kRunLimit)) << "by new links and lanes";
  EXPECT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 5));
  expect_answers();
  (void)scene.stop(run);
}

INSTANTIATE_TEST_SUITE_P(Strangers, OnePortOfARun, testing::ValuesIn(guest::kEveryFirstBytes),
                         [](const auto& sort) { return std::string(guest::name_of(sort.param)); });

}  // namespace
}  // namespace shoal::one_port_test
