// Enrols machines as nodes: the service that takes a join token with a certificate request, and the words of both
// sides.
//
//   POST /v1/enrol {"secret", "name", "request", "protocol_version"} -> {"certificate", "ca", "rendezvous": {...}}
//   POST /v1/renew {"request"}, by a node with its certificate       -> {"certificate"}
//   GET  /v1/rendezvous                                              -> {"run", "term", "protocol_version", ...}
//
// The service is the only thing a stranger reaches. It changes nothing but the token's count of uses, and that only
// when it hands out a certificate (S-7); of its refusals a bounded number of lines is written (S-6). It also keeps
// refused names: a name that a person has revoked gets a certificate again only by a token that a person has made
// since.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/cluster.h"
#include "messages/ids.h"
#include "runtime/transport/admission.h"
#include "runtime/transport/certificates.h"
#include "runtime/transport/control/control_server.h"
#include "runtime/transport/control/issued_certificates.h"
#include "runtime/transport/control/renewal.h"
#include "runtime/transport/join_token.h"
#include "runtime/transport/revocation/revocation_book.h"
#include "runtime/transport/revocation/revoked_certificates.h"

namespace shoal {

inline constexpr std::string_view kEnrolPath = "/v1/enrol";
inline constexpr std::string_view kRenewPath = "/v1/renew";
inline constexpr std::string_view kRendezvousPath = "/v1/rendezvous";

// Identity of the spawner, as nodes need it at every connect. Its links are where it was asked.
struct Rendezvous {
  RunId run;
  Term term;
  std::uint32_t protocol_version = 0;
  // swarm.dead_after_ms: both sides of a connection must agree on the silence that ends it.
  std::chrono::milliseconds dead_after{10'000};
  Revocations revoked{};  // as of now: a process refuses from its first connection on
};
[[nodiscard]] std::string rendezvous_text(const Rendezvous& rendezvous);
// Errors: kInvalidData.
[[nodiscard]] Result<Rendezvous> parse_rendezvous(std::string_view body);

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
[[nodiscard]] Result<EnrolmentAnswer> parse_enrolment_answer(std::string_view body);

[[nodiscard]] std::string renewal_request_text(const std::string& request_pem);
// Errors: kUsage.
[[nodiscard]] Result<std::string> parse_renewal_request(std::string_view body);
[[nodiscard]] std::string renewal_answer_text(const std::string& certificate_pem);
// Errors: kInvalidData.
[[nodiscard]] Result<std::string> parse_renewal_answer(std::string_view body);

// The sentence of a control_error(), or the body itself where it is none.
[[nodiscard]] std::string error_sentence(std::string_view body);

// Questions of the service to its surroundings. All are called on connection threads: thread-safe, and quick.
struct EnrolmentHooks {
  std::function<Rendezvous()> rendezvous;
  // Errors: kRefused, with the sentence for people: the name is taken. Called for one request at a time.
  std::function<Status(const std::string& name)> name_allowed;
  std::function<WallTime()> now;
  std::function<Validity(WallTime)> validity = usual_validity;  // for the certificates of nodes
  std::shared_ptr<RevokedCertificates> revoked = nullptr;       // gets every new list; null: revocation is not checked
};

// Paths of what must outlive the service. Each file is made when there is something to keep.
struct EnrolmentFiles {
  std::string tokens;
  std::string revoked;
  std::string issued;
  std::string join_token;  // the standing token; empty: none is kept
};

// Result of `shoal evict --revoke`.
struct RevokedTokens {
  std::vector<std::string> ids;  // tokens that the name had enrolled with, and that were good until now
  bool was_standing = false;     // the run's own was one of them, and has been replaced
};

class EnrolmentService {
 public:
  // Reads what is in the files. Errors: kIo, kInvalidData.
  [[nodiscard]] static Result<std::unique_ptr<EnrolmentService>> open(Authority authority, EnrolmentFiles files,
                                                                      EnrolmentHooks hooks);

  // Returns the rendezvous with the list of refused names.
  [[nodiscard]] Rendezvous rendezvous() const;

  // A new token, recorded durably before it is returned. uses 0: any number. Errors: kIo, kInternal.
  [[nodiscard]] Result<JoinToken> make_token(std::chrono::seconds lifetime, std::uint32_t uses);
  // Keeps the standing token, of any number of uses, in its file (0600), for nodes on this machine or people who know
  // of it: writes a new one where less than half of the last one's lifetime is left. Call it again and again: a run
  // lasts longer than a token. After a person has revoked it there is none, until permit_standing_token().
  // Errors: kIo, kInternal.
  [[nodiscard]] Status keep_standing_token();
  // Revokes a token at once, and durably. Errors: kUsage (no such token), kIo.
  [[nodiscard]] Status revoke_token(std::string_view id);
  [[nodiscard]] std::vector<TokenRecord> tokens() const;
  [[nodiscard]] bool is_standing(std::string_view id) const;
  [[nodiscard]] WallTime now() const { return hooks_.now(); }

  // Refuses every certificate that the name has, from now on, and the tokens it had enrolled with. Repeating it is
  // harmless. Errors: kIo; what was refused by then stays refused.
  [[nodiscard]] Result<RevokedTokens> revoke_name(const std::string& name);
  // True when a certificate of that name may be good.
  [[nodiscard]] bool has_issued(std::string_view name) const;

  // 200; 400 malformed; 403 token, or a revoked name; 409 name; 426 protocol version; 503 the
  // record cannot be written now: the node asks again.
  [[nodiscard]] ControlResponse enrol(const ControlRequest& request);
  // 200; 400 malformed; 410 revoked meanwhile; 503 as above, or the name has renewed too often.
  [[nodiscard]] ControlResponse renew(const ControlRequest& request);

 private:
  struct Kept {  // in files
    TokenLedger tokens;
    RevocationBook revoked;
    IssuedCertificates issued;
  };
  struct StandingToken {
    std::string id;
    WallTime until;  // a time long past: this start has not made one
  };

  EnrolmentService(Authority authority, EnrolmentFiles files, Kept kept, EnrolmentHooks hooks);
  [[nodiscard]] Result<JoinToken> add_token(std::chrono::seconds lifetime, std::uint32_t uses, TokenOrigin origin);
  [[nodiscard]] Status renew_standing_token();
  [[nodiscard]] Status revoke_locked(const std::vector<std::string>& ids);
  [[nodiscard]] Status keep_book(RevocationBook book);
  [[nodiscard]] std::optional<ControlResponse> objection_to(const EnrolmentRequest& request, const Rendezvous& here,
                                                            const std::string& address);
  void log_refusal(const std::string& address, const std::string& why);
  [[nodiscard]] Status spend(const TokenRecord& token, const TokenSecret& secret);
  [[nodiscard]] Status record(const std::string& name, const std::string& certificate, const std::string& token);

  Authority authority_;
  EnrolmentFiles files_;
  EnrolmentHooks hooks_;
  mutable std::mutex mutex_;  // guards what follows
  Kept kept_;
  StandingToken standing_;
  RefusalLog refusals_;
  RenewalPace renewals_;
};

// A person has started the run: it may have a standing token again.
void permit_standing_token(const std::string& join_token_path);

inline constexpr std::chrono::hours kUsualTokenLifetime{24};

}  // namespace shoal
