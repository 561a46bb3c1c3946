// Routes of the control endpoint.
#include "actors/control.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "actors/injected.h"
#include "runtime/base/log.h"
#include "runtime/base/text/json_text.h"
#include "runtime/cluster/operate/operator_words.h"
#include "runtime/cluster/operate/save_words.h"
#include "runtime/trace/metrics/device_figures.h"
#include "runtime/transport/control/token_words.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using Self = ControlActor::stateful_pointer<ControlState>;

constexpr auto kAnswerWithin = std::chrono::seconds(5);
constexpr auto kTokenPeriod = std::chrono::minutes(1);

ControlResponse answer_status(caf::actor_system& system, const ControlSettings& settings) {
  const RoundTally* rounds = settings.rounds.get();
  caf::scoped_actor self{system};
  ControlResponse response;
  self->request(settings.supervisor, kAnswerWithin, StatusQuery{})
      .receive(
          [&](StatusReport& report) {
            if (settings.reach) report.summary += settings.reach->explain();
            response.body = status_json(report, rounds ? std::optional(rounds->sum()) : std::nullopt, settings.branch);
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

// Errors: kUnreachable, the supervisor does not answer.
Result<OperatorAnswer> ask(caf::actor_system& system, const SupervisorActor& supervisor, const OperatorOrder& order) {
  caf::scoped_actor self{system};
  Result<OperatorAnswer> result = OperatorAnswer{};
  self->request(supervisor, kAnswerWithin, order)
      .receive([&](const OperatorAnswer& answer) { result = answer; },
               [&](const caf::error& error) {
                 result = fail(Error::kUnreachable, "the supervisor does not answer: " + words_of(error));
               });
  return result;
}

ControlResponse give_order(caf::actor_system& system, const SupervisorActor& supervisor, const OperatorOrder& order) {
  const auto answer = ask(system, supervisor, order);
  return answer ? response_to(*answer) : control_error(503, answer.failure().message);
}

ControlResponse save(caf::actor_system& system, const SupervisorActor& supervisor, const ControlRequest& asked) {
  const auto request = parse_save_request(asked.body);
  if (!request) return control_error(400, request.failure().message);
  caf::scoped_actor self{system};
  ControlResponse response;
  self->request(supervisor, kAnswerWithin, *request)
      .receive(
          [&](const SaveAnswer& answer) {
            const bool is_done = answer.verdict == OperatorVerdict::kDone;
            response = is_done ? ControlResponse{200, save_answer_text(answer)}
                               : response_to(OperatorAnswer{answer.verdict, answer.text});
          },
          [&](const caf::error& error) {
            response = control_error(503, "the supervisor does not answer: " + words_of(error));
          });
  return response;
}

ControlResponse make_token(EnrolmentService& service, const ControlRequest& request) {
  const auto order = parse_token_order(request.body);
  if (!order) return control_error(400, order.failure().message);
  const auto token = service.make_token(order->lifetime, order->uses);
  if (!token) return control_error(503, "no token can be made now: " + token.failure().message);
  return {200, new_token_text(token_text(*token))};
}

ControlResponse list_tokens(const EnrolmentService& service) {
  std::vector<TokenLine> lines;
  for (const TokenRecord& record : service.tokens()) {
    lines.push_back(line_of(record, service.is_standing(record.id), service.now()));
  }
  return {200, tokens_text(lines)};
}

ControlResponse revoke_token(EnrolmentService& service, const ControlRequest& request) {
  const auto id = parse_token_id(request.body);
  if (!id) return control_error(400, id.failure().message);
  const bool was_standing = service.is_standing(*id);
  const auto revoked = service.revoke_token(*id);
  if (!revoked) return control_error(revoked.failure().error == Error::kUsage ? 404 : 503, revoked.failure().message);
  const char* const more =
      was_standing ? "; certs/join_token is gone, and stays away until the run is started again" : "";
  return {200, done_text(compose("token ", *id, " admits nobody any more", more))};
}

// Returns what an eviction did to tokens, as the rest of a sentence.
std::string revoked_text(const RevokedTokens& tokens) {
  std::string text;
  for (const std::string& id : tokens.ids) text += (text.empty() ? "" : ", ") + id;
  const std::string way_back = "; to let it in again, start it with a token of `shoal token new`";
  if (text.empty()) return "; no join token that it enrolled with is still good" + way_back;
  const char* const standing =
      tokens.was_standing ? " (the run's own is among them: certs/join_token has a new one)" : "";
  return "; the join tokens it enrolled with are revoked, too: " + text + standing + way_back;
}

// Refuses first a name that the run has given certificates to: a process that is put out finds no way to come back.
ControlResponse evict(caf::actor_system& system, const SupervisorActor& supervisor, EnrolmentService& service,
                      const OperatorOrder& order) {
  const bool is_known = order.revoke && service.has_issued(order.name);
  auto put_out = is_known ? Result<OperatorAnswer>(OperatorAnswer{}) : ask(system, supervisor, order);
  if (!put_out) return control_error(503, put_out.failure().message);
  if (!is_known && (!order.revoke || put_out->verdict != OperatorVerdict::kDone)) return response_to(*put_out);
  const auto tokens = service.revoke_name(order.name);
  if (!tokens) return control_error(503, "the revocation cannot be written down: " + tokens.failure().message);
  const std::string refused = order.name + ": its certificates are refused from now on" + revoked_text(*tokens);
  if (is_known) put_out = ask(system, supervisor, order);
  if (!put_out) return control_error(503, compose(refused, "; but ", put_out.failure().message));
  const bool was_there = put_out->verdict == OperatorVerdict::kDone;
  return {200, done_text(compose(was_there ? put_out->text : order.name + " is not there now", "; ", refused))};
}

void add_token_routes(ControlServer& server, const std::shared_ptr<EnrolmentService>& service) {
  const std::vector<PeerRole> people = {PeerRole::kOperator};
  server.handle({"POST", std::string(kTokensPath), people},
                [service](const ControlRequest& request) { return make_token(*service, request); });
  server.handle({"GET", std::string(kTokensPath), people},
                [service](const ControlRequest&) { return list_tokens(*service); });
  server.handle({"POST", std::string(kRevokeTokenPath), people},
                [service](const ControlRequest& request) { return revoke_token(*service, request); });
}

void add_node_routes(ControlServer& server, const std::shared_ptr<EnrolmentService>& service) {
  server.handle({"POST", std::string(kEnrolPath), {}},
                [service](const ControlRequest& request) { return service->enrol(request); });
  server.handle({"POST", std::string(kRenewPath), {PeerRole::kNode}},
                [service](const ControlRequest& request) { return service->renew(request); });
  server.handle({"GET", std::string(kRendezvousPath), {PeerRole::kNode, PeerRole::kStorage, PeerRole::kOperator}},
                [service](const ControlRequest&) {
                  return ControlResponse{200, rendezvous_text(service->rendezvous())};
                });
}

void add_routes(caf::actor_system& system, const ControlSettings& settings) {
  ControlServer& server = *settings.server;
  const auto service = settings.service;
  const auto supervisor = settings.supervisor;
  add_node_routes(server, service);
  add_token_routes(server, service);
  server.handle(
      {"GET", "/v1/status", {PeerRole::kOperator}},
      [&system, asked =
                    ControlSettings{
                        nullptr, nullptr, supervisor, {}, nullptr, settings.rounds, settings.reach, settings.branch}](
          const ControlRequest&) { return answer_status(system, asked); });
  if (settings.reach) {
    server.handle({"POST", std::string(kReachPath), {PeerRole::kNode}},
                  [reach = settings.reach](const ControlRequest& request) { return reach->answer(request); });
  }
  const auto add_order = [&](std::string_view path, Result<OperatorOrder> (*parse)(std::string_view)) {
    server.handle({"POST", std::string(path), {PeerRole::kOperator}},
                  [&system, supervisor, parse](const ControlRequest& request) {
                    auto order = parse(request.body);
                    if (!order) return control_error(400, order.failure().message);
                    return give_order(system, supervisor, *order);
                  });
  };
  add_order(kKillPath, parse_kill);
  add_order(kDrainPath, parse_drain);
  server.handle({"POST", std::string(kCheckpointPath), {PeerRole::kOperator}},
                [&system, supervisor](const ControlRequest& request) { return save(system, supervisor, request); });
  server.handle({"POST", std::string(kEvictPath), {PeerRole::kOperator}},
                [&system, supervisor, service](const ControlRequest& request) {
                  const auto order = parse_evict(request.body);
                  if (!order) return control_error(400, order.failure().message);
                  return evict(system, supervisor, *service, *order);
                });
}

constexpr double kShareParts = 1e5;  // digits of a share

// Gives null for all that the machine does not state, or has not told yet.
nlohmann::ordered_json machine_json(const MachineStatus& machine) {
  using Json = nlohmann::ordered_json;
  const MachineOffer& offer = machine.offer;
  const DeviceFigures figures = figures_of(machine.use);
  const auto share = [](const std::optional<double>& value) {
    return value ? Json(std::round(*value * kShareParts) / kShareParts) : Json();
  };
  const auto bytes = [](const std::optional<std::uint64_t>& value) { return value ? Json(*value) : Json(); };
  const auto stated = [](std::uint64_t value, double unit) {
    return value == 0 ? Json() : Json(static_cast<double>(value) * unit);
  };
  return {{"name", machine.name},
          {"device", machine.device},
          {"gflops_per_thread", stated(offer.multiply_adds_s, 2e-9)},
          {"forward_ms", stated(offer.forward_us, 1e-3)},
          {"threads", offer.threads == 0 ? Json() : Json(offer.threads)},
          {"memory_bytes", offer.memory_bytes == 0 ? Json() : Json(offer.memory_bytes)},
          {"host_bytes", offer.host_bytes == 0 ? Json() : Json(offer.host_bytes)},
          {"machine_id", offer.machine == 0 ? Json() : Json(std::to_string(offer.machine))},
          {"up_mbit_s", stated(offer.up_bit_s, 1e-6)},
          {"down_mbit_s", stated(offer.down_bit_s, 1e-6)},
          {"utilisation", share(figures.utilisation)},
          {"mfu", share(figures.mfu)},
          {"used_bytes", bytes(figures.used_bytes)},
          {"peak_bytes", bytes(figures.peak_bytes)}};
}

// Keeps the token good. A renewal that fails is tried again long before the token expires.
void tick(Self self) {
  if (auto kept = self->state.settings.service->keep_standing_token(); !kept) {
    log_warn("control", "the join token cannot be renewed: ", kept.failure().message);
  }
  self->delayed_send(self, kTokenPeriod, Tick{});
}

}  // namespace

ControlState::~ControlState() {
  if (settings.server) settings.server->stop();
}

std::string status_json(const StatusReport& report, const std::optional<RoundLosses>& rounds,
                        const std::optional<BranchRecord>& branch) {
  nlohmann::ordered_json json{{"summary", report.summary},    {"run", report.run},       {"step", report.step},
                              {"steps", report.steps_target}, {"branch", report.branch}, {"view", report.view}};
  if (branch) json["begun"] = {{"name", branch->name}, {"from", branch->step}};
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
  json["machines"] = nlohmann::ordered_json::array();
  for (const MachineStatus& machine : report.machines) json["machines"].push_back(machine_json(machine));
  return json_text(json);
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
