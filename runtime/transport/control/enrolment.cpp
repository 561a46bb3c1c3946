// All JSON of enrolment is read and written here. A token is spent only after its certificate was made, and durably
// before that is handed out.
#include "runtime/transport/control/enrolment.h"

#include <nlohmann/json.hpp>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"

namespace shoal {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kWho = "enrolment";
constexpr std::chrono::hours kRememberExpired{24 * 7};

Json json_of(const Rendezvous& rendezvous) {
  return {{"run", run_text(rendezvous.run)},
          {"term", rendezvous.term.value},
          {"protocol_version", rendezvous.protocol_version},
          {"data_host", rendezvous.data.host},
          {"data_port", rendezvous.data.port},
          {"dead_after_ms", rendezvous.dead_after.count()}};
}

Result<Rendezvous> rendezvous_of(const Json& json, const std::string& control_host) {
  const auto run = parse_run(json.at("run").get<std::string>());
  if (!run.ok()) return fail(Error::kInvalidData, "The spawner's answer names no run.");
  Rendezvous rendezvous;
  rendezvous.run = *run;
  rendezvous.term.value = json.at("term").get<std::uint64_t>();
  rendezvous.protocol_version = json.at("protocol_version").get<std::uint32_t>();
  rendezvous.data.host = json.at("data_host").get<std::string>();
  rendezvous.data.port = json.at("data_port").get<std::uint16_t>();
  rendezvous.dead_after = std::chrono::milliseconds(json.at("dead_after_ms").get<std::int64_t>());
  if (rendezvous.data.host.empty()) rendezvous.data.host = control_host;
  return rendezvous;
}

Failure not_understood(const Json::exception& error) {
  return fail(Error::kInvalidData,
              compose("The spawner's answer is not understood (", error.what(), "). Use the same version everywhere."));
}

}  // namespace

std::string rendezvous_text(const Rendezvous& rendezvous) { return json_of(rendezvous).dump(); }

Result<Rendezvous> parse_rendezvous(std::string_view body, const std::string& control_host) {
  try {
    return rendezvous_of(Json::parse(body), control_host);
  } catch (const Json::exception& error) {
    return not_understood(error);
  }
}

std::string enrolment_request_text(const EnrolmentRequest& request) {
  return Json{{"secret", secret_text(request.secret)},
              {"name", request.name},
              {"request", request.request},
              {"protocol_version", request.protocol_version}}
      .dump();
}

Result<EnrolmentRequest> parse_enrolment_request(std::string_view body) {
  try {
    const Json json = Json::parse(body);
    const auto secret = parse_secret(json.at("secret").get<std::string>());
    if (!secret) return fail(Error::kUsage, "The field 'secret' is not 32 hex digits.");
    EnrolmentRequest request;
    request.secret = *secret;
    request.name = json.at("name").get<std::string>();
    request.request = json.at("request").get<std::string>();
    request.protocol_version = json.at("protocol_version").get<std::uint32_t>();
    return request;
  } catch (const Json::exception& error) {
    return fail(Error::kUsage, compose("The enrolment request is not understood: ", error.what()));
  }
}

std::string enrolment_answer_text(const EnrolmentAnswer& answer) {
  return Json{{"certificate", answer.certificate}, {"ca", answer.ca}, {"rendezvous", json_of(answer.rendezvous)}}
      .dump();
}

Result<EnrolmentAnswer> parse_enrolment_answer(std::string_view body, const std::string& control_host) {
  try {
    const Json json = Json::parse(body);
    auto rendezvous = rendezvous_of(json.at("rendezvous"), control_host);
    if (!rendezvous.ok()) return rendezvous.failure();
    return EnrolmentAnswer{json.at("certificate").get<std::string>(), json.at("ca").get<std::string>(),
                           std::move(*rendezvous)};
  } catch (const Json::exception& error) {
    return not_understood(error);
  }
}

std::string error_sentence(std::string_view body) {
  const Json json = Json::parse(body, nullptr, false);
  if (json.is_object() && json.contains("error") && json["error"].is_string()) return json["error"].get<std::string>();
  return std::string(body);
}

Result<std::unique_ptr<EnrolmentDesk>> EnrolmentDesk::open(Authority authority, const std::string& tokens_path,
                                                           EnrolmentHooks hooks) {
  CHECK(hooks.rendezvous && hooks.name_allowed && hooks.now, "the enrolment desk needs all of its hooks");
  auto ledger = load_tokens(tokens_path);
  if (!ledger.ok()) return ledger.failure();
  return std::unique_ptr<EnrolmentDesk>(
      new EnrolmentDesk(std::move(authority), tokens_path, std::move(*ledger), std::move(hooks)));
}

