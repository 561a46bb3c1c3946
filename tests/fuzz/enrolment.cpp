// Requests of a stranger to the enrolment service, and what a node hears from whoever answers it.
//
//   input = kind:u8  JSON        kind mod 3: a request to the service; its answer; a rendezvous
//
// In the JSON @SECRET@ and @REQUEST@ stand for the secret of a good token and for a good certificate request: both are
// made anew by every process. A certificate that is handed out has the name that was asked for.
#include "runtime/transport/control/enrolment.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "messages/cause.h"
#include "runtime/base/log.h"
#include "tests/fuzz/harness.h"

namespace shoal::fuzz {
namespace enrolment {
namespace {

enum Kind : std::uint8_t { kRequest, kAnswer, kRendezvous, kKinds };
constexpr WallTime kNow{std::chrono::hours(24 * 365 * 56)};

Rendezvous rendezvous() { return {RunId{77}, Term{3}, kProtocolVersion, std::chrono::milliseconds(9000)}; }

struct OpenedService {
  std::unique_ptr<EnrolmentService> service;
  std::string secret;
  std::string request;  // as it stands in JSON
};

OpenedService open_service() {
  set_log_level(LogLevel::kError);
  auto authority = Authority::create(scratch_path() + "/authority", RunId{77}, kNow);
  EnrolmentHooks hooks{rendezvous, [](const std::string&) { return Status(Done{}); }, [] { return kNow; }};
  EnrolmentFiles files{scratch_path() + "/tokens", scratch_path() + "/revoked.json", scratch_path() + "/issued", ""};
  auto service = EnrolmentService::open(std::move(*authority), std::move(files), std::move(hooks));
  const auto token = (*service)->make_token(kUsualTokenLifetime, 0);
  const std::string request = nlohmann::json(make_key_and_csr("n")->request).dump();
  return {std::move(*service), secret_text(token->secret), request.substr(1, request.size() - 2)};
}

OpenedService& service() {
  static OpenedService opened = open_service();
  return opened;
}

void replace_all(std::string& text, std::string_view word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
}

bool accepts_request(std::string body) {
  replace_all(body, "@SECRET@", service().secret);
  replace_all(body, "@REQUEST@", service().request);
  const auto asked = parse_enrolment_request(body);
  const ControlResponse response =
      service().service->enrol({"POST", std::string(kEnrolPath), {}, body, std::nullopt, "", "::1"});
  ENSURE(asked.ok() || response.status == 400, "what is not understood is answered by 400");
  if (response.status != 200) {
    ENSURE(!error_sentence(response.body).empty(), "a refusal says why");
    return false;
  }
  const auto answer = parse_enrolment_answer(response.body);
  ENSURE(answer.ok(), "an answer is understood by who gets it");
  const auto identity = identity_of(answer->certificate);
  ENSURE(identity.ok() && identity->name == asked->name && identity->role == PeerRole::kNode, "a certificate's name");
  return true;
}

bool accepts(std::string_view input) {
  Cursor cursor(input);
  const auto kind = cursor.byte() % kKinds;
  const std::string body(cursor.rest());
  if (kind == kRequest) return accepts_request(body);
  (void)error_sentence(body);
  if (kind == kAnswer) return parse_enrolment_answer(body).ok();
  const auto read = parse_rendezvous(body);
  if (!read) return false;
  const auto again = parse_rendezvous(rendezvous_text(*read));
  ENSURE(again.ok() && rendezvous_text(*again) == rendezvous_text(*read), "a rendezvous comes back as it was");
  return true;
}

std::vector<std::string> samples() {
  const std::string request = compose(R"({"secret": "@SECRET@", "name": "node-1", "request": "@REQUEST@", )",
                                      R"("protocol_version": )", kProtocolVersion, "}");
  return {std::string(1, kRequest) + request,
          std::string(1, kAnswer) + enrolment_answer_text({"certificate", "authority", rendezvous()}),
          std::string(1, kRendezvous) + rendezvous_text(rendezvous())};
}

}  // namespace
}  // namespace enrolment

const Harness kEnrolment{"enrolment", enrolment::samples, enrolment::accepts};

}  // namespace shoal::fuzz
