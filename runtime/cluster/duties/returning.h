// Takes over a run that a spawner before this one began: its processes come back under their numbers, with the replicas
// they serve, and the step in progress goes on. Nothing is rolled back while every stage has somebody (P-30).
//
// All that the spawner knew by heart comes again: votes and progress from new sync groups, holders from manifests,
// the last checkpoint from the disk, and whether this was the last step from the journal.
#pragma once

#include "runtime/cluster/number_block.h"
#include "runtime/cluster/truth/truth.h"

namespace shoal {

class ReturnDuty {
 public:
  ReturnDuty(const Truth& truth, const ReservedNumbers& numbers) : truth_(truth), numbers_(numbers) {}

  [[nodiscard]] Answers on(const TermBegins& begins, Instant now);
  [[nodiscard]] Answers on(const CameBack& back, Instant now);
  // Looks if enough are back, or nobody else is waited for.
  [[nodiscard]] Answers on(const ReturnDue& due, Instant now);
  [[nodiscard]] Answers on(const TickCame& tick, Instant now);

 private:
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] std::size_t spares() const;
  [[nodiscard]] Answers conclude(Instant now) const;

  const Truth& truth_;
  const ReservedNumbers& numbers_;
};

}  // namespace shoal
