// Decides when a process renews its certificate, and gets the next one for the same key: one file changes, so
// that a process that is killed in between finds a pair that belongs together. Bounds how many the spawner signs for a
// node. Pure.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/transport/certificates.h"

namespace shoal {

// Returns the time to the next look at a certificate: until it is due, an hour at most, because clocks jump; while it
// is due and no other was to be had, a tenth of what is left of it.
[[nodiscard]] std::chrono::milliseconds until_next_look(const Validity& validity, WallTime now);

// Signs a request: the run's authority, or the spawner that is asked. May wait.
using SignRequest = std::function<Result<std::string>(const std::string& request)>;

// The same identity and key with a new certificate. Errors: those of `sign`; kInvalidData (the answer is not one, or is
// another process's).
[[nodiscard]] Result<Credentials> renewed(const Credentials& credentials, const SignRequest& sign);

// Bounds the certificates that a name gets in exchange for earlier ones (S-6): each is signed, written to the disk and
// remembered. Every process of a node asks once, when a third of its certificate's life is left, and again if the
// answer was lost; a node that asks more often is not served. Remembers what was asked within that time.
class RenewalPace {
 public:
  static constexpr std::size_t kRenewalsMax = 64;  // of a name, within a third of a certificate's life

  // Returns whether one more may be signed, and counts it.
  [[nodiscard]] bool may_renew(const std::string& name, const Validity& validity, Instant now);

 private:
  std::map<std::string, std::deque<Instant>> asked_;  // by name; none of them empty
};

}  // namespace shoal
