// All JSON of enrolment is read and written here. A token is spent only after its certificate was made, and durably
// before that is handed out; so is everything else that decides who is refused.
#include "runtime/transport/control/enrolment.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/text/json_fields.h"
#include "runtime/base/text/json_number.h"

namespace shoal {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kEnrolmentLog = "enrolment";
constexpr std::chrono::hours kRememberExpired{24 * 7};

namespace fs = std::filesystem;

// Returns the file that exists once a person has revoked the standing token; the next spawner process sees it, too.
std::string mark_of_revoked(const std::string& join_token_path) { return join_token_path + ".revoked"; }

Json json_of(const Revocations& list) {
  Json names = Json::array();
  for (const RevokedName& revoked : list.names) {
    names.push_back({{"name", revoked.name}, {"readmitted", revoked.readmitted}});
  }
  return {{"version", list.version}, {"names", std::move(names)}};
}

Json json_of(const Rendezvous& rendezvous) {
  return {{"run", run_text(rendezvous.run)},
          {"term", rendezvous.term.value},
          {"protocol_version", rendezvous.protocol_version},
          {"data_host", ""},  // read by version 7 and before, which see then that this is another one
          {"data_port", 0},
          {"dead_after_ms", rendezvous.dead_after.count()},
          {"revoked", json_of(rendezvous.revoked)}};
}

Revocations revocations_of(const Json& json) {
  Revocations list{whole_number<std::uint64_t>(json.at("version")), {}};
  for (const Json& one : json.at("names")) list.names.push_back({one.at("name"), one.at("readmitted")});
  return list;
}

Result<Rendezvous> rendezvous_of(const Json& json) {
  const auto run = parse_run(json.at("run").get<std::string>());
  if (!run.ok()) return fail(Error::kInvalidData, "The spawner's answer names no run.");
  Rendezvous rendezvous;
  rendezvous.run = *run;
  rendezvous.term.value = whole_number<std::uint64_t>(json.at("term"));
  rendezvous.protocol_version = whole_number<std::uint32_t>(json.at("protocol_version"));
  rendezvous.dead_after = std::chrono::milliseconds(whole_number<std::int64_t>(json.at("dead_after_ms")));
  if (json.contains("revoked")) rendezvous.revoked = revocations_of(json["revoked"]);  // another version may not say
  return rendezvous;
}

Failure not_understood(const Json::exception& error) {
  return fail(Error::kInvalidData,
              compose("The spawner's answer is not understood (", error.what(), "). Use the same version everywhere."));
}

}  // namespace

std::string rendezvous_text(const Rendezvous& rendezvous) { return json_of(rendezvous).dump(); }

Result<Rendezvous> parse_rendezvous(std::string_view body) {
  try {
    return rendezvous_of(Json::parse(body));
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
    request.protocol_version = whole_number<std::uint32_t>(json.at("protocol_version"));
    return request;
  } catch (const Json::exception& error) {
    return fail(Error::kUsage, compose("The enrolment request is not understood: ", error.what()));
  }
}

std::string enrolment_answer_text(const EnrolmentAnswer& answer) {
  return Json{{"certificate", answer.certificate}, {"ca", answer.ca}, {"rendezvous", json_of(answer.rendezvous)}}
      .dump();
}

Result<EnrolmentAnswer> parse_enrolment_answer(std::string_view body) {
  try {
    const Json json = Json::parse(body);
    auto rendezvous = rendezvous_of(json.at("rendezvous"));
    if (!rendezvous.ok()) return rendezvous.failure();
    return EnrolmentAnswer{json.at("certificate").get<std::string>(), json.at("ca").get<std::string>(),
                           std::move(*rendezvous)};
  } catch (const Json::exception& error) {
    return not_understood(error);
  }
}

std::string renewal_request_text(const std::string& request_pem) { return Json{{"request", request_pem}}.dump(); }

Result<std::string> parse_renewal_request(std::string_view body) {
  try {
    return Json::parse(body).at("request").get<std::string>();
  } catch (const Json::exception& error) {
    return fail(Error::kUsage, compose("The request for renewal is not understood: ", error.what()));
  }
}

std::string renewal_answer_text(const std::string& certificate_pem) {
  return Json{{"certificate", certificate_pem}}.dump();
}

