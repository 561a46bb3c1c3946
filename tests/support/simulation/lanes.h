// Lanes between the routers of a simulated swarm: like their links, but each with delays of its own, so that letters
// with tensors and all others overtake each other.
//
// Some lanes never open, and some letters find theirs full: both are drawn from the seed. A lane ends with its link, or
// breaks alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "messages/actor_types.h"
#include "runtime/transport/lanes/lanes.h"
#include "tests/support/simulation/clockwork.h"

namespace shoal {

class SimulationNetwork;

// One process of the simulation as the network knows it: the port its router listens at, never given twice.
using SimulatedPort = std::uint16_t;

// Side 0 opened it.
struct SimulatedLane {
  SimulatedPort ports[2] = {};
  LinkId links[2] = {};
  caf::actor relays[2];
  bool is_over = false;
};

class SimulationLanes {
 public:
  SimulationLanes(SimulationClockwork& clockwork, SimulationNetwork& network)
      : clockwork_(&clockwork), network_(&network) {}
  ~SimulationLanes();
  SimulationLanes(const SimulationLanes&) = delete;
  SimulationLanes& operator=(const SimulationLanes&) = delete;

  // Returns the lanes for the router at this port.
  [[nodiscard]] std::shared_ptr<Lanes> of(SimulatedPort port);
  // The lanes that are meant break: both routers hear of it. How many there were.
  std::size_t break_those(const std::function<bool(SimulatedPort, SimulatedPort)>& is_meant);
  // Forgets a process that is gone: its user is told nothing, and its keys are void. Its lanes break with its links.
  void vanish(SimulatedPort port);

  // For the lanes of a port, and for relays.
  [[nodiscard]] std::uint64_t expect(SimulatedPort port, LinkId link);
  void open(SimulatedPort port, LinkId link, SimulatedPort peer, std::uint64_t key);
  [[nodiscard]] LaneOutcome send(SimulatedPort port, LinkId link, EncodedLetter letter);
  void close(SimulatedPort port, LinkId link);
  void tell(SimulatedPort port, const caf::actor& user) { users_[port] = user; }
  [[nodiscard]] caf::actor user_of(SimulatedPort port) const;
  [[nodiscard]] SimulationNetwork& network() const { return *network_; }

 private:
  using End = std::pair<SimulatedPort, LinkId>;
  void end(SimulatedLane& lane);
  void say(const SimulatedLane& lane, int side, LaneChange change) const;

  SimulationClockwork* clockwork_;
  SimulationNetwork* network_;
  std::map<SimulatedPort, caf::actor> users_;
  std::map<std::uint64_t, End> expected_;  // by key
  std::vector<std::shared_ptr<SimulatedLane>> lanes_;
  std::vector<caf::actor> leaving_;
  std::uint64_t keys_ = 0;
};

}  // namespace shoal
