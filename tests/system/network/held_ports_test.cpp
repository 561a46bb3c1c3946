// Ports that somebody else has when a command of a run wants them: for a moment, as those of a keeper that was killed,
// or for good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <memory>

#include "runtime/transport/sockets.h"
#include "tests/support/process_scene.h"
#include "tests/support/taken_port.h"

namespace shoal::held_ports_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr Milliseconds kSoon{20'000};

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

std::string at(const TakenPort& port) { return "127.0.0.1:" + std::to_string(port.number()); }

class HeldPorts : public testing::Test {
 protected:
  Program& start_spawner(const Words& words = {}) {
    return scene.start(Words{"spawner", "--out", scene.run().string()} + settings_of(scene, {1, 1, kEndless, {}}) +
                       words);
  }
  Program& start_node(const Words& join, const std::string& listen) {
    return scene.start(join + Words{"--name", "host1", "--listen", listen});
  }
  // Returns the value of a name in the run's spawner.json; empty: there is none.
  [[nodiscard]] std::string told(const std::string& key) const {
    const std::string json = read_all(scene.run() / "spawner.json");
    const auto found = json.find('"' + key + "\": \"");
    if (found == std::string::npos) return {};
    const auto begin = found + key.size() + 5;
    return json.substr(begin, json.find('"', begin) - begin);
  }

  ProcessScene scene;
};

TEST_F(HeldPorts, ANodeWaitsForOneThatIsLetGo) {
  Program& boss = start_spawner();
  const Words join = wait_for_join_words(boss);
  auto taken = std::make_unique<TakenPort>();
  const std::string address = at(*taken);
  Program& node = start_node(join, address);
  ASSERT_TRUE(
      wait_until([&] { return node.err().find(address + " is in use; trying for 10 s") != std::string::npos; }, kSoon))
      << node.err();
  taken.reset();
  EXPECT_TRUE(scene.wait_for_steps(3)) << node.err();
  EXPECT_EQ(node.err().find("is in use"), node.err().rfind("is in use")) << "once: " << node.err();
}

TEST_F(HeldPorts, ANodeStartedAfterItsKeeperWasKilledHasItsPort) {
  Program& boss = start_spawner();
  const Words join = wait_for_join_words(boss);
  std::string address;
  {
    const TakenPort free;
    address = at(free);
  }
  for (int life = 0; life < 3; ++life) {
    Program& node = start_node(join, address);
    ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 2)) << node.err();
    node.signal(SIGKILL);
    ASSERT_EQ(node.wait(kSoon), 128 + SIGKILL);
  }
}

TEST_F(HeldPorts, ANodeEndsWhereSomebodyElseKeepsItAndNamesIt) {
  Program& boss = start_spawner();
  const Words join = wait_for_join_words(boss);
  const TakenPort taken;
  Program& node = start_node(join, at(taken));
  EXPECT_EQ(node.wait(kSoon), 2) << node.err();
  EXPECT_THAT(node.err(), HasSubstr("Cannot listen on " + at(taken) + ": Address already in use"));
}

TEST_F(HeldPorts, AWorkerWhoseOneIsTakenWhileItIsDownComesBackWhenItIsFree) {
  Program& boss = start_spawner();
  const Words join = wait_for_join_words(boss);
  auto taken = std::make_unique<TakenPort>();
  const std::string address = at(*taken);
  const int number = taken->number();
  taken.reset();
  Program& node = start_node(join, address);
  ASSERT_TRUE(scene.wait_for_steps(3)) << node.err();
  ASSERT_EQ(::kill(scene.worker_of("host1")->pid, SIGKILL), 0);
  taken = std::make_unique<TakenPort>(static_cast<std::uint16_t>(number));
  ASSERT_TRUE(wait_until([&] { return node.err().find("exit status 2; restart ") != std::string::npos; }, kSoon))
      << node.err();
  EXPECT_THAT(node.err(), HasSubstr("Cannot listen on " + address));
  taken.reset();
  EXPECT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 3)) << node.err();
}

TEST_F(HeldPorts, StorageTakesTheNextOneAlsoInARunThatAnEarlierVersionBegan) {
  std::uint16_t port = 0;
  while (port == 0) {
    const TakenPort first;
    const auto next = listen_on({"127.0.0.1", static_cast<std::uint16_t>(first.number() + 1)});
    if (next.ok()) port = static_cast<std::uint16_t>(first.number());
  }
  Program& boss = start_spawner({"--listen", host_port_text({"127.0.0.1", port})});
  (void)wait_for_join_words(boss);
  boss.signal(SIGKILL);
  ASSERT_EQ(boss.wait(kSoon), 128 + SIGKILL);
  const std::string storage = host_port_text({"127.0.0.1", static_cast<std::uint16_t>(port + 1)});
  ASSERT_EQ(told("storage"), storage);
  std::string json = read_all(scene.run() / "spawner.json");
  const auto begin = json.find("\"storage\"");
  json.replace(begin, std::string("\"storage\"").size(), "\"what was not told\"");
  std::ofstream(scene.run() / "spawner.json") << json;
  Program& again = scene.start({"spawner", "--resume", scene.run().string()});
  (void)wait_for_join_words(again);
  EXPECT_EQ(told("storage"), storage) << again.err();
}

TEST_F(HeldPorts, StorageOfASpawnerThatListensEverywhereDoes) {
  Program& boss = start_spawner({"--listen", "0.0.0.0:0"});
  (void)wait_for_join_words(boss);
  const std::string log = read_all(scene.run() / "logs" / "storage.log");
  EXPECT_THAT(log, HasSubstr("storage: listens at 0.0.0.0:"));
  EXPECT_THAT(log, Not(HasSubstr("listens at 127.0.0.1:")));
}

}  // namespace
}  // namespace shoal::held_ports_test
