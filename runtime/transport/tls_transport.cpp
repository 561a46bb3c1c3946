// Several diallers, because one dial blocks its middleman for as long as the dial time-out.
#include "runtime/transport/tls_transport.h"

#include <csignal>

#include <caf/actor_cast.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <functional>
#include <set>

#include "runtime/base/compose.h"
#include "runtime/transport/tls_middleman.h"

namespace shoal {
namespace {

constexpr std::size_t kDiallers = 4;
constexpr std::chrono::milliseconds kSweepPeriodMax{250};
constexpr std::chrono::seconds kPublishTimeout{5};

}  // namespace

Result<std::unique_ptr<TlsTransport>> TlsTransport::start(caf::actor_system& system, const TlsFiles& files,
                                                          PeerPolicy policy, const TransportLimits& limits) {
  auto context = TlsContext::mutual(files, std::move(policy));
  if (!context.ok()) return context.failure();
  // A peer that vanishes must be an error of a write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  return std::unique_ptr<TlsTransport>(new TlsTransport(system, std::move(*context), limits));
}

TlsTransport::TlsTransport(caf::actor_system& system, std::shared_ptr<TlsContext> context,
                           const TransportLimits& limits)
    : system_(system),
      context_(std::move(context)),
      door_(std::make_shared<TlsDoor>(context_, limits)),
      lanes_(std::make_shared<TlsLanes>(door_->shared_context(), door_->limits().lanes)) {
  door_->set_lanes([lanes = lanes_](Socket socket, ssl_st* session) { lanes->adopt(std::move(socket), session); });
  for (std::size_t i = 0; i < kDiallers; ++i) diallers_.push_back(spawn_tls_middleman(system_, door_));
  sweeper_ = std::thread([this] { sweep_until_stopped(); });
}

TlsTransport::~TlsTransport() { stop(); }

Result<std::uint16_t> TlsTransport::publish(const caf::actor& actor, Socket listener) {
  const std::uint16_t port = local_port(listener.descriptor());
  door_->keep_listener(std::move(listener));
  caf::scoped_actor self{system_, true};
  auto reply =
      self->request(handle(), kPublishTimeout, caf::publish_atom_v, port, caf::actor_cast<caf::strong_actor_ptr>(actor),
                    system_.message_types(actor), std::string(), true);
  Result<std::uint16_t> result = port;
  reply.receive([](std::uint16_t) {},
                [&](caf::error& error) {
                  result = fail(Error::kInternal, compose("Cannot accept at port ", port, ": ", system_.render(error)));
                });
  return result;
}

void TlsTransport::close(std::uint16_t port) {
  caf::scoped_actor self{system_, true};
  self->request(handle(), kPublishTimeout, caf::close_atom_v, port).receive([] {}, [](caf::error&) {});
}

caf::io::middleman_actor TlsTransport::dialler(const std::string& host, std::uint16_t port) const {
  return diallers_[std::hash<std::string>{}(host_port_text(HostPort{host, port})) % diallers_.size()];
}

void TlsTransport::stop() {
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(is_stopping_, true)) return;
  }
  wake_.notify_all();
  sweeper_.join();
  door_->end_pauses();
  lanes_->stop();
  caf::scoped_actor self{system_, true};
  for (const auto& dialler : diallers_) {
    self->send_exit(dialler, caf::exit_reason::kill);
    self->wait_for(dialler);
  }
}

void TlsTransport::sweep_until_stopped() {
  const auto period = std::min(kSweepPeriodMax, door_->limits().admission.handshake_timeout / 2);
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, period, [this] { return is_stopping_; })) {
    lock.unlock();
    door_->sweep();
    lock.lock();
  }
}

}  // namespace shoal
