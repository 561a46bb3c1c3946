// How a machine becomes a node: the desk that takes a join token with a certificate request, and the words of both
// sides.
//
//   POST /v1/enrol {"secret", "name", "request", "protocol_version"} -> {"certificate", "ca", "rendezvous": {...}}
//   GET  /v1/rendezvous                                              -> {"run", "term", "data_host", "data_port", ...}
//
// The desk is the only thing a stranger reaches. It changes nothing but the token's count of uses, and that only when
// it hands out a certificate (S-7).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "messages/ids.h"
#include "runtime/transport/certificates.h"
#include "runtime/transport/control/control_server.h"
#include "runtime/transport/join_token.h"

namespace shoal {

inline constexpr std::string_view kEnrolPath = "/v1/enrol";
inline constexpr std::string_view kRendezvousPath = "/v1/rendezvous";

// Where and who the spawner is, as nodes need it at every connect.
struct Rendezvous {
  RunId run;
  Term term;
  std::uint32_t protocol_version = 0;
  HostPort data;  // host empty: the host by which the control endpoint was reached
  // swarm.dead_after_ms: both sides of a connection must agree on the silence that ends it.
  std::chrono::milliseconds dead_after{10'000};
};
[[nodiscard]] std::string rendezvous_text(const Rendezvous& rendezvous);
// Fills an empty data host by `control_host`. Errors: kInvalidData.
[[nodiscard]] Result<Rendezvous> parse_rendezvous(std::string_view body, const std::string& control_host);

struct EnrolmentRequest {
  TokenSecret secret{};
  std::string name;
  std::string request;  // PEM
  std::uint32_t protocol_version = 0;
};
[[nodiscard]] std::string enrolment_request_text(const EnrolmentRequest& request);
// Errors: kUsage, naming the field.
[[nodiscard]] Result<EnrolmentRequest> parse_enrolment_request(std::string_view body);

struct EnrolmentAnswer {
  std::string certificate;  // PEM
  std::string ca;           // PEM
  Rendezvous rendezvous;
};
[[nodiscard]] std::string enrolment_answer_text(const EnrolmentAnswer& answer);
[[nodiscard]] Result<EnrolmentAnswer> parse_enrolment_answer(std::string_view body, const std::string& control_host);

// The sentence of a control_error(), or the body itself where it is none.
[[nodiscard]] std::string error_sentence(std::string_view body);

// What the desk asks its surroundings. All are called on connection threads: thread-safe, and quick.
struct EnrolmentHooks {
  std::function<Rendezvous()> rendezvous;
  // kRefused with the sentence: taken, or evicted. Asked one request at a time; a name allowed may soon be a node's.
  std::function<Status(const std::string& name)> name_allowed;
  std::function<WallTime()> now;
};

class EnrolmentDesk {
 public:
  // Reads the list of tokens at `tokens_path`, if there is one. Errors: kIo, kInvalidData.
  [[nodiscard]] static Result<std::unique_ptr<EnrolmentDesk>> open(Authority authority, const std::string& tokens_path,
                                                                   EnrolmentHooks hooks);

  // A new token, recorded durably before it is returned. uses 0: any number. Errors: kIo, kInternal.
  [[nodiscard]] Result<JoinToken> make_token(std::chrono::hours lifetime, std::uint32_t uses);
  // Keeps a token of any number of uses in a file (0600), for who comes on this machine or is told of it by a person:
  // writes a new one where less than half of the last one's lifetime is left. To be asked again and again: a run lasts
  // longer than a token. Errors: kIo, kInternal.
  [[nodiscard]] Status keep_standing_token(const std::string& path);
  [[nodiscard]] Status revoke_token(std::string_view id);  // kUsage: no such token
  [[nodiscard]] std::vector<TokenRecord> tokens() const;

  // 200; 400 malformed; 403 token; 409 name; 426 protocol version; 503 a use of a token of few uses cannot be recorded
  // now: the node asks again.
  [[nodiscard]] ControlResponse enrol(const ControlRequest& request);

 private:
  EnrolmentDesk(Authority authority, std::string tokens_path, TokenLedger ledger, EnrolmentHooks hooks);

  Authority authority_;
  std::string tokens_path_;
  EnrolmentHooks hooks_;
  mutable std::mutex mutex_;
  TokenLedger ledger_;
  WallTime standing_until_;  // expiry of the token in the file; long past: none of this start is
};

inline constexpr std::chrono::hours kUsualTokenLifetime{24};

}  // namespace shoal
