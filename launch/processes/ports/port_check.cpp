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
constexpr ControlTimeouts kAskTimeouts{1500ms, kReachAnswerWithin};

struct PortCheckState {
  static inline const char* name = "port_check";
  PortQuestion question;
  std::string said;
};
using Self = caf::stateful_actor<PortCheckState>;

// Asks each spawner in turn. Errors: kUnreachable, none answers; kUsage, the question is none that it takes.
Result<ReachAnswer> ask(const PortQuestion& question) {
  Result<ReachAnswer> answer = fail(Error::kUnreachable, "no spawner is named");
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
  const auto answer = ask(state.question);
  if (!answer && answer.failure().error == Error::kUsage) {
    log_warn(state.question.name, "whether the run reaches this node is not known: ", answer.failure().message);
    return self->quit();
  }
  if (answer && answer->why.empty()) {
    if (!state.said.empty()) log_info(state.question.name, "the run reaches this node now");
    return self->quit();
  }
  if (answer && answer->why != std::exchange(state.said, answer->why)) {
    log_warn(state.question.name, not_reached_text(state.question.own, *answer, state.question.choice));
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
