// The state of a replica between two events of its trace: ledger, order in force, sum, journal. The variables are those
// of the model (tests/protocol/step/state.h), for any number of microbatches up to 1024 and with epochs as runs have
// them.
//
// A trace does not show when a replica takes a letter from its mailbox. So several states may explain the same events;
// they differ in how many letters have been read.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "messages/pipeline.h"
#include "tests/protocol/observed/letter.h"
#include "tests/protocol/observed/microbatches.h"
#include "tests/protocol/observed/standing.h"

namespace shoal::observed {

enum class Phase : std::uint8_t { kOpen, kFrozen, kReduced };
enum class OrderKind : std::uint8_t { kNone, kOpen, kZero, kPrepare };

// none -> in flight -> answered, and what lies between (P-6, P-7, P-16a).
struct LedgerState {
  Microbatches in_flight;
  Microbatches computed;  // of those in flight: the activation went on
  Microbatches arrived;   // of those in flight: the answer from downstream is here
  Microbatches answered;
  Microbatches owed;  // of those answered: their gradients are not in the accumulators yet
  friend auto operator<=>(const LedgerState&, const LedgerState&) = default;
};

// The order in force and the sum that it led to (P-15, P-18).
struct SumState {
  Epoch epoch;
  Epoch emptied;  // no Zero of it or of one before it concerns the ledger (P-16b)
  OrderKind order = OrderKind::kNone;
  Phase phase = Phase::kOpen;
  bool has_reduce = false;
  bool needs_parts = false;  // the sum is of more than one member
  std::uint32_t parts = 0;   // that came for it
  Epoch held_epoch;          // of parts that came before their order
  std::uint32_t held_parts = 0;
  friend auto operator<=>(const SumState&, const SumState&) = default;
};

// A Forward, as far as it is judged.
struct Asked {
  Branch branch;
  Term term;
  JournalPosition position;
  StepId step;
  std::uint32_t microbatch = 0;
  ProcessIncarnation from;
  friend auto operator<=>(const Asked&, const Asked&) = default;
};

struct Order {
  OrderKind kind = OrderKind::kNone;
  Branch branch;
  Term term;
  StepId step;
  OrderName name;
  friend auto operator<=>(const Order&, const Order&) = default;
};

// A replica's words, which its router may send at any later time, once or again.
struct Given {
  StepId step;
  Epoch epoch;
  Microbatches microbatches = {};
  friend auto operator<=>(const Given&, const Given&) = default;
};
struct Refused {
  StepId step;
  std::uint32_t microbatch = 0;
  RefusalReason reason = RefusalReason::kFenced;
  friend auto operator<=>(const Refused&, const Refused&) = default;
};
struct Said {
  std::vector<Given> manifests;
  std::vector<Refused> refusals;
  std::vector<Given> contributions;  // to sums; what was in them is named by the manifest of the epoch
  friend auto operator<=>(const Said&, const Said&) = default;
};

// Events that must come next in the replica's own trace.
struct Owed {
  bool is_working = false;      // the end of the job in progress: no letter is read before it
  bool is_applying = false;     // the apply of the commit that was read
  bool is_end = false;          // its end: it cannot follow the journal any further
  bool is_drop = false;         // one "stale order": an early one was out of date when its time came
  bool is_at_boundary = false;  // the end of the step: rounds may be due before it (P-32)
  bool has_updated = false;     // there: the means of those rounds are applied
  friend auto operator<=>(const Owed&, const Owed&) = default;
};

struct ReplicaState {
  std::size_t read = 0;             // letters, of those that the router handed on at once
  std::vector<std::uint32_t> late;  // those that it may have held, and that were not read yet
  JournalPosition position;
  Term term;
  std::uint64_t version = 0;
  bool is_member = false;
  bool has_trained = false;  // since it gave what it trained to the rounds that were due last
  LedgerState ledger;
  SumState sum;
  std::vector<Asked> waiting;
  std::optional<Order> early;
  Owed owed;
  Said said;
  friend auto operator<=>(const ReplicaState&, const ReplicaState&) = default;
};

// The members that a CommitRound names, by its position: a trace has them in the vote that it follows.
using RoundShares = std::map<JournalPosition, std::set<Incarnation>>;

// Facts that stay as they are while a replica lives.
struct Setting {
  const Standings* journal = nullptr;
  Incarnation self;
  StageId stage;
  Branch branch;
  std::uint32_t microbatches = 0;
  bool is_last = false;     // its stage computes the loss
  Term term;                // in which it was started
  bool has_rounds = false;  // the run agrees on rounds: each member's sum of a step is its own (P-31)
  const RoundShares* shares = nullptr;
};

}  // namespace shoal::observed
