// Links between the routers of a simulated swarm: a dialler per process, and a pair of relay actors per connection.
//
// A link promises what TLS over TCP does: frames arrive whole, once and in order, each after a delay drawn from
// the seed (so that links overtake each other), until the link breaks; then both ends are told and everything on
// its way is lost. A way from one process to another may be slow, or stalled for a time: then letters wait, and
// no process can dial across it. Worse faults (a letter lost, doubled, forged or sent elsewhere by a faulty
// router) come from a LinkFault, which sees every letter and says what arrives instead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "messages/actor_types.h"
#include "tests/support/simulation/clockwork.h"
#include "tests/support/simulation/digest.h"
#include "tests/support/simulation/lanes.h"

namespace shoal {

// Way from one process of the simulation to another; both as the network knows them, by the port of their router.
struct SimulatedHop {
  SimulatedPort from = 0;
  SimulatedPort to = 0;
  friend auto operator<=>(const SimulatedHop&, const SimulatedHop&) = default;
};

// Returns what arrives instead of a letter: itself, nothing, several.
using LinkFault = std::function<std::vector<Letter>(const SimulatedHop&, const Letter&)>;

// One connection. Relay 0 takes what the dialling side sends, relay 1 what the other does.
struct SimulatedLink {
  SimulatedPort ports[2] = {};
  caf::actor routers[2];
  caf::actor relays[2];
};

class SimulationNetwork {
 public:
  explicit SimulationNetwork(SimulationClockwork& clockwork) : clockwork_(&clockwork), lanes_(clockwork, *this) {}
  ~SimulationNetwork();
  SimulationNetwork(const SimulationNetwork&) = delete;
  SimulationNetwork& operator=(const SimulationNetwork&) = delete;

  // The actor a router at this port dials with.
  [[nodiscard]] caf::actor make_dialler(SimulatedPort port);
  void listen(SimulatedPort port, const caf::actor& router);
  // Sets where the host "spawner" is from here on, as its control endpoint would say.
  void set_spawner(SimulatedPort port) { spawner_ = port; }
  [[nodiscard]] SimulatedPort spawner() const { return spawner_; }
  // The lanes beside the links. They go where the links go.
  [[nodiscard]] SimulationLanes& lanes() { return lanes_; }
  // The process is gone: its links break, nobody can dial it any more.
  void vanish(SimulatedPort port);
  // Every link of this process breaks; it may dial and be dialled again.
  void break_links(SimulatedPort port);
  // The links between these two break.
  void break_links(SimulatedPort one, SimulatedPort other);
  // Nothing gets through this way until then; the other way is open.
  void stall(const SimulatedHop& hop, Instant until) { stalled_[hop] = until; }
  [[nodiscard]] bool is_stalled(const SimulatedHop& hop) const;
  // Frames take up to so long this way, for good.
  void slow(const SimulatedHop& hop, Duration longest) { slow_[hop] = longest; }

  void set_fault(LinkFault fault) { fault_ = std::move(fault); }
  void set_delay(Duration longest) { delay_ = longest; }
  // An image or a shard takes so long over any lane, from now on, piece by piece; so does a part of a sum, or a
  // microbatch, forward and backward. No lane stays closed or is full.
  void crawl(Duration state_takes) { state_takes_ = state_takes; }
  void crawl_in_sums(Duration part_takes) { part_takes_ = part_takes; }
  void crawl_in_passes(Duration pass_takes) { pass_takes_ = pass_takes; }
  [[nodiscard]] bool is_crawling() const {
    return std::max({state_takes_, part_takes_, pass_takes_}) > Duration::zero();
  }
  // Returns how long this one takes beside its delay.
  [[nodiscard]] Duration crawl_of(const EncodedLetter& letter) const;
  // A letter that `hop.from` never sent arrives at `hop.to` in its name. False: they have no link.
  bool inject(const SimulatedHop& hop, const Letter& letter);

  // For diallers and relays.
  [[nodiscard]] caf::strong_actor_ptr connect(const SimulatedHop& hop);
  [[nodiscard]] std::vector<WireFrame> carry(const SimulatedHop& hop, WireFrame frame);
  [[nodiscard]] std::vector<EncodedLetter> carry(const SimulatedHop& hop, const EncodedLetter& letter);
  [[nodiscard]] WireFrame frame_of(const Letter& letter);
  // Every letter that was sent over a link or a lane so far, in its order.
  [[nodiscard]] std::uint64_t letters_sent() const { return sent_.value(); }
  // Returns when a frame arrives that is sent this way.
  [[nodiscard]] Instant arrival(const SimulatedHop& hop);

 private:
  void end(const std::shared_ptr<SimulatedLink>& link);
  void break_those(const std::function<bool(SimulatedPort, SimulatedPort)>& is_meant);
  void note(const SimulatedHop& hop);

  SimulationClockwork* clockwork_;
  SimulationLanes lanes_;
  std::map<SimulatedPort, caf::actor> routers_;
  std::map<SimulatedPort, caf::actor> diallers_;
  std::vector<std::shared_ptr<SimulatedLink>> links_;
  SimulatedPort spawner_ = 0;
  LinkFault fault_;
  Duration delay_ = std::chrono::milliseconds(3);
  Duration state_takes_{};
  Duration part_takes_{};
  Duration pass_takes_{};
  std::map<SimulatedHop, Duration> slow_;
  std::map<SimulatedHop, Instant> stalled_;
  Digest sent_;
  std::uint64_t transfers_ = std::uint64_t{1} << 40;  // beyond those of any router
};

}  // namespace shoal