Result<std::string> parse_renewal_answer(std::string_view body) {
  try {
    return Json::parse(body).at("certificate").get<std::string>();
  } catch (const Json::exception& error) {
    return not_understood(error);
  }
}

std::string error_sentence(std::string_view body) {
  return text_field(Json::parse(body, nullptr, false), "error").value_or(std::string(body));
}

Result<std::unique_ptr<EnrolmentService>> EnrolmentService::open(Authority authority, EnrolmentFiles files,
                                                                 EnrolmentHooks hooks) {
  ENSURE(hooks.rendezvous && hooks.name_allowed && hooks.now, "the enrolment service needs all of its hooks");
  auto tokens = load_tokens(files.tokens);
  if (!tokens.ok()) return tokens.failure();
  auto revoked = load_revocations(files.revoked);
  if (!revoked.ok()) return revoked.failure();
  auto issued = IssuedCertificates::open(files.issued, hooks.now());
  if (!issued.ok()) return issued.failure();
  Kept kept{std::move(*tokens), std::move(*revoked), std::move(*issued)};
  if (hooks.revoked) hooks.revoked->take(kept.revoked.list(), steady_now());
  return std::unique_ptr<EnrolmentService>(
      new EnrolmentService(std::move(authority), std::move(files), std::move(kept), std::move(hooks)));
}

EnrolmentService::EnrolmentService(Authority authority, EnrolmentFiles files, Kept kept, EnrolmentHooks hooks)
    : authority_(std::move(authority)), files_(std::move(files)), hooks_(std::move(hooks)), kept_(std::move(kept)) {}

Rendezvous EnrolmentService::rendezvous() const {
  Rendezvous here = hooks_.rendezvous();
  const std::lock_guard guard(mutex_);
  here.revoked = kept_.revoked.list();
  return here;
}

Result<JoinToken> EnrolmentService::make_token(std::chrono::seconds lifetime, std::uint32_t uses) {
  const std::lock_guard guard(mutex_);
  return add_token(lifetime, uses, TokenOrigin::kPerson);
}

Result<JoinToken> EnrolmentService::add_token(std::chrono::seconds lifetime, std::uint32_t uses, TokenOrigin origin) {
  const auto secret = random_secret();
  if (!secret.ok()) return secret.failure();
  const WallTime now = std::chrono::floor<std::chrono::seconds>(hooks_.now());
  const JoinToken token{authority_.run(), authority_.fingerprint(), *secret, now + lifetime, uses};
  TokenLedger with_it = kept_.tokens;
  with_it.forget_expired_before(now - kRememberExpired);
  with_it.add(token.secret, token.expiry, uses, origin);
  const Status saved = save_tokens(files_.tokens, with_it);
  if (!saved.ok()) return saved.failure();
  kept_.tokens = std::move(with_it);
  return token;
}

Status EnrolmentService::keep_standing_token() {
  const std::lock_guard guard(mutex_);
  std::error_code ignored;
  const bool is_lasting = standing_.until - hooks_.now() > kUsualTokenLifetime / 2;
  const bool is_wanted = !files_.join_token.empty() && !fs::exists(mark_of_revoked(files_.join_token), ignored);
  return is_lasting || !is_wanted ? Status(Done{}) : renew_standing_token();
}

Status EnrolmentService::renew_standing_token() {
  const auto token = add_token(kUsualTokenLifetime, 0, TokenOrigin::kRun);
  if (!token.ok()) return token.failure();
  const Status written = replace_file(files_.join_token, token_text(*token) + "\n", FileAccess::kOwnerOnly);
  if (!written.ok()) return written.failure();
  standing_ = {kept_.tokens.record_of(token->secret)->id, token->expiry};
  return Done{};
}

// Writes the mark first where the standing token is meant: no other may follow it, whatever ends in between.
Status EnrolmentService::revoke_token(std::string_view id) {
  const std::lock_guard guard(mutex_);
  const auto& records = kept_.tokens.records();
  if (std::ranges::find(records, id, &TokenRecord::id) == records.end()) {
    return fail(Error::kUsage, compose("There is no token '", id, "'; see `shoal token ls`."));
  }
  if (id != standing_.id) return revoke_locked({std::string(id)});
  const Status marked = replace_file(mark_of_revoked(files_.join_token),
                                     "The run's own join token was revoked; `shoal token new` makes another, and so "
                                     "does starting the run again.\n",
                                     FileAccess::kOwnerOnly);
  if (!marked.ok()) return marked;
  const Status revoked = revoke_locked({std::string(id)});
  if (!revoked.ok()) return revoked;
  std::error_code ignored;
  fs::remove(files_.join_token, ignored);  // a file that stays is worth nothing
  standing_ = {};
  return Done{};
}

