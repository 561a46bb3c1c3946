// Judges whose clock is wrong, where a certificate is refused for its times: a wrong clock passes, and so does the wait
// for the right one, while a certificate that has really expired does not.
//
//   certificate valid by    our clock   the spawner's     a node
//                           no          yes               goes on trying: look at this machine's clock
//                           yes         no                goes on trying: look at the spawner's clock
//                           not yet     not yet           goes on trying: its time comes, or both clocks are behind
//                           no more     no more           its own: refused, a new one is needed; else goes on trying
//
// The spawner's clock is what it says in the Date of any answer. The answer comes from anybody, unverified: it is good
// for a sentence and for nothing else.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/error.h"
#include "runtime/transport/certificates.h"
#include "runtime/transport/sockets.h"

namespace shoal {

struct ClockFacts {
  WallTime ours{};
  std::optional<WallTime> spawners;      // absent: it did not say
  std::optional<Validity> own;           // our certificate, if there is one
  std::optional<Validity> spawners_own;  // the certificate that it showed
};

enum class TimeFault { kNone, kClock, kNotYet, kExpired, kOwnExpired };

struct TimeVerdict {
  TimeFault fault = TimeFault::kNone;
  std::string sentence = {};  // says whose clock, which times, what to do
};
[[nodiscard]] TimeVerdict judge_times(const ClockFacts& facts);

// Explains a refusal whose reason are times: kUnreachable where trying again is of use. Any other failure
// is returned as it is. own: files of ours, of which there may be none yet.
[[nodiscard]] Failure explain_times(const Failure& failure, const TlsFiles& own, const HostPort& spawner, WallTime now);

}  // namespace shoal
