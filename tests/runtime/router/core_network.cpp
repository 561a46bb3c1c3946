// Every event of a process runs to its end before the next: a dial, a frame, a tick, a broken connection.
#include "tests/runtime/router/core_network.h"

#include <algorithm>

namespace shoal::test_support {

std::shared_ptr<Given> CoreProcess::attach(const LocalActor& actor) {
  auto fresh = std::make_shared<Given>();
  if (actor.is_up) actors_[local_key(actor.address)] = fresh;
  core_.attach(actor);
  return fresh;
}

void CoreProcess::send_frame(LinkId link, std::vector<char> bytes) {
  const auto [wire, side] = wires_.at(link);
  network_->later([network = network_, wire = wire, to = 1 - side, bytes = std::move(bytes)] {
    const auto peer = network->processes.find(wire->ports[to]);
    if (peer != network->processes.end()) peer->second->arrive(wire, to, bytes);
  });
}

void CoreProcess::arrive(const std::shared_ptr<Wire>& wire, int side, const std::vector<char>& frame) {
  if (wire->is_over) return;
  if (!wire->links[side]) {
    const LinkId link = core_.open(std::nullopt, nullptr);
    wire->links[side] = link;
    wires_[link] = {wire, side};
    if (!core_.accept(link, network_->now)) return;
  }
  const LinkId link = *wire->links[side];
  if (wires_.contains(link)) core_.receive_frame(link, frame, network_->now);
}

void CoreProcess::lose(const std::shared_ptr<Wire>& wire, int side) {
  if (!wire->links[side] || !wires_.contains(*wire->links[side])) return;
  core_.link_down(*wire->links[side], "its process is gone", network_->now);
}

void CoreProcess::dial(const DialPeer& peer) {
  network_->later([network = network_, from = port_, peer] {
    const auto dialler = network->processes.find(from);
    if (dialler == network->processes.end()) return;
    if (!network->processes.contains(peer.endpoint.port)) {
      return dialler->second->core().dial_failed(peer.process, "nobody listens", network->now);
    }
    dialler->second->dial_succeeded(peer.process, network->connect(from, peer.endpoint.port));
  });
}

void CoreProcess::dial_succeeded(ProcessIncarnation process, const std::shared_ptr<Wire>& wire) {
  const LinkId link = core_.open(Endpoint{"host", wire->ports[1]}, nullptr);
  wire->links[0] = link;
  wires_[link] = {wire, 0};
  core_.dialled(process, link, network_->now);
}

void CoreProcess::look_after(Duration pause) {
  network_->at(network_->now + pause, [network = network_, port = port_] {
    const auto found = network->processes.find(port);
    if (found != network->processes.end()) found->second->core().tick(0, network->now);
  });
}

void CoreNetwork::start(Port port, RouterSettings settings) {
  if (const auto found = lanes.find(port); found != lanes.end()) settings.lanes = found->second;
  processes[port] = std::make_unique<CoreProcess>(*this, port, settings);
  processes.at(port)->look_after({});
}

void CoreNetwork::spawner() {
  RouterSettings settings;
  settings.self = {ProcessRole::kSpawner, kSpawnerProcess, "spawner", kRun, kTerm};
  start(1, std::move(settings));
}

void CoreNetwork::node(Port port, LetterFilter filter) {
  RouterSettings settings;
  settings.held_bytes_max = held_bytes_max;
  settings.waiting_bytes_max = waiting_bytes_max;
  settings.self = {ProcessRole::kNode, ProcessIncarnation{port}, "node", kRun, kTerm};
  settings.spawner = Endpoint{"host", 1};
  settings.filter = std::move(filter);
  start(port, std::move(settings));
}

void CoreNetwork::kill(Port port) {
  processes.erase(port);
  break_those([port](const Wire& wire) { return wire.ports[0] == port || wire.ports[1] == port; });
}

void CoreNetwork::cut(Port one, Port other) {
  break_those(
      [one, other](const Wire& wire) { return std::minmax(one, other) == std::minmax(wire.ports[0], wire.ports[1]); });
}

void CoreNetwork::break_those(const std::function<bool(const Wire&)>& is_meant) {
  for (const auto& weak : std::vector(wires_)) {
    const auto wire = weak.lock();
    if (!wire || wire->is_over || !is_meant(*wire)) continue;
    wire->is_over = true;
    for (int side = 0; side < 2; ++side) {
      const auto end = processes.find(wire->ports[side]);
      if (end != processes.end()) end->second->lose(wire, side);
    }
  }
}

void CoreNetwork::two_stages(LetterFilter filter_of_first) {
  spawner(), node(2, std::move(filter_of_first)), node(3);
  advance(std::chrono::seconds(1));
  tell_peers({2, 3});
  journal({1, 2, 3}, {entry(AddReplica{StageId{0}, {}, kFirst, ProcessIncarnation{2}, 0}),
                      entry(AddReplica{StageId{1}, {}, kSecond, ProcessIncarnation{3}, 0})});
}

void CoreNetwork::tell_peers(const std::vector<Port>& ports) {
  Peers peers{kRun, kTerm, 1, {}};
  for (const Port port : ports) {
    peers.peers.push_back({ProcessIncarnation{port}, ProcessRole::kNode, "node", {"host", port}});
  }
  say(1, {kSpawnerProcess, Role::kRouter, {}, {}}, peers);
  for (const Port port : ports) say(1, {ProcessIncarnation{port}, Role::kRouter, {}, {}}, peers);
  advance(std::chrono::seconds(1));
}

std::shared_ptr<Given> CoreNetwork::attach(Port port, Role role, StageId stage, Incarnation incarnation) {
  return processes.at(port)->attach({{{}, role, stage, incarnation}});
}

void CoreNetwork::say(Port port, const Address& to, MessageBody body) {
  core(port).post({{}, to, std::move(body)}, now);
  drain();
}

void CoreNetwork::journal(const std::vector<Port>& ports, const std::vector<JournalEntry>& entries) {
  for (const Port port : ports) {
    const ProcessIncarnation process{port == 1 ? Port{0} : port};
    say(1, {process, Role::kRouter, {}, {}}, JournalEntries{kRun, kTerm, entries});
  }
  advance(std::chrono::milliseconds(10));
}

void CoreNetwork::drain() {
  while (!events_.empty()) {
    const auto event = std::move(events_.front());
    events_.pop_front();
    event();
  }
}

void CoreNetwork::advance(Duration wait) {
  drain();
  const Instant end = now + wait;
  while (!timers_.empty() && timers_.begin()->first <= end) {
    const auto first = timers_.begin();
    now = std::max(now, first->first);
    const auto event = std::move(first->second);
    timers_.erase(first);
    event();
    drain();
  }
  now = end;
}

TensorBlob tensor_of(std::size_t count) {
  auto bytes = std::make_shared<AlignedBuffer>(count * 4);
  for (std::size_t i = 0; i < count * 4; ++i) bytes->data()[i] = static_cast<std::byte>(i * 37);
  return {DType::kFloat32, {static_cast<std::int64_t>(count)}, std::move(bytes)};
}

Forward forward_of(std::uint64_t position) {
  Forward forward;
  forward.cause.run = kRun;
  forward.cause.position = JournalPosition{position};
  forward.cause.hop = 1;
  forward.sender = kFirst;
  forward.path = {kFirst, kSecond};
  forward.input = tensor_of(700'000);
  return forward;
}

}  // namespace shoal::test_support
