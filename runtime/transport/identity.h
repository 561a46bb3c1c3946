// Identity of a process: the three words that its certificate's subject alternative name carries.
//
//   shoal://<run: 16 hex digits>/<role: spawner|node|storage|operator>/<name: [A-Za-z0-9._-]{1,64}>
//
// Nothing else in a certificate is believed, and nothing a peer says about itself replaces it (S-7). Pure.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "messages/ids.h"
#include "runtime/base/error.h"

namespace shoal {

class RevokedCertificates;  // revocation/revoked_certificates.h

// Not letter.h's Role, which says what an actor is.
enum class PeerRole { kSpawner, kNode, kStorage, kOperator };

struct PeerIdentity {
  RunId run;
  PeerRole role = PeerRole::kNode;
  std::string name;
  friend bool operator==(const PeerIdentity&, const PeerIdentity&) = default;
};

[[nodiscard]] std::string_view role_text(PeerRole role);
// The run as names and tokens spell it: 16 lower-case hex digits.
[[nodiscard]] std::string run_text(RunId run);
[[nodiscard]] Result<RunId> parse_run(std::string_view text);

// 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit: safe in a path, a URI and a log line.
[[nodiscard]] bool is_valid_name(std::string_view name);

// "node/guest": what all certificates of a holder have in common.
[[nodiscard]] std::string peer_name(const PeerIdentity& identity);
[[nodiscard]] std::string identity_uri(const PeerIdentity& identity);
// Errors: kRefused, naming the part that is not as the grammar says.
[[nodiscard]] Result<PeerIdentity> parse_identity(std::string_view uri);

// Peers that a process talks with. `admit`, where set, is asked last: it holds what changes while a run lives
// (revocation). It is called on I/O threads: it must be thread-safe and must not block.
struct PeerPolicy {
  RunId run;
  std::vector<PeerRole> roles;
  std::function<bool(const PeerIdentity&)> admit;
  std::set<std::string> refused{};  // by peer_name(): peers that made this process crash (guard/peer_crashes.h)
  std::shared_ptr<const RevokedCertificates> revoked = nullptr;  // nodes' revoked certificates; asked by serial number
};

// Errors: kRefused, naming run, role or revocation.
[[nodiscard]] Status peer_allowed(const PeerPolicy& policy, const PeerIdentity& peer);

}  // namespace shoal
