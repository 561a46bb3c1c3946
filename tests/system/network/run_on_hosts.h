// A run whose spawner and nodes are on hosts of their own (network_namespaces.h): the last host has the spawner, each
// other one may have a node, `host1` and so on.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/process_scene.h"
#include "tests/system/network/network_namespaces.h"

namespace shoal {

class RunOnHosts : public testing::Test {
 protected:
  using Words = std::vector<std::string>;

  static constexpr Milliseconds kSoon{20'000};
  static constexpr int kBoss = 5;  // the spawner's host
  static constexpr const char* kNodePort = ":7100";

  static Words joined(Words left, const Words& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
  }
  Program& start_on(int host, const Words& words) {
    ProgramStart start;
    start.arguments = joined(joined(hosts.on(host), {shoal_program()}), words);
    start.folder = scene.make_folder("of-host" + std::to_string(host));
    return scene.start_program(std::move(start));
  }
  Program& start_spawner(const SmallRun& small) {
    const Words here = {"spawner", "--out", scene.run().string(), "--listen", hosts.address_of(kBoss) + ":7000"};
    return start_on(kBoss, joined(here, settings_of(scene, small)));
  }
  // join: what the spawner says a node is started with.
  Program& start_node(int host, const Words& join) {
    return start_on(host, joined(join, {"--name", name_of(host), "--listen", hosts.address_of(host) + kNodePort}));
  }
  static std::string name_of(int host) { return "host" + std::to_string(host); }
  [[nodiscard]] bool has_event(const std::string& event, const std::string& subject) const {
    const auto records = scene.records();
    return std::ranges::any_of(records.events,
                               [&](const EventLine& line) { return line.event == event && line.subject == subject; });
  }
  [[nodiscard]] bool goes_on() const { return scene.wait_for_steps(scene.records().steps.size() + 3); }
  std::string ask_on_boss(const Words& words) {
    Program& command = start_on(kBoss, joined(words, {"--run", scene.run().string()}));
    EXPECT_EQ(command.wait(kSoon), 0) << command.err();
    return command.out();
  }

  ProcessScene scene;
  NetworkNamespaces hosts{kBoss};
};

}  // namespace shoal
