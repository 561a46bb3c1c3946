// Diallers, relays, and what faults do to letters.
#include "tests/support/simulation/network.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "messages/codec.h"
#include "runtime/base/ensure.h"
#include "runtime/transport/assembly.h"
#include "tests/support/simulation/passage.h"

namespace shoal {
namespace {

// A state in pieces takes as long as a whole one: each piece its share.
template <class State>
[[nodiscard]] Duration share_of(const State& state, Duration state_takes) {
  if (state.bytes_total == 0) return state_takes;
  const double share = static_cast<double>(state.image.bytes->size()) / static_cast<double>(state.bytes_total);
  return std::chrono::duration_cast<Duration>(state_takes * share);
}

struct RelayState {
  static inline const char* name = "relay";
  SimulationNetwork* network = nullptr;
  std::shared_ptr<SimulatedLink> link;
  int side = 0;
  Passage<WireFrame> passage;
};

using Relay = caf::stateful_actor<RelayState>;

[[nodiscard]] SimulatedHop hop_of(const RelayState& state) {
  return {state.link->ports[state.side], state.link->ports[1 - state.side]};
}

void take(Relay* self, WireFrame frame) {
  auto& state = self->state;
  state.passage.enter(self, state.network->arrival(hop_of(state)), std::move(frame));
}

void arrive(Relay* self) {
  auto& state = self->state;
  WireFrame frame = state.passage.leave();
  const int other = 1 - state.side;
  caf::send_as(state.link->relays[other], state.link->routers[other], std::move(frame));
}

caf::behavior relay(Relay* self, SimulationNetwork* network, std::shared_ptr<SimulatedLink> link, int side) {
  self->state.network = network;
  self->state.link = std::move(link);
  self->state.side = side;
  for (const auto& router : self->state.link->routers) self->monitor(router);
  self->set_down_handler([self](const caf::down_msg&) { self->quit(caf::exit_reason::remote_link_unreachable); });
  return {[self](WireFrame& frame) {
            const auto& state = self->state;
            for (WireFrame& carried : state.network->carry(hop_of(state), std::move(frame))) {
              take(self, std::move(carried));
            }
          },
          [self](const Letter& letter) { take(self, self->state.network->frame_of(letter)); },
          [self](const Tick&) { arrive(self); }};
}

using Connected = caf::result<caf::node_id, caf::strong_actor_ptr, std::set<std::string>>;

caf::behavior dialler(caf::event_based_actor*, SimulationNetwork* network, SimulatedPort self_port) {
  return {[network, self_port](caf::connect_atom, const std::string& host, std::uint16_t port) -> Connected {
    auto peer = network->connect({self_port, host == "spawner" ? network->spawner() : port});
    if (!peer) return caf::make_error(caf::sec::cannot_connect_to_node);
    return {caf::node_id{}, std::move(peer), std::set<std::string>{}};
  }};
}

}  // namespace

SimulationNetwork::~SimulationNetwork() {
  while (!links_.empty()) {
    const auto link = links_.back();
    links_.pop_back();
    end(link);
  }
  for (const auto& [port, actor] : diallers_) clockwork_->end_now(actor);
}

caf::actor SimulationNetwork::make_dialler(SimulatedPort port) {
  auto actor = clockwork_->system().spawn(dialler, this, port);
  diallers_[port] = actor;
  return actor;
}

void SimulationNetwork::listen(SimulatedPort port, const caf::actor& router) { routers_[port] = router; }

void SimulationNetwork::end(const std::shared_ptr<SimulatedLink>& link) {
  for (auto& actor : link->relays) clockwork_->end_now(actor);
  *link = SimulatedLink{};
}

void SimulationNetwork::break_links(SimulatedPort port) {
  break_those([port](SimulatedPort from, SimulatedPort to) { return from == port || to == port; });
}

void SimulationNetwork::break_links(SimulatedPort one, SimulatedPort other) {
  break_those([one, other](SimulatedPort from, SimulatedPort to) {
    return (from == one && to == other) || (from == other && to == one);
  });
}

void SimulationNetwork::break_those(const std::function<bool(SimulatedPort, SimulatedPort)>& is_meant) {
  (void)lanes_.break_those(is_meant);
  const auto first = std::stable_partition(links_.begin(), links_.end(),
                                           [&](const auto& link) { return !is_meant(link->ports[0], link->ports[1]); });
  const std::vector<std::shared_ptr<SimulatedLink>> broken(first, links_.end());
  links_.erase(first, links_.end());
  for (const auto& link : broken) end(link);
}

void SimulationNetwork::vanish(SimulatedPort port) {
  routers_.erase(port);
  lanes_.vanish(port);
  break_links(port);
  if (const auto found = diallers_.find(port); found != diallers_.end()) {
    clockwork_->end_now(found->second);
    diallers_.erase(found);
  }
}

caf::strong_actor_ptr SimulationNetwork::connect(const SimulatedHop& hop) {
  const auto from = routers_.find(hop.from);
  const auto to = routers_.find(hop.to);
  if (from == routers_.end() || to == routers_.end()) return nullptr;
  if (is_stalled(hop) || is_stalled({hop.to, hop.from})) return nullptr;
  auto link = std::make_shared<SimulatedLink>();
  link->ports[0] = hop.from;
  link->ports[1] = hop.to;
  link->routers[0] = from->second;
  link->routers[1] = to->second;
  for (int side = 0; side < 2; ++side) link->relays[side] = clockwork_->system().spawn(relay, this, link, side);
  links_.push_back(link);
  return caf::actor_cast<caf::strong_actor_ptr>(link->relays[0]);
}

bool SimulationNetwork::inject(const SimulatedHop& hop, const Letter& letter) {
  for (auto link = links_.rbegin(); link != links_.rend(); ++link) {
    for (int side = 0; side < 2; ++side) {
      if ((*link)->ports[side] != hop.from || (*link)->ports[1 - side] != hop.to) continue;
      caf::anon_send((*link)->relays[side], letter);
      return true;
    }
  }
  return false;
}

void SimulationNetwork::note(const SimulatedHop& hop) {
  sent_.add(hop.from);
  sent_.add(hop.to);
}

std::vector<WireFrame> SimulationNetwork::carry(const SimulatedHop& hop, WireFrame frame) {
  note(hop);
  sent_.add(frame.bytes);
  std::vector<WireFrame> frames;
  if (!fault_) {
    frames.push_back(std::move(frame));
    return frames;
  }
  auto whole = Assembler{}.accept(frame.bytes, clockwork_->now());
  ENSURE(whole.ok() && whole->has_value(), "letters of the simulation fit one frame");
  auto letter = decode((*whole)->letter, (*whole)->buffers);
  ENSURE(letter.value.has_value(), letter.malformed);
  for (const Letter& arrives : fault_(hop, *letter.value)) frames.push_back(frame_of(arrives));
  return frames;
}

std::vector<EncodedLetter> SimulationNetwork::carry(const SimulatedHop& hop, const EncodedLetter& letter) {
  note(hop);
  sent_.add(letter.bytes);
  for (const SharedBuffer& buffer : letter.buffers) {
    sent_.add({reinterpret_cast<const char*>(buffer->data()), buffer->size()});
  }
  if (!fault_) return {letter};
  const auto decoded = decode(letter.bytes, letter.buffers);
  ENSURE(decoded.value.has_value(), decoded.malformed);
  std::vector<EncodedLetter> letters;
  for (const Letter& arrives : fault_(hop, *decoded.value)) letters.push_back(encode(arrives));
  return letters;
}

WireFrame SimulationNetwork::frame_of(const Letter& letter) {
  std::vector<WireFrame> frames;
  cut(encode(letter), ++transfers_, [&](std::vector<char> bytes) { frames.push_back(WireFrame{std::move(bytes)}); });
  ENSURE(frames.size() == 1, "letters of the simulation fit one frame");
  return std::move(frames.front());
}

Duration SimulationNetwork::crawl_of(const EncodedLetter& letter) const {
  if (!is_crawling()) return {};
  const auto decoded = decode(letter.bytes, letter.buffers);
  if (!decoded.value) return {};
  const MessageBody& body = decoded.value->body;
  if (std::holds_alternative<Part>(body)) return part_takes_;
  if (std::holds_alternative<Forward>(body) || std::holds_alternative<Backward>(body)) return pass_takes_;
  if (const auto* image = std::get_if<StateImage>(&body)) return share_of(*image, state_takes_);
  if (const auto* shard = std::get_if<SaveShard>(&body)) return share_of(*shard, state_takes_);
  return {};
}

bool SimulationNetwork::is_stalled(const SimulatedHop& hop) const {
  const auto stalled = stalled_.find(hop);
  return stalled != stalled_.end() && clockwork_->now() < stalled->second;
}

Instant SimulationNetwork::arrival(const SimulatedHop& hop) {
  const auto slow = slow_.find(hop);
  const auto span = static_cast<std::uint64_t>((slow == slow_.end() ? delay_ : slow->second).count());
  const Duration delay = span == 0 ? Duration{} : Duration(static_cast<Duration::rep>(clockwork_->draw(span)));
  return (is_stalled(hop) ? stalled_.at(hop) : clockwork_->now()) + delay;
}

}  // namespace shoal
