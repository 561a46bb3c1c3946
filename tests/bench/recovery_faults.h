// The faults of bench_recovery, each with what is to be seen of it. The run has 2 stages with 2 replicas, on nodes
// node1 to node4.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/bench/recovery_watch.h"
#include "tests/emulator/emulator.h"
#include "tests/support/process_scene.h"

namespace shoal {

struct Fault {
  std::string name;
  std::function<void(ProcessScene&)> inject;
  Expected expected;
};

// Ends of actors and of processes: over as soon as they have happened.
[[nodiscard]] std::vector<Fault> ends();
// Silences and cuts: they last. The network is the one that the scene's programs are in.
[[nodiscard]] std::vector<Fault> silences(LinkEmulator& network);

// The node that a replica was placed on last, as the run's events say; empty where none was.
[[nodiscard]] std::string node_of(const RunRecords& records, std::uint32_t stage, std::uint32_t slot);

}  // namespace shoal
