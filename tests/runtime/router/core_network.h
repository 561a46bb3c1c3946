// Cores of routers of some processes, without actors: a spawner and nodes, linked by queues of frames.
//
// Frames, links, journal and retries are the real ones; what an edge is asked to do is performed here, in order. A
// process is known by its port, which is its number too; the spawner's is 1. Time passes by advance() alone.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/router/router_core.h"

namespace shoal::test_support {

using Port = std::uint16_t;

inline constexpr RunId kRun{7};
inline constexpr Term kTerm{2};
inline constexpr Incarnation kFirst{11};   // stage 0, on node 2
inline constexpr Incarnation kSecond{12};  // stage 1, on node 3

// Holds what one actor of a process was given.
struct Given {
  std::vector<MessageBody> bodies;
  std::vector<JournalEntry> entries;
  std::vector<View> pasts;
  int transfers = 0;
  int ends = 0;

  template <class Body>
  [[nodiscard]] std::vector<Body> all() const {
    std::vector<Body> found;
    for (const auto& body : bodies) {
      if (const auto* one = std::get_if<Body>(&body)) found.push_back(*one);
    }
    return found;
  }
};

class CoreNetwork;

// A connection between two processes; links[1] is numbered when the first frame comes.
struct Wire {
  Port ports[2] = {};
  std::optional<LinkId> links[2];
  bool is_over = false;
};

class CoreProcess final : public RouterEdge {
 public:
  CoreProcess(CoreNetwork& network, Port port, const RouterSettings& settings)
      : network_(&network), port_(port), core_(settings, *this) {}

  [[nodiscard]] RouterCore& core() { return core_; }
  std::shared_ptr<Given> attach(const LocalActor& actor);
  void lose(const std::shared_ptr<Wire>& wire, int side);
  void arrive(const std::shared_ptr<Wire>& wire, int side, const std::vector<char>& frame);
  void dial_succeeded(ProcessIncarnation process, const std::shared_ptr<Wire>& wire);

  void give(const LocalKey& actor, MessageBody body) override { given(actor).bodies.push_back(std::move(body)); }
  void give_entry(const LocalKey& actor, const JournalEntry& entry) override { given(actor).entries.push_back(entry); }
  void give_past(const LocalKey& actor, const std::shared_ptr<const View>& past) override {
    given(actor).pasts.push_back(*past);
  }
  void give_transfer_time(const LocalKey& actor, Duration) override { ++given(actor).transfers; }
  void give_failure(const LocalKey& actor, const Inject& order) override { given(actor).bodies.emplace_back(order); }
  void end(const LocalKey& actor, InjectKind) override { ++given(actor).ends; }
  void send_frame(LinkId link, std::vector<char> bytes) override;
  void forget(LinkId link) override { wires_.erase(link); }
  std::optional<PeerIdentity> certified(LinkId) override { return certificate; }
  Duration unanswered(LinkId) override { return Duration::zero(); }
  void dial(const DialPeer& peer) override;
  void copy_to_host(const std::shared_ptr<const ResidentTensor>& tensor) override { copying.push_back(tensor); }
  void look_after(Duration pause) override;

  std::deque<std::shared_ptr<const ResidentTensor>> copying;  // asked for, and not there
  std::optional<PeerIdentity> certificate;                    // of whoever is at the other end of a link
  // The router itself, too.
  [[nodiscard]] Given& given(const LocalKey& actor) {
    auto& one = actors_[actor];
    if (!one) one = std::make_shared<Given>();
    return *one;
  }

 private:
  CoreNetwork* network_;
  Port port_;
  std::map<LocalKey, std::shared_ptr<Given>> actors_;
  std::map<LinkId, std::pair<std::shared_ptr<Wire>, int>> wires_;
  RouterCore core_;
};

class CoreNetwork {
 public:
  std::map<Port, std::unique_ptr<CoreProcess>> processes;
  std::map<Port, std::shared_ptr<Lanes>> lanes;  // of nodes that have any
  std::size_t held_bytes_max = RouterSettings{}.held_bytes_max;
  std::size_t waiting_bytes_max = RouterSettings{}.waiting_bytes_max;
  std::uint64_t position = 0;
  Instant now = Instant{} + std::chrono::hours(1);

  void start(Port port, RouterSettings settings);
  void spawner();
  void node(Port port, LetterFilter filter = {});
  // The process is gone: its links break.
  void kill(Port port);
  // Every link between these two breaks; what was on its way is lost.
  void cut(Port one, Port other);
  // A spawner and nodes 2 and 3, linked; stage 0 on node 2, stage 1 on node 3.
  void two_stages(LetterFilter filter_of_first = {});
  void tell_peers(const std::vector<Port>& ports);

  std::shared_ptr<Given> attach(Port port, Role role, StageId stage = {}, Incarnation incarnation = {});
  void say(Port port, const Address& to, MessageBody body);
  [[nodiscard]] JournalEntry entry(JournalBody body) {
    return {JournalPosition{++position}, {}, kTerm, std::move(body)};
  }
  void journal(const std::vector<Port>& ports, const std::vector<JournalEntry>& entries);

  void advance(Duration wait);
  void drain();
  void later(std::function<void()> event) { events_.push_back(std::move(event)); }
  [[nodiscard]] std::shared_ptr<Wire> connect(Port from, Port to) {
    auto wire = std::make_shared<Wire>(Wire{{from, to}, {}, false});
    wires_.push_back(wire);
    return wire;
  }
  void at(Instant due, std::function<void()> event) { timers_.emplace(due, std::move(event)); }
  [[nodiscard]] RouterCore& core(Port port) { return processes.at(port)->core(); }

 private:
  void break_those(const std::function<bool(const Wire&)>& is_meant);

  std::vector<std::weak_ptr<Wire>> wires_;
  std::deque<std::function<void()>> events_;
  std::multimap<Instant, std::function<void()>> timers_;
};

[[nodiscard]] TensorBlob tensor_of(std::size_t count);
// From kFirst to kSecond.
[[nodiscard]] Forward forward_of(std::uint64_t position);

}  // namespace shoal::test_support
