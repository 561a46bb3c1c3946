// Requests wait with a time-out, so that a test that fails ends too.
#include "tests/runtime/transport/caf_process.h"

#include <cstdlib>
#include <map>

#include "messages/actor_types.h"
#include "runtime/base/compose.h"
#include "runtime/transport/caf_config.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::test_support {
namespace {

struct SpeakerState {
  static inline const char* name = "speaker";
  std::uint64_t asked = 0;
  std::map<std::uint64_t, caf::typed_response_promise<std::string>> open;  // questions
};
using Speaker = caf::stateful_actor<SpeakerState>;

WireFrame as_frame(const std::string& text) { return {{text.begin(), text.end()}}; }

void hear(Speaker* self, const WireFrame& frame) {
  const std::string said(frame.bytes.begin(), frame.bytes.end());
  const auto space = said.find(' ');
  const auto sender = caf::actor_cast<caf::actor>(self->current_sender());
  if (space == std::string::npos || !sender) return;
  const std::string number = said.substr(1, space - 1);
  if (said[0] == '?') self->send(sender, as_frame("=" + number + " heard" + said.substr(space)));
  const auto asked = self->state.open.find(std::strtoull(number.c_str(), nullptr, 10));
  if (said[0] != '=' || asked == self->state.open.end()) return;
  asked->second.deliver(said.substr(space + 1));
  self->state.open.erase(asked);
}

caf::behavior speaking(Speaker* self) {
  self->set_error_handler([](caf::scheduled_actor*, caf::error&) {});
  return {[self](const WireFrame& frame) { hear(self, frame); },
          [self](const caf::strong_actor_ptr& whom, const std::string& text) -> caf::result<std::string> {
            auto promise = self->make_response_promise<std::string>();
            self->state.open.emplace(++self->state.asked, promise);
            self->send(caf::actor_cast<caf::actor>(whom), as_frame(compose("?", self->state.asked, " ", text)));
            return promise;
          }};
}

}  // namespace

CafProcess::Config::Config() {
  configure_caf(*this, CafSettings{.threads = 2});
  add_message_types<caf::id_block::shoal>();
}

CafProcess::CafProcess(const TlsFiles& files, PeerPolicy policy, const TransportLimits& limits)
    : system_(std::make_unique<caf::actor_system>(config_)),
      transport_(std::move(TlsTransport::start(*system_, files, std::move(policy), limits).value())),
      speaker_(system_->spawn(speaking)) {}

CafProcess::~CafProcess() {
  caf::anon_send_exit(speaker_, caf::exit_reason::kill);
  speaker_ = nullptr;
  transport_->stop();
}

std::uint16_t CafProcess::publish() {
  return transport_->publish(speaker_, std::move(listen_on({"127.0.0.1", 0}).value())).value();
}

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
  self->request(speaker_, kPatience, actor, text)
      .receive([&](std::string& heard) { answer = std::move(heard); }, [](caf::error&) {});
  return answer;
}

}  // namespace shoal::test_support
