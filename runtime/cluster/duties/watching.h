// Watches for signs of life and their absence: heartbeats, broken links, processes that do not reach each other
// (P-28b; SignsOfLife judges).
//
// A link that breaks is not yet a process that is gone: it has time to come back, unless nobody listens there any more.
#pragma once

#include "runtime/cluster/truth/truth.h"

namespace shoal {

class WatchDuty {
 public:
  WatchDuty(const Truth& truth, SignsOfLife& signs) : truth_(truth), signs_(signs) {}

  [[nodiscard]] Answers on(const Heartbeat& heartbeat, Instant now);
  [[nodiscard]] Answers on(const ProcessLost& lost, Instant now);
  [[nodiscard]] Answers on(const ProcessDied& died, Instant now);
  [[nodiscard]] Answers on(const PeerUnreachable& complaint, Instant now);
  [[nodiscard]] Answers on(const ProcessJoined& joined, Instant now);
  [[nodiscard]] Answers on(const CameBack& back, Instant now);
  [[nodiscard]] Answers on(const LinkedAgain& linked, Instant now);
  [[nodiscard]] Answers on(const ProcessGone& gone, Instant now);
  [[nodiscard]] Answers on(const TickCame& tick, Instant now);
  // Once the silent are gone: of two that do not reach each other one goes. Where neither can be spared for long, all
  // start again among those who reach each other, if they are enough for every stage.
  [[nodiscard]] Answers on(const ComplaintsDue& due, Instant now);

 private:
  [[nodiscard]] bool could_start_apart(Instant now) const;

  const Truth& truth_;
  SignsOfLife& signs_;
};

}  // namespace shoal
