// Tells every router whom there is to link with, and whose certificates are refused: when that changes, and again every
// while, for a letter may be lost with its link.
//
// Nobody is told while members come back to a spawner that was started again: whoever is not back yet would lose its
// links to the others.
#pragma once

#include "runtime/cluster/truth/truth.h"

namespace shoal {

class IntroductionDuty {
 public:
  explicit IntroductionDuty(const Truth& truth) : truth_(truth) {}

  [[nodiscard]] Answers on(const TermBegins& begins, Instant now);
  [[nodiscard]] Answers on(const PeersChanged& changed, Instant now);
  [[nodiscard]] Answers on(const Welcomed& welcomed, Instant now);
  [[nodiscard]] Answers on(const Revocations& list, Instant now);
  [[nodiscard]] Answers on(const TickCame& tick, Instant now);

  [[nodiscard]] std::uint64_t revoked_version() const { return revoked_.version; }

 private:
  void send_peers(Answers& answers);
  void send_revoked(ProcessIncarnation process, Answers& answers) const;

  const Truth& truth_;
  Revocations revoked_;
  Instant told_at_{};
  std::uint64_t serial_ = 0;  // of the newest list of peers
};

}  // namespace shoal
