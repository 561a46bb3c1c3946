// The one durable order of membership changes and commits (P-1), and how every process follows it (P-3).
//
//   supervisor ──JournalEntries──▶ the router of every process ──▶ its actors, one entry at a time, none skipped
//   a process that sees a later position: FetchJournal ──▶ supervisor
//
// The oldest entries of a long journal are kept no more: a ViewState says what they said, to a process that asks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/ids.h"
#include "messages/values/one_of.h"
#include "messages/sync.h"

namespace shoal {

struct AddReplica {
  StageId stage;
  ReplicaId slot;  // for its name: stage/<stage>/<slot>
  Incarnation replica;
  ProcessIncarnation process;
  std::uint64_t version = 0;  // steps applied of the state it starts with; == committed steps (P-27)
  friend bool operator==(const AddReplica&, const AddReplica&) = default;
};

struct RemoveReplica {
  StageId stage;
  Incarnation replica;
  std::string reason;
  friend bool operator==(const RemoveReplica&, const RemoveReplica&) = default;
};

// The sync group the supervisor appointed for a stage; votes of others are void (P-22).
struct AppointGroup {
  StageId stage;
  Incarnation group;
  friend bool operator==(const AppointGroup&, const AppointGroup&) = default;
};

struct SkipStep {
  std::string tensor;
  MicrobatchId microbatch;
  friend bool operator==(const SkipStep&, const SkipStep&) = default;
};

struct StageCommit {
  StageId stage;
  Epoch epoch;
  std::uint64_t digest = 0;
  std::vector<MemberManifest> manifests;
  friend bool operator==(const StageCommit&, const StageCommit&) = default;
};

struct Commit {
  StepId step;
  std::vector<StageCommit> stages;  // ascending by stage
  std::vector<TensorNorm> norms;    // all stages, ascending by name
  double gradient_norm = 0;         // before clipping
  double loss_sum = 0;              // nats, over token_count, added in the order of the microbatches
  std::uint64_t token_count = 0;
  double learning_rate = 0;
  double clip_scale = 1;                   // min(1, clip_norm / (gradient_norm + 1e-6)), or 1 when clipping is off
  std::uint64_t optimizer_step = 0;        // updates applied, this one included unless skipped
  std::optional<SkipStep> skip;            // set: nobody applies, version still advances
  std::vector<Incarnation> checkpoint_by;  // one replica per stage that saves the state after this step; empty: none
  bool is_last = false;                    // the run's last one, as far as is known: rounds in flight are due after it
  // Measured by the supervisor's clock: since the commit before it (also of a branch that was left), or since training
  // could begin, or since the spawner was started again. Finite, not negative; 0: not known. No decision depends on it.
  double step_ms = 0;
  bool is_partly_timed = false;  // the spawner was started again in the middle of the step: step_ms is of its rest
  friend bool operator==(const Commit&, const Commit&) = default;
};

// Place of a microbatch in the plan of the whole run: step * microbatches of a step + its index in the step.
using PlaceId = Id<struct PlaceTag>;

// A fragment's round is agreed: all members apply its mean here, between the steps that the journal shows before and
// after it (DESIGN.md §6). Tokens of the stage since the fragment's last round = those of the shares + tokens_lost.
struct CommitRound {
  StageId stage;
  StepId step;  // steps applied when the contributions were taken
  RoundId round;
  Epoch epoch;
  std::uint64_t digest = 0;        // XXH3-64 of the mean's bytes
  std::vector<RoundShare> shares;  // ascending by member; a member without one drops out of the mean
  std::uint64_t tokens_lost = 0;
  // Microbatches that were lost here first, ascending; only with sync.requeue_lost. Their samples are trained again, in
  // this order, at places from `trained_again_from` on, of steps not begun (runtime/journal/requeued_samples.h).
  std::vector<PlaceId> lost = {};
  PlaceId trained_again_from = {};
  friend bool operator==(const CommitRound&, const CommitRound&) = default;
};

// The run is over after the steps committed so far.
struct FinishRun {
  std::string reason;
  friend bool operator==(const FinishRun&, const FinishRun&) = default;
};

// Leaves a microbatch out of the plan of its step from here on: it ended the replicas that computed it.
struct Quarantine {
  StepId step;
  MicrobatchId microbatch;
  std::string reason;
  friend bool operator==(const Quarantine&, const Quarantine&) = default;
};

using JournalBody = OneOf<AddReplica, RemoveReplica, AppointGroup, Commit, FinishRun, Quarantine, CommitRound>;

struct JournalEntry {
  JournalPosition position;  // 1, 2, ...
  Branch branch;
  Term term;
  JournalBody body;
  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

// A replica as a view knows it.
struct ReplicaMember {
  Incarnation incarnation;
  ReplicaId slot;
  ProcessIncarnation process;
  friend bool operator==(const ReplicaMember&, const ReplicaMember&) = default;
};

struct StageMembers {
  std::vector<ReplicaMember> replicas;  // ascending by incarnation
  JournalPosition last_change;          // newest change of what the stage's sum is made of; 0: none
  friend bool operator==(const StageMembers&, const StageMembers&) = default;
};

// Totals after a committed step that a branch may begin with again.
struct StepTotals {
  std::uint64_t version = 0;  // steps committed
  std::uint64_t optimizer_step = 0;
  std::uint64_t tokens = 0;
  bool is_saved = false;  // in a checkpoint: remembered longer
  friend bool operator==(const StepTotals&, const StepTotals&) = default;
};

// Tokens that a round of the first fragment lost, the most that one stage did.
struct RoundLoss {
  std::uint64_t version = 0;  // steps committed when it was agreed
  std::uint64_t number = 0;
  std::uint64_t lost = 0;
  friend bool operator==(const RoundLoss&, const RoundLoss&) = default;
};

struct LostTokensState {
  std::vector<RoundLoss> rounds;  // with losses: those in the state that all began with, then ascending by number
  std::uint64_t in_rounds = 0;    // in all of them; in a snapshot of an earlier version also in forgotten ones
  std::uint64_t thrown_away = 0;
  friend bool operator==(const LostTokensState&, const LostTokensState&) = default;
};

// Places of the plan that one entry took, for the samples that it lost.
struct TakenPlaces {
  std::uint64_t version = 0;  // steps committed when it was agreed
  PlaceId first;
  std::uint64_t before = 0;      // places taken by the entries before it
  std::vector<PlaceId> lost;     // ascending
  std::vector<PlaceId> samples;  // those that stood at the places from `first` on; as many
  friend bool operator==(const TakenPlaces&, const TakenPlaces&) = default;
};

struct RequeuedState {
  std::vector<TakenPlaces> taken;  // ascending by place
  std::uint64_t forgotten = 0;     // places
  friend bool operator==(const RequeuedState&, const RequeuedState&) = default;
};

struct QuarantinedMicrobatch {
  StepId step;
  MicrobatchId microbatch;
  friend auto operator<=>(const QuarantinedMicrobatch&, const QuarantinedMicrobatch&) = default;
};

// The newest round of its fragment.
struct AgreedRound {
  StageId stage;
  RoundId round;
  friend bool operator==(const AgreedRound&, const AgreedRound&) = default;
};

// All that a View (runtime/journal/view.h) knows after the entries up to `position`, in place of these.
struct ViewState {
  JournalPosition position;
  Branch branch;
  std::uint64_t committed_steps = 0;
  std::uint64_t start = 0;       // steps committed in the state that all members began with
  std::uint64_t held_until = 0;  // the state above holds every round with contributions of this version or before
  bool is_at_last_commit = false;
  std::uint32_t skips_in_a_row = 0;
  std::vector<StageMembers> stages;  // by number
  std::vector<AppointGroup> groups;  // ascending by stage
  std::vector<AgreedRound> rounds;   // ascending by stage and fragment
  std::vector<StepTotals> totals;    // ascending by version
  LostTokensState lost;
  std::vector<QuarantinedMicrobatch> quarantined;  // ascending
  RequeuedState requeued;
  std::vector<std::uint64_t> ends;      // versions, ascending
  std::optional<std::string> finished;  // why
  friend bool operator==(const ViewState&, const ViewState&) = default;
};

// Counted in the first `version` steps, which a round took contributions after.
struct ContributedTotal {
  std::uint64_t version = 0;
  std::uint64_t tokens = 0;
  bool is_before_saved = false;  // the first rounds after a checkpoint ask for it: remembered longer
  friend bool operator==(const ContributedTotal&, const ContributedTotal&) = default;
};

struct OrderedCheckpoint {
  std::uint64_t version = 0;
  std::vector<Incarnation> by;  // one replica per stage
  friend bool operator==(const OrderedCheckpoint&, const OrderedCheckpoint&) = default;
};

// Snapshot, which a journal keeps in place of its oldest entries: all that a start of the spawner reads from them.
struct JournalSnapshot {
  ViewState view;
  Branch highest_branch;                       // the highest of any entry
  std::vector<ContributedTotal> contributed;   // ascending by version
  std::vector<OrderedCheckpoint> checkpoints;  // by commits of the branch, the newest last
  friend bool operator==(const JournalSnapshot&, const JournalSnapshot&) = default;
};

struct JournalEntries {
  RunId run;
  Term term;                           // the sending spawner's term; lower ones are refused
  std::vector<JournalEntry> entries;   // contiguous, ascending
  std::optional<ViewState> past = {};  // set: they follow this; a follower that is not so far begins with it
  friend bool operator==(const JournalEntries&, const JournalEntries&) = default;
};

struct FetchJournal {
  ProcessIncarnation process;
  JournalPosition after;
  friend bool operator==(const FetchJournal&, const FetchJournal&) = default;
};

}  // namespace shoal
