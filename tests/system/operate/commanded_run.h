// A run, and the commands that a person gives it: what several tests of whole runs begin with. A command is given as it
// would be typed, and what it said is kept until the next one.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/process_scene.h"

namespace shoal {

class CommandedRun : public testing::Test {
 protected:
  // Gives `shoal WORDS --run DIR` to the scene's run "run". Returns its exit status; `said` and `out` are what it said.
  int order(std::vector<std::string> words) {
    words.insert(words.end(), {"--run", scene.run().string()});
    Program& command = scene.start(std::move(words));
    const int status = command.wait(kRunLimit).value_or(-1);
    said = command.out() + command.err();
    out = command.out();
    return status;
  }
  // Lists the actors as `shoal ps --json` does; none: it failed.
  [[nodiscard]] nlohmann::json actors() {
    if (order({"ps", "--json"}) != 0) return nlohmann::json::array();
    return nlohmann::json::parse(out, nullptr, false);
  }
  // The node on which an actor lives; empty: there is no such actor now.
  [[nodiscard]] std::string node_of(const std::string& name) {
    for (const auto& actor : actors()) {
      if (actor.at("name") == name) return actor.at("node").get<std::string>();
    }
    return {};
  }

  ProcessScene scene;
  std::string said;  // by the last command, in all
  std::string out;   // on stdout alone
};

}  // namespace shoal
