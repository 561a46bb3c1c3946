// One question at a time; a spawner that does not answer is asked again, and nothing is concluded from its silence.
#include "launch/processes/ports/port_check.h"

#include <utility>

#include "runtime/base/log.h"
#include "runtime/transport/control/control_client.h"
#include "runtime/transport/control/reach.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr auto kAgainAfter = 1s;
constexpr ControlTimeouts kAskTimeouts{1500ms, kReachWithin + 1000ms};

struct PortCheckState {
  static inline const char* name = "port_check";
  PortQuestion question;
  std::string said;
};
using Self = caf::stateful_actor<PortCheckState>;

// Why the port is not reached; empty: it is. Errors: nobody answers.
Result<std::string> ask(const PortQuestion& question) {
  Result<std::string> answer = fail(Error::kUnreachable, "no spawner is named");
  for (const HostPort& address : question.join) {
    const auto client = ControlClient::create(question.files, address, kAskTimeouts);
    if (!client) return client.failure();
    const auto response = client->post(std::string(kReachPath), reach_question_text(question.own));
    answer = response ? parse_reach_answer(response->body) : response.failure();
    if (answer) return answer;
  }
  return answer;
}

void check(Self* self) {
  PortCheckState& state = self->state;
  const auto why = ask(state.question);
  if (why && why->empty()) {
    if (!state.said.empty()) log_info(state.question.name, "the run reaches this node now");
    return self->quit();
  }
  if (why && *why != std::exchange(state.said, *why)) {
    log_warn(state.question.name, not_reached_text(state.question.own, *why));
  }
  self->delayed_send(self, kAgainAfter, Tick{});
}

caf::behavior port_check(Self* self, PortQuestion question) {
  self->state.question = std::move(question);
  self->send(self, Tick{});
  return {[self](const Tick&) { check(self); }};
}

}  // namespace

void spawn_port_check(ActorProcess& process, PortQuestion question) {
  process.own_while_it_lives(process.system().spawn<caf::detached>(port_check, std::move(question)));
}

}  // namespace shoal
