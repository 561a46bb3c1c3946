// Routes of the control endpoint.
#include "actors/control.h"

#include <nlohmann/json.hpp>

#include "actors/injected.h"
#include "runtime/base/log.h"
#include "runtime/cluster/operate/operator_words.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using Self = ControlActor::stateful_pointer<ControlState>;

constexpr auto kAnswerWithin = std::chrono::seconds(5);
constexpr auto kTokenPeriod = std::chrono::minutes(1);

ControlResponse answer_status(caf::actor_system& system, const SupervisorActor& supervisor, const RoundTally* rounds) {
  caf::scoped_actor self{system};
  ControlResponse response;
  self->request(supervisor, kAnswerWithin, StatusQuery{})
      .receive(
          [&](const StatusReport& report) {
            response.body = status_json(report, rounds ? std::optional(rounds->sum()) : std::nullopt);
          },
          [&](const caf::error& error) {
            response = control_error(503, "the supervisor does not answer: " + words_of(error));
          });
  return response;
}

ControlResponse response_to(const OperatorAnswer& answer) {
  switch (answer.verdict) {
    case OperatorVerdict::kDone: return {200, done_text(answer.text)};
    case OperatorVerdict::kUnknownName: return control_error(404, answer.text);
    case OperatorVerdict::kAbsent: return control_error(503, answer.text);
    case OperatorVerdict::kRefused: break;
  }
  return control_error(409, answer.text);
}

ControlResponse give_order(caf::actor_system& system, const SupervisorActor& supervisor, OperatorOrder order) {
  caf::scoped_actor self{system};
  ControlResponse response;
  self->request(supervisor, kAnswerWithin, std::move(order))
      .receive([&](const OperatorAnswer& answer) { response = response_to(answer); },
               [&](const caf::error& error) {
                 response = control_error(503, "the supervisor does not answer: " + words_of(error));
               });
  return response;
}

void add_routes(caf::actor_system& system, const ControlSettings& settings) {
  ControlServer& server = *settings.server;
  const auto desk = settings.desk;
  const auto rendezvous = settings.rendezvous;
  const auto supervisor = settings.supervisor;
  server.handle({"POST", std::string(kEnrolPath), {}},
                [desk](const ControlRequest& request) { return desk->enrol(request); });
  server.handle({"GET", std::string(kRendezvousPath), {PeerRole::kNode, PeerRole::kStorage, PeerRole::kOperator}},
                [rendezvous](const ControlRequest&) {
                  return ControlResponse{200, rendezvous_text(rendezvous)};
                });
  server.handle({"GET", "/v1/status", {PeerRole::kOperator}},
                [&system, supervisor, rounds = settings.rounds](const ControlRequest&) {
                  return answer_status(system, supervisor, rounds.get());
                });
  const auto add_order = [&](std::string_view path, Result<OperatorOrder> (*parse)(std::string_view)) {
    server.handle({"POST", std::string(path), {PeerRole::kOperator}},
                  [&system, supervisor, parse](const ControlRequest& request) {
                    auto order = parse(request.body);
                    if (!order) return control_error(400, order.failure().message);
                    return give_order(system, supervisor, std::move(*order));
                  });
  };
  add_order(kKillPath, parse_kill);
  add_order(kDrainPath, parse_drain);
}

// What cannot be written now is tried again long before the token expires.
void tick(Self self) {
  const ControlSettings& settings = self->state.settings;
  if (settings.join_token.empty()) return;
  if (auto kept = settings.desk->keep_standing_token(settings.join_token); !kept) {
    log_warn("control", "the join token cannot be renewed: ", kept.failure().message);
  }
  self->delayed_send(self, kTokenPeriod, Tick{});
}

}  // namespace

ControlState::~ControlState() {
  if (settings.server) settings.server->stop();
}

std::string status_json(const StatusReport& report, const std::optional<RoundLosses>& rounds) {
  nlohmann::ordered_json json{{"summary", report.summary},    {"run", report.run},       {"step", report.step},
                              {"steps", report.steps_target}, {"branch", report.branch}, {"view", report.view}};
  if (rounds) json["rounds"] = {{"lost_tokens", rounds->lost()}, {"approximated", rounds->approximated}};
  json["actors"] = nlohmann::ordered_json::array();
  for (const auto& actor : report.actors) {
    const ActorHealth& health = actor.health;
    json["actors"].push_back({{"name", health.name},
                              {"node", actor.node},
                              {"incarnation", health.incarnation},
                              {"state", health.state},
                              {"mailbox", health.mailbox},
                              {"restarts", health.restarts},
                              {"last_message", health.last_message},
                              {"last_message_ms", health.last_message_ms}});
  }
  return json.dump();
}

ControlActor::behavior_type control(Self self, ControlSettings settings) {
  self->set_exception_handler(error_of);
  add_routes(self->home_system(), settings);
  self->state.pulse = enter(settings.board, "control");
  if (settings.router) {
    self->send(settings.router, Attach{Role::kControl, {}, {}, caf::actor_cast<caf::actor>(self), self->state.pulse});
  }
  self->state.settings = std::move(settings);
  self->state.settings.server->serve();
  self->send(self, Tick{});
  return {[](const Inject& order) { suffer(order); }, [self](const Tick&) { tick(self); }};
}

}  // namespace shoal
