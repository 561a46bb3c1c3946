// The only place of the router that sends.
#include "actors/router/actor_edge.h"

#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "actors/router/tensor_copier.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using Self = RouterActor::stateful_pointer<RouterState>;

constexpr std::chrono::seconds kDialTimeout(6);

class ActorEdge final : public RouterEdge {
 public:
  explicit ActorEdge(Self self) : self_(self) {}

  void give(const LocalKey& actor, MessageBody body) override {
    caf::anon_send(local(actor), Delivered{std::move(body)});
  }
  void give_entry(const LocalKey& actor, const JournalEntry& entry) override { caf::anon_send(local(actor), entry); }
  void give_past(const LocalKey& actor, const std::shared_ptr<const View>& past) override {
    caf::anon_send(local(actor), JournalSoFar{past});
  }
  void give_transfer_time(const LocalKey& actor, Duration transfer) override {
    caf::anon_send(local(actor), TransferTimed{milliseconds(transfer)});
  }
  void give_failure(const LocalKey& actor, const Inject& order) override {
    caf::anon_send<caf::message_priority::high>(local(actor), order);
  }
  void end(const LocalKey& actor, InjectKind how) override {
    const bool is_kill = how == InjectKind::kKill;
    caf::anon_send_exit(local(actor), is_kill ? caf::exit_reason::kill : caf::exit_reason::user_shutdown);
  }

  void send_frame(LinkId link, std::vector<char> bytes) override {
    self_->send(self_->state.connections.at(link), WireFrame{std::move(bytes)});
  }
  // The handle of a connection may have another link by now.
  void forget(LinkId link) override {
    auto& state = self_->state;
    const auto found = state.connections.find(link);
    const auto known = state.link_of.find(found->second.address());
    if (known != state.link_of.end() && known->second == link) state.link_of.erase(known);
    state.connections.erase(found);
  }
  std::optional<PeerIdentity> certified(LinkId link) override {
    return self_->state.config.certified(self_->state.connections.at(link).address().node());
  }

  Duration unanswered(LinkId link) override {
    const auto& ask = self_->state.config.unanswered;
    return ask ? ask(self_->state.connections.at(link).address().node()) : Duration::zero();
  }

  void dial(const DialPeer& peer) override {
    const RouterConfig& config = self_->state.config;
    const bool is_searched = peer.process == kSpawnerProcess && config.spawner_dialler;
    const auto report = [self = self_, process = peer.process, endpoint = is_searched ? Endpoint{} : peer.endpoint](
                            caf::strong_actor_ptr answer, std::string why) {
      self->send(self, Dialled{process, endpoint, std::move(answer), std::move(why)});
    };
    const caf::actor dialler = is_searched      ? config.spawner_dialler
                               : config.dialler ? config.dialler(peer.endpoint)
                                                : caf::actor{};
    if (!dialler) return report(nullptr, "no dialler");
    self_->request(dialler, kDialTimeout, caf::connect_atom_v, peer.endpoint.host, peer.endpoint.port)
        .then([report](const caf::node_id&, caf::strong_actor_ptr& answer,
                       const std::set<std::string>&) { report(std::move(answer), "nothing published there"); },
              [report](caf::error& error) { report(nullptr, words_of(error)); });
  }

  void copy_to_host(const std::shared_ptr<const ResidentTensor>& tensor) override {
    const auto& make = self_->state.config.make_copier;
    const auto router = caf::actor_cast<RouterActor>(self_->ctrl());
    if (!copier_) copier_ = make ? make(router) : spawn_tensor_copier(self_->home_system(), router);
    caf::anon_send(copier_, CopyToHost{tensor, caf::actor_cast<caf::actor>(router)});
  }

  void look_after(Duration pause) override { self_->delayed_send(self_, pause, Tick{}); }

 private:
  [[nodiscard]] caf::actor local(const LocalKey& actor) const {
    const auto found = self_->state.locals.find(actor);
    return found == self_->state.locals.end() ? caf::actor_cast<caf::actor>(self_) : found->second;
  }

  Self self_;
  caf::actor copier_;
};

}  // namespace

std::unique_ptr<RouterEdge> make_actor_edge(Self self) { return std::make_unique<ActorEdge>(self); }

}  // namespace shoal
