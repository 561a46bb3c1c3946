// Lists whom processes of the run do not let in any more, because they crashed by what that peer had sent: for `shoal
// status`.
//
// Each process tells it whenever it is welcomed, so that a spawner that was started again knows it, too. Bounded (S-6):
// the newest kKeptMax certificates. Pure.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>

#include "messages/metrics.h"
#include "runtime/base/bound.h"

namespace shoal {

// The event by which a process tells it: its subject is the certificate.
inline constexpr std::string_view kPeerRefused = "peer_refused";

class RefusedPeers {
 public:
  static inline const Bound kKeptMax{"supervision.refused_peers", 64};

  // Whether it is news to a person: a refusal, or one more process that refuses. Any other event is not looked at.
  bool hear(const RunEvent& event) {
    if (event.event != kPeerRefused) return false;
    const auto is_same = [&event](const RunEvent& known) {
      return known.subject == event.subject && known.reason == event.reason;
    };
    if (std::ranges::any_of(told_, is_same)) return false;
    told_.push_back(event);
    if (kKeptMax.is_exceeded_by(told_.size())) told_.pop_front();
    return true;
  }
  // "; refused by certificate: ..."; empty: nobody is.
  [[nodiscard]] std::string explain() const {
    std::string names;
    for (auto one = told_.begin(); one != told_.end(); ++one) {
      const auto is_it = [one](const RunEvent& other) { return other.subject == one->subject; };
      if (std::find_if(told_.begin(), one, is_it) != one) continue;
      names += (names.empty() ? "" : ", ") + one->subject;
    }
    if (names.empty()) return names;
    return "; refused by certificate: " + names + " (the event peer_refused says by whom, why, and what lets it in)";
  }

 private:
  std::deque<RunEvent> told_;  // one for each certificate and process
};

}  // namespace shoal
