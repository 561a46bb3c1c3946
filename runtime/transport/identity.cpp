// Parsing is strict: what this program did not write itself is not an identity.
#include "runtime/transport/identity.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr std::string_view kScheme = "shoal://";
constexpr std::size_t kRunDigits = 16;
constexpr std::size_t kNameLengthMax = 64;
constexpr std::array kRoles = {PeerRole::kSpawner, PeerRole::kNode, PeerRole::kStorage, PeerRole::kOperator};

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

Failure malformed(std::string_view part) {
  return fail(Error::kRefused,
              compose("The certificate's identity has no valid ", part,
                      "; shoal://<run>/<role>/<name> was expected. It was not issued by this program."));
}

}  // namespace

std::string_view role_text(PeerRole role) {
  switch (role) {
    case PeerRole::kSpawner: return "spawner";
    case PeerRole::kNode: return "node";
    case PeerRole::kStorage: return "storage";
    case PeerRole::kOperator: return "operator";
  }
  return "unknown";
}

std::string run_text(RunId run) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(kRunDigits, '0');
  for (std::size_t i = 0; i < kRunDigits; ++i) text[kRunDigits - 1 - i] = kDigits[(run.value >> (4 * i)) & 0xf];
  return text;
}

Result<RunId> parse_run(std::string_view text) {
  if (text.size() != kRunDigits || !std::all_of(text.begin(), text.end(), is_lower_hex)) return malformed("run");
  RunId run;
  std::from_chars(text.data(), text.data() + text.size(), run.value, 16);
  return run;
}

bool is_valid_name(std::string_view name) {
  if (name.empty() || name.size() > kNameLengthMax || !is_letter_or_digit(name.front())) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

std::string peer_name(const PeerIdentity& identity) { return compose(role_text(identity.role), '/', identity.name); }

std::string identity_uri(const PeerIdentity& identity) {
  return compose(kScheme, run_text(identity.run), '/', role_text(identity.role), '/', identity.name);
}

Result<PeerIdentity> parse_identity(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return malformed("scheme");
  uri.remove_prefix(kScheme.size());
  const auto first = uri.find('/');
  const auto second = first == std::string_view::npos ? first : uri.find('/', first + 1);
  if (second == std::string_view::npos) return malformed("role and name");
  const std::string_view run = uri.substr(0, first);
  const std::string_view role = uri.substr(first + 1, second - first - 1);
  const std::string_view name = uri.substr(second + 1);

  PeerIdentity identity;
  const auto parsed_run = parse_run(run);
  if (!parsed_run.ok()) return parsed_run.failure();
  identity.run = *parsed_run;
  const auto* found = std::find_if(kRoles.begin(), kRoles.end(), [&](PeerRole r) { return role_text(r) == role; });
  if (found == kRoles.end()) return malformed("role");
  identity.role = *found;
  if (!is_valid_name(name)) return malformed("name");
  identity.name = std::string(name);
  return identity;
}

Status peer_allowed(const PeerPolicy& policy, const PeerIdentity& peer) {
  if (peer.run != policy.run) {
    return fail(Error::kRefused, compose("The certificate of ", peer.name, " is of run ", run_text(peer.run),
                                         ", this is run ", run_text(policy.run), "; join with a token of this run."));
  }
  if (std::find(policy.roles.begin(), policy.roles.end(), peer.role) == policy.roles.end()) {
    return fail(Error::kRefused, compose("The certificate of ", peer.name, " has the role ", role_text(peer.role),
                                         ", which has no business at this address."));
  }
  if (policy.admit && !policy.admit(peer)) {
    return fail(Error::kRefused, compose("The certificate of ", peer.name, " was revoked; join with a new token."));
  }
  return Done{};
}

}  // namespace shoal
