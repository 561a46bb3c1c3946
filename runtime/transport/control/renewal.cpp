// Renews a certificate; TlsContext::renew() checks that certificate and key belong together.
#include "runtime/transport/control/renewal.h"

#include <algorithm>

namespace shoal {
namespace {

constexpr std::chrono::milliseconds kLookMin{500};
constexpr std::chrono::milliseconds kLookMax = std::chrono::hours(1);

std::chrono::milliseconds as_milliseconds(WallTime::duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

}  // namespace

std::chrono::milliseconds until_next_look(const Validity& validity, WallTime now) {
  const WallTime due = validity.not_after - (validity.not_after - validity.not_before) / 3;
  const std::chrono::milliseconds wait =
      now < due ? as_milliseconds(due - now) : as_milliseconds(validity.not_after - now) / 10;
  return std::clamp(wait, kLookMin, kLookMax);
}

Result<Credentials> renewed(const Credentials& credentials, const SignRequest& sign) {
  const auto identity = identity_of(credentials.certificate);
  if (!identity.ok()) return identity.failure();
  const auto request = make_csr(credentials.key, identity->name);
  if (!request.ok()) return request.failure();
  auto certificate = sign(*request);
  if (!certificate.ok()) return certificate.failure();
  const auto given = identity_of(*certificate);
  if (!given.ok() || *given != *identity) {
    return fail(Error::kInvalidData, "The new certificate is of somebody else; the old one stays.");
  }
  return Credentials{credentials.ca, std::move(*certificate), credentials.key};
}

bool RenewalPace::may_renew(const std::string& name, const Validity& validity, Instant now) {
  const auto window = std::chrono::duration_cast<Duration>((validity.not_after - validity.not_before) / 3);
  for (auto& [asker, times] : asked_) std::erase_if(times, [&](Instant at) { return now - at >= window; });
  std::erase_if(asked_, [](const auto& one) { return one.second.empty(); });
  std::deque<Instant>& asked = asked_[name];
  if (asked.size() >= kRenewalsMax) return false;
  asked.push_back(now);
  return true;
}

}  // namespace shoal
