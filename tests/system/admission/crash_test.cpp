// An admitted guest makes a worker and the spawner crash, by bytes: after the second time it is refused and named, the
// crashes cost nothing of anybody's restarts, and no bit of the run moves by them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "runtime/transport/control/control_client.h"
#include "tests/support/guest/fragile.h"
#include "tests/support/guest/guest.h"
#include "tests/support/guest/listening_ports.h"
#include "tests/system/admission/admitted_guest.h"
#include "tests/system/operate/commanded_run.h"

namespace shoal::crash_test {
namespace {

namespace fs = std::filesystem;
using guest::Guest;
using testing::HasSubstr;

constexpr Milliseconds kSoon{60'000};
constexpr std::chrono::seconds kPatience{5};
constexpr int kBlows = 2;

SmallRun endless_run() { return {2, 2, kEndless, {"sync.reduction=exact", "checkpoint.every=50"}}; }

class CrashingGuest : public CommandedRun {
 protected:
  CrashingGuest() {
    const fs::path fragile = fs::path(shoal_program()).parent_path() / "libshoal-fragile.so";
    scene.set_environment({{"LD_PRELOAD", fragile.string()}});
    program = &scene.start(train(scene, "run", small));
  }
  [[nodiscard]] pid_t process_of(const std::string& words) const {
    const auto found = named_like(scene.processes(), words);
    return found.empty() ? 0 : found.front().pid;
  }
  // 0: it does not listen yet.
  [[nodiscard]] std::uint16_t door_of(const std::string& words) const {
    const auto doors = guest::listening_ports(process_of(words));
    return doors.empty() ? std::uint16_t{0} : doors.front();
  }
  [[nodiscard]] bool is_let_in(const std::string& words, const TlsFiles& files) const {
    return Guest::enter({"127.0.0.1", door_of(words)}, files, kPatience).has_value();
  }
  [[nodiscard]] std::string control_address() const {
    const std::string json = read_all(scene.run() / "spawner.json");
    const auto begin = json.find("127.0.0.1:");
    return json.substr(begin, json.find('"', begin) - begin);
  }
  // Says why the control endpoint does not answer a holder of these certificates; empty: it does.
  [[nodiscard]] std::string control_says(const TlsFiles& files) const {
    const auto client = ControlClient::create(files, parse_host_port(control_address()).value());
    const auto answer = client ? client->rendezvous() : Result<Rendezvous>(client.failure());
    return answer ? std::string() : answer.failure().message;
  }
  [[nodiscard]] bool goes_on() const { return scene.wait_for_steps(scene.records().steps.size() + 4); }
  // The process reads the guest's bytes, and another one takes its place and is let into the run again.
  void crash(const std::string& words, const TlsFiles& files) {
    ASSERT_TRUE(wait_until([&] { return door_of(words) != 0; }, kSoon)) << words;
    const pid_t victim = process_of(words);
    auto bad = Guest::enter({"127.0.0.1", door_of(words)}, files, kPatience);
    ASSERT_TRUE(bad && bad->greet()) << "it is let in until it is refused: " << words;
    ASSERT_TRUE(bad->say(letter_frame(bad->who(), guest::kFatalWords)));
    const auto is_back = [&] { return process_of(words) != victim && door_of(words) != 0; };
    ASSERT_TRUE(wait_until(is_back, kSoon)) << words;
    ASSERT_TRUE(goes_on()) << words << '\n' << program->err();
  }
  // All that keepers and processes said.
  [[nodiscard]] std::string words_of_all() const {
    std::string words = program->err();
    for (const char* log : {"spawner.log", "node1.log"}) words += read_all(scene.run() / "logs" / log);
    return words;
  }
  [[nodiscard]] std::size_t times_said(const std::string& part) const {
    const std::string words = words_of_all();
    std::size_t times = 0;
    for (auto at = words.find(part); at != std::string::npos; at = words.find(part, at + 1)) ++times;
    return times;
  }
  [[nodiscard]] std::vector<std::string> refusals() const {
    std::vector<std::string> reasons;
    for (const EventLine& line : scene.records().events) {
      if (line.event == "peer_refused" && line.subject == "node/guest") reasons.push_back(line.reason);
    }
    return reasons;
  }

  SmallRun small = endless_run();
  Program* program = nullptr;
};

TEST_F(CrashingGuest, IsRefusedNamedAndCostsNobodysRestarts) {
  ASSERT_TRUE(scene.wait_for_steps(5)) << program->err();
  const TlsFiles bad = certificate_of_guest(scene, "run");
  const TlsFiles honest = certificate_of_guest(scene, "run", "honest");
  for (const std::string victim : {"shoal-worker node --name node1 ", "internal-spawner"}) {
    for (int blow = 0; blow < kBlows; ++blow) ASSERT_NO_FATAL_FAILURE(crash(victim, bad));
    EXPECT_FALSE(is_let_in(victim, bad)) << victim;
    EXPECT_FALSE(is_let_in(victim, certificate_of_guest(scene, "run")))
        << "another certificate of its name: " << victim;
    EXPECT_TRUE(is_let_in(victim, honest)) << "the control: " << victim;
  }
  EXPECT_TRUE(is_let_in("shoal-worker node --name node2 ", bad)) << "who never crashed by it";
  EXPECT_THAT(control_says(bad), HasSubstr("What guest sent has made this process crash twice"));
  EXPECT_EQ(control_says(honest), "") << "the control";
  Program& again = scene.start({"node", "--join", control_address(), "--token",
                                "@" + (scene.run() / "certs" / "join_token").string(), "--name", "guest"});
  EXPECT_EQ(again.wait(kSoon), 4) << again.err();
  EXPECT_THAT(again.err(), HasSubstr("the name 'guest' is refused"));
  EXPECT_EQ(times_said("had sent, again: every certificate of that name is refused from now on"), 2U) << words_of_all();
  for (const char* ward : {"node1", "spawner process"}) {
    EXPECT_EQ(times_said(std::string(ward) + ": signal 6 (Aborted), brought about by a peer"), std::size_t{kBlows})
        << "each costs nothing of the budget: " << words_of_all();
  }
  EXPECT_TRUE(wait_until([this] { return refusals().size() >= 2; }, kSoon));
  for (const char* who : {"node1", "spawner"}) {
    const std::string words = std::string(who) + " crashed twice while it read what guest had sent";
    EXPECT_THAT(refusals(), testing::Contains(testing::AllOf(testing::StartsWith(words),
                                                             HasSubstr("start it under another --name"))));
  }
  ASSERT_EQ(order({"status"}), 0) << said;
  for (const char* who : {"node1", "spawner"}) EXPECT_THAT(out, HasSubstr(std::string("node/guest by ") + who));
  scene.set_environment({});
  ASSERT_TRUE(scene.stop_and_repeat_single(*program, small));
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
}

}  // namespace
}  // namespace shoal::crash_test
