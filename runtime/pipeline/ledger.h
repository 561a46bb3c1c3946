// A replica's record of the step it works on: microbatch -> none | in flight | answered (P-6, P-7: accumulated). Its
// pass is made and who asked is told; gradients of weights that were left for later enter the accumulators before any
// manifest, so a manifest that was given names what is in them.
//
//   none ── Forward while open ──▶ in flight ── Backward while open ──▶ answered ── own apply or Zero ──▶ none
//     ▲                                │ Quarantine
//     └────────────────────────────────┘
//
// Invariant (S-1): a microbatch is answered at most once between two clear()s, so it is accumulated at most once; what
// asks again gets the cached reply. Bounded (S-6): at most one entry per microbatch of the step, one waiter, and
// one note of what it was given, per asking replica.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "messages/metrics.h"
#include "messages/pipeline.h"
#include "messages/sync.h"
#include "runtime/base/clock.h"

namespace shoal {

// A replica that waits for the answer, and what its question said for the trace.
struct Waiter {
  Incarnation replica;  // nobody (0): the data loader
  Cause cause;
};

enum class LedgerState : std::uint8_t { kInFlight, kAnswered };

// Share of one pass over the microbatch in the accumulators.
struct MicrobatchShare {
  std::uint64_t token_count = 0;
  double loss_sum = 0;  // last stage only
  std::optional<std::string> bad_tensor;
};

struct LedgerEntry {
  LedgerState state = LedgerState::kInFlight;
  std::optional<Forward> forward;   // until it was computed: its tensors then belong to the executor
  bool computed = false;            // the activation went on
  std::optional<Backward> arrived;  // an answer that waits for its turn, or for Open (P-8)
  std::vector<Waiter> waiters;
  Incarnation input_from;         // the sender of the input that is computed on
  std::optional<Backward> reply;  // cached when answered
  Incarnation gradient_from;      // the next hop whose answer it was
  MicrobatchShare share;
  Hop timing;                         // times of this replica; complete when answered
  Instant ready_since;                // when the next piece of its work could have begun
  std::vector<Incarnation> given_to;  // replicas that were sent the reply
};

class Ledger {
 public:
  // capacity: microbatches of a step; indices at or above it never enter.
  explicit Ledger(std::uint32_t capacity) : capacity_(capacity) {}

  [[nodiscard]] bool is_planned(MicrobatchId microbatch) const { return microbatch.value < capacity_; }
  [[nodiscard]] LedgerEntry* find(MicrobatchId microbatch);
  // none -> in flight. Ensures that it was none and is planned.
  LedgerEntry& enter(const Forward& forward, Instant now);
  // Adds the asker unless the same replica waits already; its newer question replaces the older.
  static void join(LedgerEntry& entry, const Waiter& waiter);
  // True when the reply was sent to this replica; give() notes that it is sent to it now.
  [[nodiscard]] static bool was_given(const LedgerEntry& entry, Incarnation replica);
  static void give(LedgerEntry& entry, Incarnation replica);
  // in flight -> answered with this reply; gives back who waited. Ensures that it was in flight.
  std::vector<Waiter> answer(MicrobatchId microbatch, MicrobatchShare share, Backward reply);
  // in flight -> none: it was quarantined. False: it was not in flight. What is answered stays until a Zero.
  bool withdraw(MicrobatchId microbatch);
  void clear() { entries_.clear(), answered_count_ = 0; }

  [[nodiscard]] std::size_t answered_count() const { return answered_count_; }
  [[nodiscard]] std::size_t in_flight_count() const { return entries_.size() - answered_count_; }
  // The answered microbatches, ascending: what this replica would contribute.
  [[nodiscard]] std::vector<ManifestEntry> manifest() const;
  // The others, ascending.
  [[nodiscard]] std::vector<MicrobatchId> in_flight() const;
  // Passes in the order of the manifest: whose inputs and gradients they are of.
  [[nodiscard]] std::vector<MicrobatchPass> passes() const;

 private:
  std::uint32_t capacity_;
  std::size_t answered_count_ = 0;
  std::map<MicrobatchId, LedgerEntry> entries_;
};

}  // namespace shoal
