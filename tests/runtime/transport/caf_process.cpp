// Requests wait with a time-out, so that a test that fails ends too.
#include "tests/runtime/transport/caf_process.h"

#include "runtime/transport/caf_config.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::testing {
namespace {

caf::behavior answering(caf::event_based_actor* self) {
  self->set_error_handler([](caf::scheduled_actor*, caf::error&) {});
  return {[](const std::string& text) { return "heard " + text; }};
}

}  // namespace

CafProcess::Config::Config() { configure_caf(*this, CafSettings{.threads = 2}); }

CafProcess::CafProcess(const TlsFiles& files, PeerPolicy policy, const TransportLimits& limits)
    : system_(std::make_unique<caf::actor_system>(config_)),
      transport_(std::move(TlsTransport::start(*system_, files, std::move(policy), limits).value())),
      answering_(system_->spawn(answering)) {}

CafProcess::~CafProcess() {
  caf::anon_send_exit(answering_, caf::exit_reason::kill);
  answering_ = nullptr;
  transport_->stop();
}

std::uint16_t CafProcess::publish() { return transport_->publish(answering_, {"127.0.0.1", 0}).value(); }

caf::strong_actor_ptr CafProcess::connect(std::uint16_t port) {
  caf::scoped_actor self{*system_};
  caf::strong_actor_ptr found;
  self->request(transport_->dialler("127.0.0.1", port), kPatience, caf::connect_atom_v, std::string("127.0.0.1"), port)
      .receive([&](const caf::node_id&, caf::strong_actor_ptr& actor, const std::set<std::string>&) { found = actor; },
               [](caf::error&) {});
  return found;
}

std::string CafProcess::ask(const caf::strong_actor_ptr& actor, const std::string& text) {
  if (!actor) return "<no answer>";
  caf::scoped_actor self{*system_};
  std::string answer = "<no answer>";
  self->request(caf::actor_cast<caf::actor>(actor), kPatience, text)
      .receive([&](std::string& heard) { answer = std::move(heard); }, [](caf::error&) {});
  return answer;
}

}  // namespace shoal::testing
