// A relay actor per direction, as for links. Nothing here ends an actor at once: routers call from their handlers.
#include "tests/support/simulation/lanes.h"

#include <algorithm>
#include <utility>

#include "messages/actor_types.h"
#include "runtime/transport/assembly.h"
#include "tests/support/simulation/network.h"
#include "tests/support/simulation/passage.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kOneInNeverOpens = 8;
constexpr std::uint64_t kOneInIsFull = 16;

struct LaneRelayState {
  static inline const char* name = "lane_relay";
  SimulationLanes* lanes = nullptr;
  std::shared_ptr<SimulatedLane> lane;
  int side = 0;
  Passage<EncodedLetter> passage;
  Instant crawls_until{};  // one letter after the other
};

using LaneRelay = caf::stateful_actor<LaneRelayState>;

[[nodiscard]] SimulatedHop hop_of(const LaneRelayState& state) {
  return {state.lane->ports[state.side], state.lane->ports[1 - state.side]};
}

// Shows the other side the progress of a letter that takes so long.
void show_pieces(LaneRelay* self, const EncodedLetter& letter, Duration begins, Duration takes) {
  const std::uint64_t bytes = byte_count({{}, letter.buffers});
  for (Duration at = Assembler::kNewsEvery; at < takes; at += Assembler::kNewsEvery) {
    self->delayed_send(
        self, begins + at,
        LaneProgress{0, letter, bytes * static_cast<std::uint64_t>(at / 1s) / static_cast<std::uint64_t>(takes / 1s),
                     at});
  }
}

void pass_on(LaneRelay* self, LaneProgress piece) {
  const auto& state = self->state;
  const int other = 1 - state.side;
  const caf::actor user = state.lanes->user_of(state.lane->ports[other]);
  piece.link = state.lane->links[other].value;
  if (!state.lane->is_over && user) caf::anon_send(user, std::move(piece));
}

void take(LaneRelay* self, const EncodedLetter& sent) {
  auto& state = self->state;
  SimulationNetwork& network = state.lanes->network();
  for (EncodedLetter& letter : network.carry(hop_of(state), sent)) {
    const Duration crawl = network.crawl_of(letter);
    const Instant now = self->clock().now();
    const Duration begins = std::max(state.crawls_until, now) - now;
    if (crawl > Duration::zero()) state.crawls_until = now + begins + crawl;
    show_pieces(self, letter, begins, crawl);
    state.passage.enter(self, network.arrival(hop_of(state)) + begins + crawl, std::move(letter));
  }
}

void arrive(LaneRelay* self) {
  auto& state = self->state;
  EncodedLetter letter = state.passage.leave();
  const int other = 1 - state.side;
  const caf::actor user = state.lanes->user_of(state.lane->ports[other]);
  if (!state.lane->is_over && user) {
    caf::anon_send(user, LaneLetter{state.lane->links[other].value, std::move(letter), {}});
  }
}

caf::behavior lane_relay(LaneRelay* self, SimulationLanes* lanes, std::shared_ptr<SimulatedLane> lane, int side) {
  self->state.lanes = lanes;
  self->state.lane = std::move(lane);
  self->state.side = side;
  return {[self](const LaneLetter& sent) { take(self, sent.letter); },
          [self](const LaneProgress& piece) { pass_on(self, piece); }, [self](const Tick&) { arrive(self); },
          [self](const LaneChange& later) {  // room again, for who sends this way
            const auto& state = self->state;
            const SimulatedHop hop = hop_of(state);
            const Duration wait = state.lanes->network().arrival(hop) - self->clock().now();
            if (const caf::actor user = state.lanes->user_of(hop.from)) self->delayed_send(user, wait, later);
          }};
}

class LanesOfPort final : public Lanes {
 public:
  LanesOfPort(SimulationLanes& lanes, SimulatedPort port) : lanes_(&lanes), port_(port) {}
  void tell(const caf::actor& user) override { lanes_->tell(port_, user); }
  [[nodiscard]] std::uint64_t expect(LinkId link) override { return lanes_->expect(port_, link); }
  void open(LinkId link, const Endpoint& endpoint, std::uint64_t key) override {
    lanes_->open(port_, link, endpoint.port, key);
  }
  [[nodiscard]] LaneOutcome send(LinkId link, EncodedLetter letter) override {
    return lanes_->send(port_, link, std::move(letter));
  }
  void close(LinkId link) override { lanes_->close(port_, link); }

