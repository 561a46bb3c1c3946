// A run on nodes of its own that come, go and are killed while it trains, and what it ends with: its weights beside
// those of one process, its trace checked, and what it did in vain.
//
// Devices are of a known pace, so that two cores are idle most of the time and many workers fit on them. Nodes are
// node1, node2, ... in the order of their joins; no name comes twice.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/recovery_watch.h"
#include "tests/support/process_scene.h"

namespace shoal {

struct StormSetup {
  SmallRun run;  // settings that the single process has, too
  int nodes = 2;
  int pace_ms = 30;
  std::map<std::string, std::string> environment{};
};

struct StormNode {
  std::string name;
  Program* keeper = nullptr;
  WatchClock::time_point asked_at;  // when its command was given
  bool is_leaving = false;          // was told to leave, or killed
};

struct StormEnd {
  bool is_in_order = false;  // the run was saved, those told to leave did so, the trace holds
  std::string complaint;     // the first thing that is wrong
  std::string weights;
  std::string weights_of_single;
  std::uint64_t steps = 0;
  std::map<std::string, int> events;  // how often each was told
};

class StormRun {
 public:
  explicit StormRun(StormSetup setup);

  // Returns once so many steps are done; false: they are not within two minutes.
  [[nodiscard]] bool begin(std::size_t steps);
  const StormNode& join();
  void drain(const std::string& name);      // `shoal drain`
  void terminate(const std::string& name);  // SIGTERM to the node's keeper
  // SIGKILL to the keeper and the worker at once: that machine is gone. Returns false where it was gone before.
  bool kill_node(const std::string& name);
  // SIGKILL to the spawner's process; its keeper starts it again.
  bool kill_spawner();
  // Looks at the run until then.
  void pass_until(WatchClock::time_point then);

  // The nodes that serve these slots (stage, slot) first, by the run's records; fewer where one of them is not served.
  [[nodiscard]] std::vector<std::string> serving(const std::vector<std::pair<int, int>>& places) const;
  // Those that were not told to leave.
  [[nodiscard]] std::vector<std::string> here() const;
  [[nodiscard]] const std::vector<StormNode>& nodes() const { return nodes_; }
  [[nodiscard]] Watcher& watcher() { return *watcher_; }
  [[nodiscard]] ProcessScene& scene() { return scene_; }

  // Stops the run, lets one process train as many steps, and compares.
  [[nodiscard]] StormEnd end();

 private:
  [[nodiscard]] StormNode& node(const std::string& name);

  StormSetup setup_;
  ProcessScene scene_;
  Program* spawner_ = nullptr;
  std::vector<std::string> join_words_;
  std::vector<StormNode> nodes_;
  std::vector<Program*> orders_;
  std::optional<Watcher> watcher_;
};

}  // namespace shoal
