// Certificates of the run that are refused, as every process knows it: those of revoked names, but for the ones that
// were given out since (`shoal evict --revoke`; P-10a).
//
// The spawner decides, writes it down and sends the whole list to every process (messages/cluster.h). Every check of a
// peer's certificate asks here, at every port and in both directions. Thread-safe: checks run on I/O threads.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "messages/cluster.h"
#include "runtime/base/clock.h"

namespace shoal {

class RevokedCertificates {
 public:
  // Takes a newer list than the one we have; an older one may still arrive, and changes nothing. Whether it was newer.
  bool take(const Revocations& list, Instant now);

  [[nodiscard]] Revocations list() const;
  [[nodiscard]] std::uint64_t version() const;
  // True for a node's certificate with this name and serial number that is refused.
  [[nodiscard]] bool refuses(std::string_view name, std::string_view serial) const;
  // True when, besides, the name has been in the list for so long: the last words to its holder may still be under way.
  [[nodiscard]] bool has_refused_for(Duration duration, std::string_view name, std::string_view serial,
                                     Instant now) const;

 private:
  mutable std::mutex mutex_;
  Revocations list_;
  std::map<std::string, Instant, std::less<>> since_;  // by name
};

}  // namespace shoal
