// Lists are short: what a person revoked during one run.
#include "runtime/transport/revocation/revoked_certificates.h"

#include <algorithm>

namespace shoal {
namespace {

bool is_refused(const Revocations& list, std::string_view name, std::string_view serial) {
  const auto found = std::ranges::find(list.names, name, &RevokedName::name);
  return found != list.names.end() && std::ranges::find(found->readmitted, serial) == found->readmitted.end();
}

}  // namespace

bool RevokedCertificates::take(const Revocations& list, Instant now) {
  const std::lock_guard guard(mutex_);
  if (list.version <= list_.version) return false;
  list_ = list;
  for (const RevokedName& revoked : list_.names) since_.try_emplace(revoked.name, now);
  return true;
}

Revocations RevokedCertificates::list() const {
  const std::lock_guard guard(mutex_);
  return list_;
}

std::uint64_t RevokedCertificates::version() const {
  const std::lock_guard guard(mutex_);
  return list_.version;
}

bool RevokedCertificates::refuses(std::string_view name, std::string_view serial) const {
  const std::lock_guard guard(mutex_);
  return is_refused(list_, name, serial);
}

bool RevokedCertificates::has_refused_for(Duration duration, std::string_view name, std::string_view serial,
                                          Instant now) const {
  const std::lock_guard guard(mutex_);
  const auto since = since_.find(name);
  return since != since_.end() && now - since->second >= duration && is_refused(list_, name, serial);
}

}  // namespace shoal
