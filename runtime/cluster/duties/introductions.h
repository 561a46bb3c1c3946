// Tells every router which processes to link with, and which certificates are refused: when that changes, and again
// every while, because a letter may be lost with its link.
//
// A process that left as asked stays named for a moment: the ends of its log and its trace are still on their way to
// storage, which closes its link to a process that is no longer named.
//
// No list is sent while members come back to a restarted spawner: a member that is not back yet would lose its links to
// the others. Only the spawner's own router is told then, also of those that are awaited: nobody else takes their
// numbers meanwhile (S-7).
#pragma once

#include <map>

#include "runtime/cluster/truth/truth.h"

namespace shoal {

class IntroductionDuty {
 public:
  explicit IntroductionDuty(const Truth& truth) : truth_(truth) {}

  [[nodiscard]] Answers on(const TermBegins& begins, Instant now);
  [[nodiscard]] Answers on(const ProcessGone& gone, Instant now);
  [[nodiscard]] Answers on(const PeersChanged& changed, Instant now);
  [[nodiscard]] Answers on(const Welcomed& welcomed, Instant now);
  [[nodiscard]] Answers on(const Revocations& list, Instant now);
  [[nodiscard]] Answers on(const TickCame& tick, Instant now);

  [[nodiscard]] std::uint64_t revoked_version() const { return revoked_.version; }

 private:
  // Names a process that left, until then.
  struct Parting {
    Peer peer;
    Instant until;
  };

  void send_peers(Answers& answers, Instant now);
  [[nodiscard]] Peers peers_in(Instant now) const;
  void send_revoked(ProcessIncarnation process, Answers& answers) const;

  const Truth& truth_;
  Revocations revoked_;
  Instant told_at_{};
  std::map<ProcessIncarnation, Parting> parting_;  // whoever left a moment ago
  std::uint64_t serial_ = 0;                       // of the newest list of peers
  bool names_awaited_ = true;                      // to the spawner's router
};

}  // namespace shoal
