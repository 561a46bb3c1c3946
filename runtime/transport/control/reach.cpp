// The book forgets by time alone, so that nothing of a node that left has to be told to it.
#include "runtime/transport/control/reach.h"

#include <nlohmann/json.hpp>

#include "runtime/base/compose.h"
#include "runtime/base/text/json_text.h"
#include "runtime/base/text/open_port.h"

namespace shoal {
namespace {

constexpr std::chrono::milliseconds kShakeWithin{2000};

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

std::string reach_answer_text(const std::string& why) { return json_text(nlohmann::json{{"why", why}}); }

Result<std::string> parse_reach_answer(std::string_view body) {
  try {
    return nlohmann::json::parse(body).at("why").get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    return fail(Error::kInvalidData, compose("The spawner's answer is not understood: ", error.what()));
  }
}

std::string not_reached_text(const HostPort& own, const std::string& why) {
  return compose("the run does not reach this node at ", host_port_text(own), " (", why,
                 "): ", open_port_text(own.host, own.port),
                 " for the run's machines, or choose another with --listen HOST:PORT");
}

std::string not_reached_text(const std::string& name, const HostPort& address) {
  return compose(name, " is not reached at ", host_port_text(address), ": ",
                 open_port_text(address.host, address.port));
}

void ReachBook::note(const std::string& name, const HostPort& address, bool is_reached, Instant now) {
  std::erase_if(unreached_, [now](const auto& entry) { return now - entry.second > kForgetAfter; });
  const std::pair key(name, host_port_text(address));
  if (is_reached) {
    unreached_.erase(key);
  } else if (unreached_.size() < kEntriesMax || unreached_.contains(key)) {
    unreached_[key] = now;
  }
}

std::string ReachBook::explain(Instant now) const {
  std::string text;
  for (const auto& [key, asked] : unreached_) {
    const auto address = parse_host_port(key.second);
    if (now - asked <= kForgetAfter && address) text += "; " + not_reached_text(key.first, *address);
  }
  return text;
}

ControlResponse ReachDesk::answer(const ControlRequest& request) {
  const auto address = parse_reach_question(request.body);
  if (!address) return control_error(400, address.failure().message);
  const std::string why = try_to_reach_(*address);
  const std::lock_guard guard(mutex_);
  book_.note(request.peer ? request.peer->name : std::string(), *address, why.empty(),
             std::chrono::steady_clock::now());
  return {200, reach_answer_text(why)};
}

std::string ReachDesk::explain() const {
  const std::lock_guard guard(mutex_);
  return book_.explain(std::chrono::steady_clock::now());
}

std::string why_not_reached(const HostPort& address, const TlsContext& context) {
  auto socket = dial(address, std::chrono::steady_clock::now() + kReachWithin);
  if (!socket) return socket.failure().message;
  (void)TlsSocket::connect(std::move(*socket), context, std::chrono::steady_clock::now() + kShakeWithin,
                           PortProtocol::kLink);
  return std::string();
}

}  // namespace shoal
