// Evaluations that a replica has not answered: no ledger entry, no backward (P-6a).
//
//   none ──Forward──▶ waits for its turn ──computed──▶ passed on ──the next stage's Backward──▶ answered ──▶ none
//                                            └── last stage: answered at once
//
// Bounded (S-6) by kEvaluationsMax, or two of each microbatch if those are more. Purpose, version and sender were
// judged before.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "messages/pipeline.h"
#include "runtime/pipeline/ledger.h"
#include "runtime/pipeline/replica/replica_turn.h"

namespace shoal {

class Evaluations {
 public:
  explicit Evaluations(std::uint32_t microbatch_count) : microbatch_count_(microbatch_count) {}

  // True: it is a new one, and to be computed. A known one's asker waits, too; one too many is refused.
  [[nodiscard]] bool enter(const Forward& message, double transfer_ms, ReplicaTurn& turn);
  // Runs it.
  void start(MicrobatchId microbatch, ReplicaTurn& turn);
  void computed(const Evaluated& result, ReplicaTurn& turn);
  // False: the answer is one to nothing, of an earlier copy of the same request.
  [[nodiscard]] bool take(const Backward& answer, ReplicaTurn& turn);
  [[nodiscard]] bool holds(MicrobatchId microbatch) const { return held_.contains(microbatch); }
  void clear() { held_.clear(); }
  [[nodiscard]] std::size_t size() const { return held_.size(); }
  [[nodiscard]] std::size_t size_max() const;

 private:
  struct Evaluation {
    Forward forward;
    std::vector<Waiter> waiters;
    Hop timing;
    Instant arrived;
    bool is_passed_on = false;  // computed, and an answer from the next stage may come
  };

  void conclude(MicrobatchId microbatch, Backward reply, ReplicaTurn& turn);

  std::uint32_t microbatch_count_;
  std::map<MicrobatchId, Evaluation> held_;
};

}  // namespace shoal
