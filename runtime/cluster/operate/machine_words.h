// Lists what the machines of a run give (P-25c) and how they use it, in words: `shoal ps`, `shoal status`, events.
//
// Pure. The words are those that sizes are typed in: decimal units, bit/s.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cluster/process_directory.h"

namespace shoal {

// Says "38.0 GFLOP/s a thread, 24.0 GB, its machine 128.0 GB of host memory, up 50 Mbit/s, down 100 Mbit/s" of what is
// stated; empty: nothing is.
[[nodiscard]] std::string offer_text(const MachineOffer& offer);

// A process of a node as `shoal ps` lists it.
struct MachineLine {
  std::string name;  // node2, node2:1
  std::string device;
  MachineOffer offer;
  DeviceUse use{};
};

// The living processes of nodes, in the order of their joins.
[[nodiscard]] std::vector<MachineLine> list_machines(const ProcessDirectory& processes);

}  // namespace shoal