EnrolmentDesk::EnrolmentDesk(Authority authority, std::string tokens_path, TokenLedger ledger, EnrolmentHooks hooks)
    : authority_(std::move(authority)),
      tokens_path_(std::move(tokens_path)),
      hooks_(std::move(hooks)),
      ledger_(std::move(ledger)) {}

Result<JoinToken> EnrolmentDesk::make_token(std::chrono::hours lifetime, std::uint32_t uses) {
  const auto secret = random_secret();
  if (!secret.ok()) return secret.failure();
  const WallTime now = std::chrono::floor<std::chrono::seconds>(hooks_.now());
  const JoinToken token{authority_.run(), authority_.fingerprint(), *secret, now + lifetime, uses};
  const std::lock_guard guard(mutex_);
  ledger_.forget_expired_before(now - kRememberExpired);
  ledger_.add(token.secret, token.expiry, uses);
  const Status saved = save_tokens(tokens_path_, ledger_);
  if (!saved.ok()) return saved.failure();
  return token;
}

Status EnrolmentDesk::keep_standing_token(const std::string& path) {
  {
    const std::lock_guard guard(mutex_);
    if (standing_until_ - hooks_.now() > kUsualTokenLifetime / 2) return Done{};
  }
  const auto token = make_token(kUsualTokenLifetime, 0);
  if (!token.ok()) return token.failure();
  const Status written = replace_file(path, token_text(*token) + "\n", FileAccess::kOwnerOnly);
  if (!written.ok()) return written.failure();
  const std::lock_guard guard(mutex_);
  standing_until_ = token->expiry;
  return Done{};
}

Status EnrolmentDesk::revoke_token(std::string_view id) {
  const std::lock_guard guard(mutex_);
  if (!ledger_.revoke(id)) return fail(Error::kUsage, compose("There is no token '", id, "'; see `shoal token ls`."));
  return save_tokens(tokens_path_, ledger_);
}

std::vector<TokenRecord> EnrolmentDesk::tokens() const {
  const std::lock_guard guard(mutex_);
  return ledger_.records();
}

ControlResponse EnrolmentDesk::enrol(const ControlRequest& http) {
  const auto request = parse_enrolment_request(http.body);
  if (!request.ok()) return control_error(400, request.failure().message);
  const Rendezvous rendezvous = hooks_.rendezvous();
  const WallTime now = hooks_.now();
  const std::lock_guard guard(mutex_);
  const TokenVerdict verdict = ledger_.verify(request->secret, now);
  if (verdict != TokenVerdict::kGood) {
    log_warn(kWho, "refused ", http.address, ": ", verdict_text(verdict));
    return control_error(403, std::string(verdict_text(verdict)));
  }
  if (request->protocol_version != rendezvous.protocol_version) {
    return control_error(426, compose("The node speaks protocol version ", request->protocol_version, ", the spawner ",
                                      rendezvous.protocol_version, ". Use the same version everywhere."));
  }
  if (!is_valid_name(request->name)) {
    return control_error(400,
                         "A node's name is 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or "
                         "digit. Choose another with --name.");
  }
  const Status allowed = hooks_.name_allowed(request->name);
  if (!allowed.ok()) return control_error(409, allowed.failure().message);
  auto certificate = authority_.sign(request->request, PeerIdentity{authority_.run(), PeerRole::kNode, request->name},
                                     usual_validity(now));
  if (!certificate.ok()) return control_error(400, certificate.failure().message);
  TokenLedger redeemed = ledger_;
  (void)redeemed.redeem(request->secret, now);
  const Status saved = save_tokens(tokens_path_, redeemed);
  if (!saved.ok()) {
    log_error(kWho, "the use of a token cannot be recorded: ", saved.failure().message);
    if (ledger_.is_bounded(request->secret)) {
      return control_error(503, compose("The spawner cannot admit a node now: ", saved.failure().message, "."));
    }
  }
  ledger_ = std::move(redeemed);
  log_info(kWho, "gave ", request->name, " at ", http.address, " a certificate");
  return ControlResponse{200, enrolment_answer_text({std::move(*certificate), authority_.certificate(), rendezvous})};
}

}  // namespace shoal