Status EnrolmentService::revoke_locked(const std::vector<std::string>& ids) {
  TokenLedger without = kept_.tokens;
  for (const std::string& id : ids) (void)without.revoke(id);
  const Status saved = save_tokens(files_.tokens, without);
  if (saved.ok()) kept_.tokens = std::move(without);
  return saved;
}

std::vector<TokenRecord> EnrolmentService::tokens() const {
  const std::lock_guard guard(mutex_);
  return kept_.tokens.records();
}

bool EnrolmentService::is_standing(std::string_view id) const {
  const std::lock_guard guard(mutex_);
  return id == standing_.id;
}

bool EnrolmentService::has_issued(std::string_view name) const {
  const std::lock_guard guard(mutex_);
  return kept_.issued.has(name);
}

// The name first: what is durable of it by a failure refuses already.
Result<RevokedTokens> EnrolmentService::revoke_name(const std::string& name) {
  const std::lock_guard guard(mutex_);
  std::vector<std::string> there_are;
  RevokedTokens revoked;
  const auto used = kept_.issued.tokens_of(name);
  for (const TokenRecord& token : kept_.tokens.records()) {
    there_are.push_back(token.id);
    const bool is_good = verdict_of(token, hooks_.now()) == TokenVerdict::kGood;
    if (is_good && std::ranges::find(used, token.id) != used.end()) revoked.ids.push_back(token.id);
  }
  RevocationBook book = kept_.revoked;
  book.revoke(name, std::move(there_are), hooks_.now());
  if (const Status kept = keep_book(std::move(book)); !kept.ok()) return kept.failure();
  if (const Status kept = revoke_locked(revoked.ids); !kept.ok()) return kept.failure();
  revoked.was_standing = std::ranges::find(revoked.ids, standing_.id) != revoked.ids.end();
  if (!revoked.was_standing) return revoked;
  if (const Status renewed = renew_standing_token(); !renewed.ok()) return renewed.failure();
  return revoked;
}

// Saves the book durably before anything is refused, or admitted, by it.
Status EnrolmentService::keep_book(RevocationBook book) {
  const Status saved = save_revocations(files_.revoked, book);
  if (!saved.ok()) return saved;
  kept_.revoked = std::move(book);
  if (hooks_.revoked) hooks_.revoked->take(kept_.revoked.list(), steady_now());
  return Done{};
}

std::optional<ControlResponse> EnrolmentService::objection_to(const EnrolmentRequest& request, const Rendezvous& here,
                                                              const std::string& address) {
  const TokenVerdict verdict = kept_.tokens.verify(request.secret, hooks_.now());
  if (verdict != TokenVerdict::kGood) {
    log_refusal(address, std::string(verdict_text(verdict)));
    return control_error(403, std::string(verdict_text(verdict)));
  }
  if (request.protocol_version != here.protocol_version) {
    return control_error(426, compose("The node speaks protocol version ", request.protocol_version, ", the spawner ",
                                      here.protocol_version, ". Use the same version everywhere."));
  }
  if (!is_valid_name(request.name)) {
    return control_error(400,
                         "A node's name is 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or "
                         "digit. Choose another with --name.");
  }
  const TokenRecord token = *kept_.tokens.record_of(request.secret);
  const bool is_barred = token.origin == TokenOrigin::kRun || kept_.revoked.is_barred(request.name, token.id);
  if (kept_.revoked.is_revoked(request.name) && is_barred) {
    log_refusal(address, request.name + " was revoked, and comes with an older token");
    return control_error(403, compose("The name ", request.name,
                                      " was revoked: its node was thrown out of the run. The run's operator can admit "
                                      "it again with a token that `shoal token new` makes from now on."));
  }
  const Status allowed = hooks_.name_allowed(request.name);
  if (!allowed.ok()) return control_error(409, allowed.failure().message);
  return std::nullopt;
}

