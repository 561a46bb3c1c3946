// Routers of some processes in one thread: a spawner and nodes. Frames, links, journal and retries are the real ones;
// only the dialler is simulated: it hands out the router that a port stands for, which is its process's number too.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <caf/scheduler/test_coordinator.hpp>

#include "actors/router/router.h"
#include "actors/router/tensor_copier.h"

namespace shoal::test_support {

inline constexpr RunId kRun{7};
inline constexpr Term kTerm{2};
inline constexpr Incarnation kFirst{11};   // stage 0, on node 1
inline constexpr Incarnation kSecond{12};  // stage 1, on node 2

struct Heard {
  std::vector<MessageBody> bodies;
  std::vector<JournalEntry> entries;
  std::vector<View> pasts;
  int transfers = 0;

  template <class Body>
  [[nodiscard]] std::vector<Body> all() const {
    std::vector<Body> found;
    for (const auto& body : bodies) {
      if (const auto* one = std::get_if<Body>(&body)) found.push_back(*one);
    }
    return found;
  }
};

inline caf::behavior recorder(caf::event_based_actor*, std::shared_ptr<Heard> heard) {
  return {[heard](const Delivered& letter) { heard->bodies.push_back(letter.body); },
          [heard](const Inject& order) { heard->bodies.emplace_back(order); },
          [heard](const JournalSoFar& past) { heard->pasts.push_back(*past.view); },
          [heard](const JournalEntry& entry) { heard->entries.push_back(entry); },
          [heard](const TransferTimed&) { ++heard->transfers; }};
}

struct Network {
  caf::actor_system_config config;
  std::unique_ptr<caf::actor_system> system;
  caf::scheduler::test_coordinator* scheduler = nullptr;
  std::map<std::uint16_t, RouterActor> published;
  caf::actor dialler;
  std::vector<caf::actor> others;
  std::uint64_t position = 0;
  std::size_t held_bytes_max = RouterConfig{}.held_bytes_max;
  std::map<std::uint16_t, std::shared_ptr<Lanes>> lanes;  // of nodes that have any

  Network() {
    config.set("scheduler.policy", caf::atom("testing"));
    system = std::make_unique<caf::actor_system>(config);
    scheduler = dynamic_cast<caf::scheduler::test_coordinator*>(&system->scheduler());
    scheduler->clock().current_time += std::chrono::hours(1);
    dialler = system->spawn([this]() -> caf::behavior {
      return {[this](caf::connect_atom, const std::string&,
                     std::uint16_t port) -> caf::result<caf::node_id, caf::strong_actor_ptr, std::set<std::string>> {
        const auto found = published.find(port);
        if (found == published.end()) return caf::make_error(caf::sec::cannot_connect_to_node);
        return {caf::node_id{}, caf::actor_cast<caf::strong_actor_ptr>(found->second), std::set<std::string>{}};
      }};
    });
  }
  ~Network() {
    for (const auto& [port, actor] : published) caf::anon_send_exit(actor, caf::exit_reason::kill);
    for (const auto& actor : others) caf::anon_send_exit(actor, caf::exit_reason::kill);
    caf::anon_send_exit(dialler, caf::exit_reason::kill);
    drain();
    published.clear();
    others.clear();
    dialler = nullptr;
    drain();
  }
  void drain() {
    while (scheduler->try_run_once()) {
    }
  }
  void advance(Duration wait) {
    drain();
    auto& clock = scheduler->clock();
    const auto end = clock.current_time + wait;
    while (clock.has_pending_timeout() && clock.schedule().begin()->first <= end) {
      scheduler->trigger_timeout();
      drain();
    }
    clock.current_time = end;
  }
  RouterActor start_router(std::uint16_t port, RouterConfig settings) {
    settings.dialler = [actor = dialler](const Endpoint&) { return actor; };
    settings.make_copier = [this](const RouterActor& router) {
      return caf::actor_cast<caf::actor>(system->spawn(tensor_copier, router));
    };
    const auto actor = system->spawn(router, std::move(settings));
    published[port] = actor;
    return actor;
  }
  std::shared_ptr<Heard> attach(std::uint16_t port, Role role, StageId stage = {}, Incarnation incarnation = {}) {
    auto heard = std::make_shared<Heard>();
    const auto actor = system->spawn(recorder, heard);
    others.push_back(actor);
    caf::anon_send(published.at(port), Attach{role, stage, incarnation, actor});
    drain();
    return heard;
  }
  void say(std::uint16_t port, const Address& to, MessageBody body) {
    caf::anon_send(published.at(port), Letter{{}, to, std::move(body)});
    drain();
  }
  void spawner() {
    RouterConfig settings;
    settings.self = {ProcessRole::kSpawner, kSpawnerProcess, "spawner", kRun, kTerm};
    (void)start_router(1, std::move(settings));
  }
  void node(std::uint16_t port, LetterFilter filter = {}) {
    RouterConfig settings;
    settings.held_bytes_max = held_bytes_max;
    settings.self = {ProcessRole::kNode, ProcessIncarnation{port}, "node", kRun, kTerm};
    settings.spawner = Endpoint{"host", 1};
    settings.filter = std::move(filter);
    if (const auto found = lanes.find(port); found != lanes.end()) settings.lanes = found->second;
    (void)start_router(port, std::move(settings));
  }
  void tell_peers(std::vector<std::uint16_t> ports) {
    Peers peers{kRun, kTerm, 1, {}};
    for (const auto port : ports) {
      peers.peers.push_back({ProcessIncarnation{port}, ProcessRole::kNode, "node", {"host", port}});
    }
    say(1, {kSpawnerProcess, Role::kRouter, {}, {}}, peers);
    for (const auto port : ports) say(1, {ProcessIncarnation{port}, Role::kRouter, {}, {}}, peers);
    advance(std::chrono::seconds(1));
  }
  JournalEntry entry(JournalBody body) { return {JournalPosition{++position}, {}, kTerm, std::move(body)}; }
  void journal(std::vector<std::uint16_t> ports, std::vector<JournalEntry> entries) {
    for (const auto port : ports) {
      const ProcessIncarnation process{port == 1 ? std::uint16_t{0} : port};
      say(1, {process, Role::kRouter, {}, {}}, JournalEntries{kRun, kTerm, entries});
    }
    advance(std::chrono::milliseconds(10));
  }
  // A spawner and nodes 2 and 3, linked; stage 0 on node 2, stage 1 on node 3.
  void two_stages(LetterFilter filter_of_first = {}) {
    spawner(), node(2, std::move(filter_of_first)), node(3);
    advance(std::chrono::seconds(1));
    tell_peers({2, 3});
    journal({1, 2, 3}, {entry(AddReplica{StageId{0}, {}, kFirst, ProcessIncarnation{2}, 0}),
                        entry(AddReplica{StageId{1}, {}, kSecond, ProcessIncarnation{3}, 0})});
  }
};

inline TensorBlob tensor_of(std::size_t count) {
  auto bytes = std::make_shared<AlignedBuffer>(count * 4);
  for (std::size_t i = 0; i < count * 4; ++i) bytes->data()[i] = static_cast<std::byte>(i * 37);
  return {DType::kFloat32, {static_cast<std::int64_t>(count)}, std::move(bytes)};
}

inline Forward forward_of(std::uint64_t position) {
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
