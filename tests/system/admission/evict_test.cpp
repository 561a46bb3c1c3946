// A node that is thrown out of a run which goes on: what becomes of it, what it can still do (nothing), and that no bit
// of the run moves by it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/guest/listening_ports.h"
#include "tests/system/admission/knocks.h"
#include "tests/system/operate/commanded_run.h"

namespace shoal::evict_test {
namespace {

namespace fs = std::filesystem;
using guest::listening_ports;
using testing::HasSubstr;
using Words = std::vector<std::string>;
using std::chrono::steady_clock;

constexpr Milliseconds kSoon{60'000};
constexpr Milliseconds kRefusedWithin{2'000};
const char* const kSources[] = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};

SmallRun endless_run() { return {2, 2, kEndless, {"sync.reduction=exact", "checkpoint.every=50"}}; }

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

class Evicted : public CommandedRun {
 protected:
  void start_train(const Words& words = {}) {
    program = &scene.start(train(scene, "run", small, words));
    ASSERT_TRUE(scene.wait_for_steps(5));
  }
  // A spawner, and nodes as on other machines; their certificates lie in the scene's folder of their name.
  void start_by_hand(const Words& nodes) {
    ProgramStart start;
    start.arguments = Words{shoal_program(), "spawner", "--out", scene.run().string()} + settings_of(scene, small);
    program = &scene.start_program(std::move(start));
    join = wait_for_join_words(*program);
    for (const std::string& name : nodes) start_node(name);
    ASSERT_TRUE(scene.wait_for_steps(5)) << program->err();
  }
  Program& start_node(const std::string& name) {
    const fs::path kept = scene.make_folder("of-" + name);
    return scene.start(Words(join) + Words{"--name", name, "--keep-in", kept.string()});
  }
  // Returns what a thief of a node's files has: a copy of its certificate and key.
  [[nodiscard]] TlsFiles stolen(const std::string& node, const fs::path& kept_in) {
    const TlsFiles copy = credential_files(scene.make_folder("stolen-" + node).string(), "node");
    for (const auto& folder : fs::directory_iterator(kept_in)) {
      const auto own = read_credentials(credential_files(folder.path().string(), "node0"));
      const bool is_its_own = own && identity_of(own->certificate)->name == node;
      if (is_its_own) (void)write_credentials(copy, *own);
    }
    EXPECT_TRUE(fs::exists(copy.certificate)) << node;
    return copy;
  }
  // Every port of every process of the run.
  [[nodiscard]] std::vector<std::uint16_t> ports() const {
    std::vector<std::uint16_t> all;
    for (const char* kind : {"internal-spawner", "internal-storage", "shoal-worker node"}) {
      for (const ProcessEntry& process : named_like(scene.processes(), kind)) {
        const auto of_it = listening_ports(process.pid);
        all.insert(all.end(), of_it.begin(), of_it.end());
      }
    }
    return all;
  }
  [[nodiscard]] bool is_let_in_anywhere(const TlsFiles& files, const std::string& source = "127.0.0.1") const {
    return std::ranges::any_of(ports(), [&](std::uint16_t port) { return lets_in(source, port, files); });
  }
  [[nodiscard]] bool is_let_in_everywhere(const TlsFiles& files) const {
    const auto all = ports();
    return all.size() >= 4 &&
           std::ranges::all_of(all, [&](std::uint16_t port) { return lets_in("127.0.0.1", port, files); });
  }
  [[nodiscard]] bool goes_on() { return scene.wait_for_steps(scene.records().steps.size() + 4); }
  [[nodiscard]] std::size_t count_of(const std::string& event, const std::string& subject) const {
    const auto records = scene.records();
    return static_cast<std::size_t>(std::ranges::count_if(records.events, [&](const EventLine& line) {
      return line.event == event && line.subject == subject && !line.reason.empty();
    }));
  }
  [[nodiscard]] std::string log_of(const std::string& node) const {
    return read_all(scene.run() / "logs" / (node + ".log"));
  }
  void stop_and_expect_equal_bits() {
    ASSERT_TRUE(scene.stop_and_repeat_single(*program, small));
    const auto records = scene.records();
    EXPECT_TRUE(records.damaged.empty());
    EXPECT_EQ(records.weights(), scene.records("single").weights());
  }

  SmallRun small = endless_run();
  Program* program = nullptr;
  Words join;
};

TEST_F(Evicted, ANodeEndsAndIsBackOnlyWhenAPersonStartsIt) {
  start_by_hand({"one", "two", "three", "four"});
  Program& victim = start_node("five");
  ASSERT_TRUE(wait_until([this] { return count_of("joined", "five") == 1; }, kSoon));
  ASSERT_TRUE(goes_on());
  ASSERT_EQ(order({"evict", "five"}), 0) << said;
  EXPECT_THAT(out, HasSubstr("five is put out of the run"));
  EXPECT_EQ(victim.wait(kSoon), 4) << victim.err();
  EXPECT_THAT(victim.err(), HasSubstr("it was evicted by shoal evict; a person may start it again"));
  const auto has_last_line = [this] { return log_of("five").find("ending with status 4") != std::string::npos; };
  EXPECT_TRUE(wait_until(has_last_line, kSoon)) << log_of("five");
  EXPECT_EQ(count_of("evicted", "five"), 1U);
  EXPECT_EQ(count_of("process_lost", "five"), 0U);
  ASSERT_TRUE(goes_on());
  EXPECT_EQ(order({"evict", "nobody"}), 2) << said;
  EXPECT_THAT(said, HasSubstr("one"));
  EXPECT_EQ(order({"evict", "storage"}), 2) << said;
  Program& again = start_node("five");
  EXPECT_TRUE(wait_until([this] { return count_of("joined", "five") == 2; }, kSoon)) << again.err();
  ASSERT_TRUE(goes_on());
  stop_and_expect_equal_bits();
}

// Its worker is killed before it hears: all that the keeper knows is the kill. A drained one is the same.
TEST_F(Evicted, WhoseWorkerIsKilledBeforeItHearsEndsAllTheSame) {
  start_by_hand({"one", "two", "three", "four"});
  for (const auto& [verb, status] : {std::pair{"evict", 4}, {"drain", 0}}) {
    const std::string name = std::string("spare-") + verb;
    Program& victim = start_node(name);
    ASSERT_TRUE(wait_until([&] { return count_of("joined", name) == 1; }, kSoon)) << victim.err();
    const auto worker = scene.worker_of(name);
    ASSERT_TRUE(worker);
    ASSERT_EQ(::kill(worker->pid, SIGSTOP), 0);
    ASSERT_EQ(order({verb, name}), 0) << said;
    ASSERT_EQ(::kill(worker->pid, SIGKILL), 0);
    EXPECT_EQ(victim.wait(kSoon), status) << victim.err();
    EXPECT_THAT(victim.err(), HasSubstr("signal 9 (Killed); it is started again"));
    EXPECT_FALSE(scene.worker_of(name));
  }
  ASSERT_TRUE(goes_on());
  stop_and_expect_equal_bits();
}

TEST_F(Evicted, ForGoodItIsRefusedAtEveryPortAndAfterEveryRestart) {
  start_train();
  const std::string victim = node_of("stage/0/1");
  const std::string other = node_of("stage/1/0");
  const TlsFiles theirs = stolen(victim, scene.run() / "certs");
  const TlsFiles honest = stolen(other, scene.run() / "certs");
  ASSERT_TRUE(is_let_in_everywhere(theirs)) << "the control";
  const auto begun = steady_clock::now();
  ASSERT_EQ(order({"evict", victim, "--revoke"}), 0) << said;
  EXPECT_THAT(out, HasSubstr(victim + ": its certificates are refused from now on; the join tokens it enrolled "
                                      "with are revoked, too: "));
  EXPECT_TRUE(wait_until([&] { return !is_let_in_anywhere(theirs); }, kRefusedWithin));
  RecordProperty("refused_everywhere_ms", static_cast<int>((steady_clock::now() - begun) / Milliseconds(1)));
  EXPECT_TRUE(wait_until(
      [&] {
        return log_of(victim).find(
                   "ending with status 4: it was evicted by shoal evict "
                   "--revoke") != std::string::npos;
      },
      kSoon));
  ASSERT_TRUE(goes_on());
  EXPECT_TRUE(is_let_in_everywhere(honest)) << "nobody else is refused";
  for (const Words& victims : {Words{"internal-storage"}, {"internal-spawner"}, {"shoal-worker node"}}) {
    const auto killed = named_like(scene.processes(), victims[0]).front().pid;
    ASSERT_EQ(::kill(killed, SIGKILL), 0);
    const auto is_back = [&] {
      const auto now = named_like(scene.processes(), victims[0]);
      return !now.empty() && now.front().pid != killed && !listening_ports(now.front().pid).empty();
    };
    ASSERT_TRUE(wait_until(is_back, kSoon)) << victims[0];
    ASSERT_TRUE(goes_on()) << victims[0];
    for (const char* source : kSources) EXPECT_FALSE(is_let_in_anywhere(theirs, source)) << victims[0];
    ASSERT_TRUE(wait_until([&] { return is_let_in_everywhere(honest); }, kSoon)) << victims[0];
  }
  (void)scene.stop(*program);
  ASSERT_TRUE(scene.wait_until_all_gone(kSoon));
  program = &scene.start({"train", "--resume", scene.run().string()});
  ASSERT_TRUE(goes_on()) << program->err();
  EXPECT_FALSE(is_let_in_anywhere(theirs));
  EXPECT_TRUE(is_let_in_everywhere(honest));
  EXPECT_FALSE(scene.worker_of(victim)) << "another takes its place";
  EXPECT_TRUE(scene.worker_of("node5"));
  stop_and_expect_equal_bits();
}

// A thief of its certificate must not be in the run under a name that nobody thinks to revoke.
TEST_F(Evicted, ACertificateServesNoOtherNameThanItsOwn) {
  start_by_hand({"one", "two", "three", "four", "five"});
  const TlsFiles theirs = stolen("five", scene.folder() / "of-five");
  const std::string folder = fs::path(theirs.certificate).parent_path().string();
  const Words by_certificate = {"node", "--join", join.at(2), "--certs", folder};
  Program& other = scene.start(by_certificate + Words{"--name", "six"});
  EXPECT_EQ(other.wait(kSoon), 4) << other.err();
  EXPECT_THAT(other.err(), HasSubstr("--name six: "));
  EXPECT_THAT(other.err(), HasSubstr("is the certificate of five"));
  // A worker whose keeper has not looked is heard by nobody.
  ProgramStart start;
  start.arguments = Words{(fs::path(shoal_program()).parent_path() / "shoal-worker").string()} + by_certificate +
                    Words{"--name", "six"};
  Program& forged = scene.start_program(std::move(start));
  EXPECT_TRUE(wait_until(
      [this] {
        return program->err().find("a Hello as node six, whose certificate says node five") != std::string::npos ||
               read_all(scene.run() / "logs" / "spawner.log").find("whose certificate says node five") !=
                   std::string::npos;
      },
      kSoon))
      << forged.err();
  EXPECT_EQ(count_of("joined", "six"), 0U);
  ASSERT_EQ(order({"evict", "five"}), 0) << said;
  Program& again = scene.start(by_certificate);
  EXPECT_TRUE(wait_until([this] { return count_of("joined", "five") == 2; }, kSoon)) << again.err();
  ASSERT_EQ(order({"evict", "five", "--revoke"}), 0) << said;
  EXPECT_EQ(again.wait(kSoon), 4) << again.err();
  Program& late = scene.start(by_certificate);
  EXPECT_EQ(late.wait(kSoon), 4) << late.err();
  ASSERT_TRUE(goes_on());
}

// With a token and a folder the node has in the folder what a later start needs.
TEST_F(Evicted, ANodeComesBackByTheCertificateThatItsFolderKept) {
  start_by_hand({"one", "two", "three", "four"});
  const std::string folder = (scene.folder() / "certs-of-five").string();
  const Words with_folder = {"--certs", folder};
  Program& first = scene.start(Words(join) + with_folder + Words{"--name", "five"});
  ASSERT_TRUE(wait_until([this] { return count_of("joined", "five") == 1; }, kSoon)) << first.err();
  ASSERT_EQ(order({"evict", "five"}), 0) << said;
  EXPECT_EQ(first.wait(kSoon), 4) << first.err();
  Program& again = scene.start(Words{"node", "--join", join.at(2)} + with_folder);
  EXPECT_TRUE(wait_until([this] { return count_of("joined", "five") == 2; }, kSoon)) << again.err();
  ASSERT_TRUE(goes_on());
  Program& nothing = scene.start({"node", "--join", join.at(2), "--certs", scene.make_folder("empty").string()});
  EXPECT_EQ(nothing.wait(kSoon), 3) << nothing.err();
  EXPECT_THAT(nothing.err(), HasSubstr("node0.crt"));
}

// A frozen node neither ends nor hears that it is out: others end its connections, and it learns when it is back. One
// that was frozen when it had to refuse another node also learns it later.
TEST_F(Evicted, WhoIsFrozenMeanwhileLearnsItWhenItIsBack) {
  start_train({"--nodes", "5"});
  const std::string victim = node_of("stage/0/1");
  const std::string witness = node_of("stage/1/0");
  const TlsFiles theirs = stolen(victim, scene.run() / "certs");
  const auto frozen = scene.worker_of(victim);
  const auto deaf = scene.worker_of(witness);
  ASSERT_TRUE(frozen && deaf);
  ASSERT_GT(live_connections(frozen->pid), 0U) << "the control";
  ASSERT_EQ(::kill(frozen->pid, SIGSTOP), 0);
  ASSERT_EQ(::kill(deaf->pid, SIGSTOP), 0);
  ASSERT_EQ(order({"evict", victim, "--revoke"}), 0) << said;
  ASSERT_EQ(::kill(deaf->pid, SIGCONT), 0);
  EXPECT_TRUE(wait_until([&] { return live_connections(frozen->pid) == 0; }, kRefusedWithin))
      << live_connections(frozen->pid) << " connections of it live";
  for (const std::uint16_t port : listening_ports(deaf->pid)) EXPECT_FALSE(lets_in("127.0.0.1", port, theirs));
  ASSERT_TRUE(goes_on());
  ASSERT_EQ(::kill(frozen->pid, SIGCONT), 0);
  const auto is_gone = [&] { return named_like(scene.processes(), "--name " + victim + " ").empty(); };
  EXPECT_TRUE(wait_until(is_gone, kSoon)) << "its keeper does not start it again";
  EXPECT_THAT(log_of(victim), HasSubstr("ending with status 4"));
  EXPECT_EQ(count_of("joined", victim), 1U);
  stop_and_expect_equal_bits();
}

// Nothing that was said to it has arrived: the spawner tells it when it asks for the way.
TEST_F(Evicted, WhoWasLostMeanwhileIsTurnedAwayWhenItLooksForTheSpawner) {
  small.sets.emplace_back("swarm.dead_after_ms=2000");
  start_train({"--nodes", "5"});
  const std::string victim = node_of("stage/0/1");
  const auto frozen = scene.worker_of(victim);
  ASSERT_TRUE(frozen);
  ASSERT_EQ(::kill(frozen->pid, SIGSTOP), 0);
  ASSERT_TRUE(wait_until([&] { return count_of("process_lost", victim) == 1; }, kSoon));
  EXPECT_EQ(order({"evict", victim, "--revoke"}), 0) << said;
  EXPECT_THAT(out, HasSubstr(victim + " is not there now; " + victim + ": its certificates are refused from now on"));
  ASSERT_EQ(::kill(frozen->pid, SIGCONT), 0);
  const auto is_gone = [&] { return named_like(scene.processes(), "--name " + victim + " ").empty(); };
  EXPECT_TRUE(wait_until(is_gone, kSoon)) << "its keeper does not start it again";
  EXPECT_THAT(log_of(victim), HasSubstr("was revoked"));
  EXPECT_EQ(count_of("joined", victim), 1U);
  ASSERT_TRUE(goes_on());
  stop_and_expect_equal_bits();
}

// The node has all that it had: its certificate at every port, its token, other names, three addresses.
TEST_F(Evicted, ForAMinuteItTriesFromThreeAddressesAndGetsNowhere) {
  constexpr std::chrono::seconds kTries{60};
  start_by_hand({"one", "two", "three", "four"});
  ASSERT_EQ(order({"token", "new"}), 0) << said;
  const std::string token = out.substr(0, out.find('\n'));
  const Words by_token = {"node", "--join", join.at(2), "--token", token};
  const fs::path kept = scene.make_folder("of-bad");
  Program& bad = scene.start(Words(by_token) + Words{"--name", "bad", "--keep-in", kept.string()});
  ASSERT_TRUE(wait_until([this] { return count_of("joined", "bad") == 1; }, kSoon)) << bad.err();
  const TlsFiles theirs = stolen("bad", kept);
  const TlsFiles honest = stolen("one", scene.folder() / "of-one");
  ASSERT_TRUE(is_let_in_everywhere(theirs)) << "the control";
  ASSERT_EQ(order({"evict", "bad", "--revoke"}), 0) << said;
  EXPECT_EQ(bad.wait(kSoon), 4) << bad.err();
  EXPECT_TRUE(wait_until([&] { return !is_let_in_anywhere(theirs); }, kRefusedWithin));
  const std::string folder = fs::path(theirs.certificate).parent_path().string();
  const std::size_t steps_before = scene.records().steps.size();
  int knocks = 0;
  int starts = 0;
  for (const auto until = steady_clock::now() + kTries; steady_clock::now() < until;) {
    for (const char* source : kSources) {
      for (const std::uint16_t port : ports()) {
        ++knocks;
        ASSERT_FALSE(lets_in(source, port, theirs)) << source << " at " << port;
      }
    }
    const Words tries[] = {{"node", "--join", join.at(2), "--certs", folder, "--name", "bad"},
                           Words(by_token) + Words{"--name", "bad"},
                           Words(by_token) + Words{"--name", "innocent" + std::to_string(starts)},
                           Words(join) + Words{"--name", "bad"}};
    for (const Words& words : tries) {
      Program& attempt = scene.start(words);
      ++starts;
      ASSERT_EQ(attempt.wait(kSoon), 4) << attempt.err();
      ASSERT_THAT(attempt.err(), HasSubstr("revoked"));
    }
  }
  RecordProperty("knocks", knocks);
  RecordProperty("starts", starts);
  std::cerr << knocks << " knocks, " << starts << " starts, " << scene.records().steps.size() - steps_before
            << " steps meanwhile\n";
  EXPECT_EQ(count_of("joined", "bad"), 1U);
  EXPECT_GT(scene.records().steps.size(), steps_before + 20);
  EXPECT_TRUE(is_let_in_everywhere(honest)) << "whoever may come was not locked out";
  ASSERT_EQ(order({"token", "new", "--uses", "1"}), 0) << said;
  const std::string pardon = out.substr(0, out.find('\n'));
  scene.start({"node", "--join", join.at(2), "--token", pardon, "--name", "bad"});
  EXPECT_TRUE(wait_until([this] { return count_of("joined", "bad") == 2; }, kSoon)) << "a person lets it in again";
  EXPECT_FALSE(is_let_in_anywhere(theirs)) << "but not by what it had";
  ASSERT_TRUE(goes_on());
  stop_and_expect_equal_bits();
}

}  // namespace
}  // namespace shoal::evict_test