// A stranger asks as often as it likes.
void EnrolmentService::log_refusal(const std::string& address, const std::string& why) {
  shoal::log_refusal(kEnrolmentLog, refusals_.refused(steady_now()), "refused ", address, ": ", why);
}

ControlResponse EnrolmentService::enrol(const ControlRequest& http) {
  const auto request = parse_enrolment_request(http.body);
  if (!request.ok()) return control_error(400, request.failure().message);
  const Rendezvous here = rendezvous();
  const std::lock_guard guard(mutex_);
  if (auto objection = objection_to(*request, here, http.address)) return std::move(*objection);
  auto certificate = authority_.sign(request->request, PeerIdentity{authority_.run(), PeerRole::kNode, request->name},
                                     hooks_.validity(hooks_.now()));
  if (!certificate.ok()) return control_error(400, certificate.failure().message);
  const TokenRecord token = *kept_.tokens.record_of(request->secret);
  Status recorded = record(request->name, *certificate, token.id);
  if (recorded.ok()) recorded = spend(token, request->secret);
  if (!recorded.ok()) {
    return control_error(503, compose("The spawner cannot admit a node now: ", recorded.failure().message, "."));
  }
  log_info(kEnrolmentLog, "gave ", request->name, " at ", http.address, " a certificate");
  return ControlResponse{200, enrolment_answer_text({std::move(*certificate), authority_.certificate(), here})};
}

// Errors: only for a token whose uses are counted.
Status EnrolmentService::spend(const TokenRecord& token, const TokenSecret& secret) {
  TokenLedger redeemed = kept_.tokens;
  (void)redeemed.redeem(secret, hooks_.now());
  const Status saved = save_tokens(files_.tokens, redeemed);
  if (!saved.ok()) {
    log_error(kEnrolmentLog, "the use of a token cannot be recorded: ", saved.failure().message);
    if (token.uses_max != 0) return saved;
  }
  kept_.tokens = std::move(redeemed);
  return Done{};
}

// Errors: of a name that is refused but for what is recorded here.
Status EnrolmentService::record(const std::string& name, const std::string& certificate, const std::string& token) {
  const auto serial = serial_of(certificate);
  const auto validity = validity_of(certificate);
  ENSURE(serial.ok() && validity.ok(), "a certificate that was just signed can be read");
  if (kept_.revoked.is_revoked(name)) {
    RevocationBook book = kept_.revoked;
    book.readmit(name, *serial, hooks_.now());
    if (const Status kept = keep_book(std::move(book)); !kept.ok()) return kept;
  }
  const Status listed = kept_.issued.add({name, *serial, token, validity->not_after});
  if (!listed.ok()) log_error(kEnrolmentLog, "a certificate cannot be recorded: ", listed.failure().message);
  return Done{};
}

ControlResponse EnrolmentService::renew(const ControlRequest& http) {
  const auto request = parse_renewal_request(http.body);
  if (!request.ok()) return control_error(400, request.failure().message);
  ENSURE(http.peer && http.peer->role == PeerRole::kNode, "nodes alone ask for this");
  const std::string& name = http.peer->name;
  const std::lock_guard guard(mutex_);
  if (kept_.revoked.is_revoked(name) && !kept_.revoked.is_readmitted(name, http.serial)) {
    return control_error(kStatusRevoked, compose("The certificate of ", name, " was revoked meanwhile."));
  }
  const Validity validity = hooks_.validity(hooks_.now());
  if (!renewals_.may_renew(name, validity, steady_now())) {
    return control_error(503, compose(name, " has had ", RenewalPace::kRenewalsMax,
                                      " certificates renewed within a third of their lifetime; ask again later."));
  }
  auto certificate = authority_.sign(*request, *http.peer, validity);
  if (!certificate.ok()) return control_error(400, certificate.failure().message);
  if (const Status recorded = record(name, *certificate, {}); !recorded.ok()) {
    return control_error(503, compose("The spawner cannot renew a certificate now: ", recorded.failure().message, "."));
  }
  log_info(kEnrolmentLog, "renewed the certificate of ", name, " at ", http.address);
  return ControlResponse{200, renewal_answer_text(*certificate)};
}

void permit_standing_token(const std::string& join_token_path) {
  std::error_code ignored;
  fs::remove(mark_of_revoked(join_token_path), ignored);
}

}  // namespace shoal
