// Finds the microbatch that ends every replica that computes it (P-20a): it has ended two replicas of one stage.
//
//   nothing known ──a replica ends while it computes it──▶ suspected ──another one does──▶ quarantined
//        ▲                                                    │
//        └────────────── its step is committed ───────────────┘
//
// Different replicas are different incarnations: with one replica per stage, the one that is started again counts. A
// replica that ended for another reason than its own computation is no evidence, so ends that were ordered or that
// came from outside do not count (work_note.h). What is known of a step is kept over roll-backs, for they come
// to the same samples again; it is not durable, so a spawner that was started again sees one more replica end.
//
// Bounded (S-6): kSuspectsMax suspected microbatches, those of the latest steps forgotten first; kQuarantinedMax of a
// run, because a program in which so many fail is itself at fault, and a step keeps at least one. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "messages/supervision.h"
#include "runtime/base/bound.h"
#include "runtime/journal/view.h"

namespace shoal {

struct PoisonVerdict {
  enum class Kind : std::uint8_t {
    kSuspected,
    kQuarantine,
    kHopeless,  // one quarantine too many: the run cannot go on
  };
  Kind kind = Kind::kSuspected;
  std::string reason;
};

class PoisonWatch {
 public:
  static inline const Bound kSuspectsMax{"supervision.suspected_microbatches", 1024};
  static inline const Bound kQuarantinedMax{"supervision.quarantined_microbatches", 64};

  // microbatches: planned per step; others are no evidence.
  explicit PoisonWatch(std::uint32_t microbatches) : microbatches_(microbatches) {}

  // A replica of the stage ended while it computed this. Nothing: that says nothing new, or the step is committed.
  [[nodiscard]] std::optional<PoisonVerdict> ended(StageId stage, Incarnation replica, const ComputedMicrobatch& work,
                                                   const View& view);
  // Somebody has computed every microbatch of the step.
  void committed(StepId step);

  [[nodiscard]] std::size_t suspect_count() const { return suspects_.size(); }

 private:
  using Key = std::tuple<StepId, MicrobatchId, StageId>;

  std::uint32_t microbatches_;
  std::map<Key, Incarnation> suspects_;  // and whom each has ended first
};

}  // namespace shoal