 private:
  SimulationLanes* lanes_;
  SimulatedPort port_;
};

}  // namespace

SimulationLanes::~SimulationLanes() {
  for (const auto& lane : lanes_) end(*lane);
  for (const auto& relay : leaving_) clockwork_->end_now(relay);
}

std::shared_ptr<Lanes> SimulationLanes::of(SimulatedPort port) { return std::make_shared<LanesOfPort>(*this, port); }

caf::actor SimulationLanes::user_of(SimulatedPort port) const {
  const auto found = users_.find(port);
  return found == users_.end() ? caf::actor{} : found->second;
}

std::uint64_t SimulationLanes::expect(SimulatedPort port, LinkId link) {
  const auto known = std::find_if(expected_.begin(), expected_.end(), [&](const auto& entry) {
    return entry.second == End{port, link};
  });
  if (known != expected_.end()) return known->first;
  expected_[++keys_] = {port, link};
  return keys_;
}

void SimulationLanes::open(SimulatedPort port, LinkId link, SimulatedPort peer, std::uint64_t key) {
  const auto expected = expected_.find(key);
  if (expected == expected_.end() || expected->second.first != peer) return;
  const auto is_known = [&](const auto& lane) { return lane->links[0] == link && lane->ports[0] == port; };
  if (std::any_of(lanes_.begin(), lanes_.end(), is_known)) return;
  if (clockwork_->draw(kOneInNeverOpens) == 0 && !network_->is_crawling()) return;
  auto lane = std::make_shared<SimulatedLane>();
  lane->ports[0] = port;
  lane->links[0] = link;
  std::tie(lane->ports[1], lane->links[1]) = expected->second;
  for (int side = 0; side < 2; ++side) lane->relays[side] = clockwork_->system().spawn(lane_relay, this, lane, side);
  for (int side = 0; side < 2; ++side) say(*lane, side, {0, LaneChange::Kind::kUp});
  lanes_.push_back(std::move(lane));
}

LaneOutcome SimulationLanes::send(SimulatedPort port, LinkId link, EncodedLetter letter) {
  for (const auto& lane : lanes_) {
    for (int side = 0; side < 2; ++side) {
      if (lane->ports[side] != port || lane->links[side] != link) continue;
      const bool is_full = clockwork_->draw(kOneInIsFull) == 0 && !network_->is_crawling();
      if (is_full) {
        caf::anon_send(lane->relays[side], LaneChange{link.value, LaneChange::Kind::kRoom});
        return LaneOutcome::kFull;
      }
      caf::anon_send(lane->relays[side], LaneLetter{link.value, std::move(letter), {}});
      return LaneOutcome::kTaken;
    }
  }
  return LaneOutcome::kNone;
}

void SimulationLanes::close(SimulatedPort port, LinkId link) {
  std::erase_if(expected_, [&](const auto& entry) { return entry.second == End{port, link}; });
  const auto has_end = [&](const auto& lane, int side) {
    return lane->ports[side] == port && lane->links[side] == link;
  };
  std::erase_if(lanes_, [&](const auto& lane) {
    if (!has_end(lane, 0) && !has_end(lane, 1)) return false;
    say(*lane, has_end(lane, 0) ? 1 : 0, {0, LaneChange::Kind::kLost, "closed by the peer"});
    end(*lane);
    return true;
  });
}

std::size_t SimulationLanes::break_those(const std::function<bool(SimulatedPort, SimulatedPort)>& is_meant) {
  return std::erase_if(lanes_, [&](const auto& lane) {
    if (!is_meant(lane->ports[0], lane->ports[1])) return false;
    for (int side = 0; side < 2; ++side) say(*lane, side, {0, LaneChange::Kind::kLost, "broken"});
    end(*lane);
    return true;
  });
}

void SimulationLanes::vanish(SimulatedPort port) {
  users_.erase(port);
  std::erase_if(expected_, [&](const auto& entry) { return entry.second.first == port; });
}

// The relays go in their turn, or with this.
void SimulationLanes::end(SimulatedLane& lane) {
  lane.is_over = true;
  for (auto& relay : lane.relays) {
    caf::anon_send_exit(relay, caf::exit_reason::kill);
    leaving_.push_back(std::exchange(relay, nullptr));
  }
}

void SimulationLanes::say(const SimulatedLane& lane, int side, LaneChange change) const {
  change.link = lane.links[side].value;
  if (const caf::actor user = user_of(lane.ports[side])) caf::anon_send(user, std::move(change));
}

}  // namespace shoal
