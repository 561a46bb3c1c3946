// The book forgets by time alone, so that nothing of a node that left has to be told to it.
#include "runtime/transport/control/reach.h"

#include <arpa/inet.h>

#include <nlohmann/json.hpp>

#include "runtime/base/clock.h"
#include "runtime/base/compose.h"
#include "runtime/base/text/json_text.h"
#include "runtime/base/text/open_port.h"

namespace shoal {
namespace {

bool is_numeric(const HostPort& address) {
  unsigned char bytes[sizeof(in6_addr)];
  return ::inet_pton(AF_INET, address.host.c_str(), bytes) == 1 ||
         ::inet_pton(AF_INET6, address.host.c_str(), bytes) == 1;
}

ReachAnswer somebody_else(const std::string& why) { return {why, true}; }

}  // namespace

std::string reach_question_text(const HostPort& address) {
  return json_text(nlohmann::json{{"address", host_port_text(address)}});
}

Result<HostPort> parse_reach_question(std::string_view body) {
  try {
    return parse_host_port(nlohmann::json::parse(body).at("address").get<std::string>());
  } catch (const nlohmann::json::exception& error) {
    return fail(Error::kUsage, compose("The question is not understood: ", error.what()));
  }
}

std::string reach_answer_text(const ReachAnswer& answer) {
  return json_text(nlohmann::json{{"why", answer.why}, {"is_open", answer.is_open}});
}

Result<ReachAnswer> parse_reach_answer(std::string_view body) {
  try {
    const auto json = nlohmann::json::parse(body);
    return ReachAnswer{json.at("why").get<std::string>(), json.at("is_open").get<bool>()};
  } catch (const nlohmann::json::exception& error) {
    return fail(Error::kInvalidData, compose("The spawner's answer is not understood: ", error.what()));
  }
}

std::string not_reached_text(const HostPort& own, const ReachAnswer& answer, PortChoice choice) {
  if (answer.is_open) {
    return compose("the run does not reach this node at ", host_port_text(own), ": ", answer.why,
                   " Look what stands between, or choose another port with --listen HOST:PORT");
  }
  if (choice == PortChoice::kAny) {
    return compose("the run does not reach this node at ", host_port_text(own), " (", answer.why,
                   "): start it with --listen HOST:PORT and open that port for the run's machines; without --listen it "
                   "has another port at every start");
  }
  return compose("the run does not reach this node at ", host_port_text(own), " (", answer.why,
                 "): ", open_port_text(own.host, own.port),
                 " for the run's machines, or choose another with --listen HOST:PORT");
}

std::string not_reached_text(const std::string& name, const HostPort& address, const ReachAnswer& answer) {
  return compose(name, " is not reached at ", host_port_text(address), ": ",
                 answer.is_open ? answer.why : open_port_text(address.host, address.port));
}

void ReachBook::note(const std::string& name, const HostPort& address, const ReachAnswer& answer, Instant now) {
  std::erase_if(unreached_, [now](const auto& entry) { return now - entry.second.asked > kForgetAfter; });
  const std::pair key(name, host_port_text(address));
  if (answer.why.empty()) {
    unreached_.erase(key);
  } else if (unreached_.size() < kEntriesMax || unreached_.contains(key)) {
    unreached_[key] = {address, answer, now};
  }
}

std::string ReachBook::explain(Instant now) const {
  std::string text;
  for (const auto& [key, one] : unreached_) {
    if (now - one.asked <= kForgetAfter) text += "; " + not_reached_text(key.first, one.address, one.answer);
  }
  return text;
}

// Takes a place among the dials, given back when the dial is over; returns the refusal where there is none.
std::optional<ControlResponse> ReachService::begin(const std::string& certificate) {
  const std::lock_guard guard(mutex_);
  if (under_way_.size() >= kDialsMax)
    return control_error(503, "The spawner dials as many nodes as it may; ask again.");
  if (under_way_.insert(certificate).second) return std::nullopt;
  return control_error(503, "The spawner is still at the last question of this certificate; ask again.");
}

ControlResponse ReachService::answer(const ControlRequest& request) {
  const auto address = parse_reach_question(request.body);
  if (!address) return control_error(400, address.failure().message);
  if (!is_numeric(*address)) {
    return control_error(400, compose("The spawner dials numeric addresses alone, and ", address->host,
                                      " is a name; give this machine's address with --listen HOST:PORT."));
  }
  if (auto refusal = begin(request.serial)) return std::move(*refusal);
  const std::string name = request.peer ? request.peer->name : std::string();
  ReachAnswer answer = try_to_reach_(*address, name);
  const std::lock_guard guard(mutex_);
  under_way_.erase(request.serial);
  book_.note(name, *address, answer, steady_now());
  return {200, reach_answer_text(answer)};
}

std::string ReachService::explain() const {
  const std::lock_guard guard(mutex_);
  return book_.explain(steady_now());
}

ReachAnswer try_to_reach(const HostPort& address, const std::string& name, const TlsContext& context) {
  const Deadline deadline = deadline_in(kReachWithin);
  auto socket = dial(address, deadline);
  if (!socket) return {socket.failure().message, false};
  auto tls = TlsSocket::connect(std::move(*socket), context, deadline, PortProtocol::kLink);
  if (!tls) return somebody_else("no node of this run answers there: " + tls.failure().message);
  const auto peer = context.check_peer(tls->session());
  if (!peer) return somebody_else("no node of this run answers there: " + peer.failure().message);
  if (peer->name != name) return somebody_else(compose(peer->name, " answers there, and not ", name, "."));
  // Reading shows if the node admits us: in TLS 1.3 a client is done before its certificate was looked at.
  char first = 0;
  const auto heard = tls->read_some(&first, 1, deadline);
  const bool is_late = steady_now() >= deadline;
  if (heard && *heard > 0) return {std::string(), true};
  if (!heard && is_late) return {std::string(), true};
  const std::string why = heard ? "it closes the connection." : heard.failure().message;
  return somebody_else(compose("the node refuses the spawner: ", why));
}

}  // namespace shoal
