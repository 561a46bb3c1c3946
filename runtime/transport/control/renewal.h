// Decides when a process renews its certificate, and gets the next one for the same key: one file changes, so
// that a process that is killed in between finds a pair that belongs together. Pure.
#pragma once

#include <chrono>
#include <functional>
#include <string>

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

}  // namespace shoal
