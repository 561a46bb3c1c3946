// Admits processes or says why not, welcomes them, and removes those that are lost (P-28).
//
//   Join ──new──▶ welcomed, with the journal ──▶ joined
//        ──known, its link broke──▶ welcomed again, what it serves is compared
//        ──known to an earlier term──▶ came back (returning.h)
//        ──name taken, other kernels, run over──▶ refused
//
// The first member says which kernels the run has; they are durable before an entry names it.
// Changes the directory of processes before any other duty hears of the change.
#pragma once

#include "runtime/cluster/number_block.h"
#include "runtime/cluster/truth/truth.h"

namespace shoal {

class GatheringDuty {
 public:
  GatheringDuty(const Truth& truth, Roster& roster, ReservedNumbers& numbers)
      : truth_(truth), roster_(roster), numbers_(numbers) {}

  [[nodiscard]] Answers on(const Join& join, Instant now);
  [[nodiscard]] Answers on(const ProcessJoined& joined, Instant now);
  [[nodiscard]] Answers on(const LinkedAgain& linked, Instant now);
  [[nodiscard]] Answers on(const Served& served, Instant now);
  [[nodiscard]] Answers on(const MembersBegin& begin, Instant now);
  [[nodiscard]] Answers on(const Heartbeat& heartbeat, Instant now);
  [[nodiscard]] Answers on(const ProcessLost& lost, Instant now);
  [[nodiscard]] Answers on(const PutOut& out, Instant now);
  [[nodiscard]] Answers on(const GivenUp& given_up, Instant now);
  [[nodiscard]] Answers on(const ProcessGone& gone, Instant now);
  [[nodiscard]] Answers on(const PeerRefused& refusal, Instant now);
  [[nodiscard]] Answers on(const Revocations& list, Instant now);
  [[nodiscard]] Answers on(const StrangerReady& stranger, Instant now);
  [[nodiscard]] Answers on(const FetchJournal& fetch, Instant now);

 private:
  // A number of an earlier term that nobody has claimed in this one.
  [[nodiscard]] bool is_return(const Join& join) const;
  // A process that was given up as lost in this term has been removed from every view: it starts again.
  [[nodiscard]] bool is_given_up(const Join& join) const;
  void refuse(const Join& join, JoinRefusal reason, const std::string& explanation, Answers& answers) const;
  void let_in(const Join& join, const Admitted& admitted, Answers& answers);
  // Whoever came before the first member and has other kernels ends as if it was refused.
  void settle_kernels(ProcessIncarnation member, Answers& answers);

  const Truth& truth_;
  Roster& roster_;
  ReservedNumbers& numbers_;
};

}  // namespace shoal
