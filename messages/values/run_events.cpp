// The table, and its look-ups. To add an event: a kind, its row, the page written anew (launch/README.md).
#include "messages/values/run_events.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace shoal {
namespace {

using enum RunEventKind;

constexpr bool kCalm = true;
constexpr bool kDisturbs = false;

constexpr std::array kRows = {
    RunEventRow{kStarted, "started", kCalm, "`run`", "a person begins the run, or goes on with it"},
    RunEventRow{kTraining, "training", kCalm, "`run`", "every stage is served: training begins, or goes on"},
    RunEventRow{kResumed, "resumed", kCalm, "`run` or `spawner`",
                "the run goes on from a checkpoint; or its spawner is back and the step in progress goes on"},
    RunEventRow{kRolledBack, "rolled_back", kDisturbs, "`run`",
                "the run goes back to a checkpoint: a stage lost its last replica, or a start found nothing newer"},
    RunEventRow{kBranch, "branch", kCalm, "the branch",
                "a person begins a branch (`--branch`), with these keys changed"},
    RunEventRow{
        kStopping, "stopping", kCalm, "`run`",
        "a signal asked for the end: the step in progress is finished, or dropped where its text cannot be read"},
    RunEventRow{kStopped, "stopped", kCalm, "", "the run is saved and stopped; `--resume` goes on"},
    RunEventRow{kFinished, "finished", kCalm, "", "the run has made all its steps"},
    RunEventRow{kFailed, "failed", kDisturbs, "`run`", "the run has ended by an error, which the reason says"},
    RunEventRow{kStartRepeated, "start_repeated", kDisturbs, "`run`", "a start came to nothing; all start again"},
    RunEventRow{kStartDelayed, "start_delayed", kDisturbs, "`run`",
                "all start again after a pause, for want of memory"},

    RunEventRow{kJoined, "joined", kCalm, "the process", "a process is in the run"},
    RunEventRow{kReturned, "returned", kCalm, "the process", "a process came back to a spawner that was started again"},
    RunEventRow{kJoinRefused, "join_refused", kDisturbs, "the process", "a process may not join"},
    RunEventRow{kMixedKernels, "mixed_kernels", kCalm, "the process",
                "a process computes with other kernels: bits of a run may differ by who computes"},
    RunEventRow{kSuspected, "suspected", kDisturbs, "the process",
                "a process has been silent for longer than it uses to"},
    RunEventRow{kTrusted, "trusted", kCalm, "the process", "a suspected process is heard again"},
    RunEventRow{kDraining, "draining", kCalm, "the process", "a process is to leave, and hands over what only it has"},
    RunEventRow{kProcessLeft, "left", kCalm, "the process", "a process has left as it was told to, or as it wished"},
    RunEventRow{kEvicted, "evicted", kDisturbs, "the process", "a person put a process out of the run"},
    RunEventRow{kProcessLost, "process_lost", kDisturbs, "the process", "a process has died, or is out of reach"},
    RunEventRow{kPeerRefused, "peer_refused", kDisturbs, "the peer",
                "what a peer sends crashes processes: its certificates are refused"},
    RunEventRow{kRestartBudgetSpent, "restart_budget_spent", kDisturbs, "the process",
                "replicas of a worker failed too often (`swarm.restart_budget`)"},

    RunEventRow{kReplicaStarting, "replica_starting", kCalm, "the replica", "a replica starts while the run trains"},
    RunEventRow{kReplicaAdded, "replica_added", kCalm, "the replica", "it has the state of its stage, and serves"},
    RunEventRow{kCommitHeld, "commit_held", kDisturbs, "the replica", "a commit waits for a joiner that is late"},
    RunEventRow{kCommitReleased, "commit_released", kDisturbs, "the replica", "the commit waits no longer"},
    RunEventRow{kStateDiffers, "state_differs", kDisturbs, "the replica",
                "a joiner's state differs from that of its stage: it is ended"},
    RunEventRow{kJoinGivenUp, "join_given_up", kDisturbs, "the replica",
                "a joiner cannot follow the steps, or no more of its state comes: it is ended"},
    RunEventRow{kStartFailed, "start_failed", kDisturbs, "the stage or replica", "a replica ended before it served"},
    RunEventRow{kStartMoved, "start_moved", kDisturbs, "the replica",
                "a stage has nobody: a replica that starts gives up its worker for it"},
    RunEventRow{kStartGivenUp, "start_given_up", kDisturbs, "the replica",
                "nothing more of the state came for a replica that starts: it is ended"},
    RunEventRow{kStageEnded, "stage_ended", kDisturbs, "the stage", "a replica has ended by itself"},
    RunEventRow{kStageLost, "stage_lost", kDisturbs, "the stage", "a stage has lost its last replica"},
    RunEventRow{kStageDoesNotFit, "stage_does_not_fit", kDisturbs, "`run`",
                "too few workers have the memory that the stages need"},
    RunEventRow{kWorkerDoesNotFit, "worker_does_not_fit", kDisturbs, "the process",
                "a worker is not used, because no stage fits it"},
    RunEventRow{kMoving, "moving", kCalm, "the replica", "a replica is to move to a stage that needs it more"},
    RunEventRow{kMoved, "moved", kCalm, "the replica", "a replica that has moved serves"},
    RunEventRow{kMoveGivenUp, "move_given_up", kCalm, "the process", "a move is given up"},
    RunEventRow{kGivingWay, "giving_way", kCalm, "the process",
                "a worker that serves several stages gives one up to a newcomer"},
    RunEventRow{kMemory, "memory", kCalm, "the device", "memory used and planned, of one process on a GPU"},

    RunEventRow{kInjected, "injected", kDisturbs, "the target", "a failure that a person asked for (`shoal kill`)"},
    RunEventRow{kInjectionMissed, "injection_missed", kDisturbs, "`chaos`", "such a failure found no target"},
    RunEventRow{kRestarted, "restarted", kDisturbs, "the actor",
                "an actor has ended or does not answer, and was started again"},
    RunEventRow{
        kEscalated, "escalated", kDisturbs, "the actor",
        "an actor ends again and again, or the router does not answer: the process starts again, or the actor rests"},

    RunEventRow{
        kView, "view", kCalm, "the change",
        "an entry of the journal that is neither a commit nor a round: a replica was added or removed, for example"},
    RunEventRow{kStepSkipped, "step_skipped", kCalm, "the tensor, `loss` or `gradient norm`",
                "a value was not finite or out of range: the step changed nothing"},
    RunEventRow{kMicrobatchMissing, "microbatch_missing", kDisturbs, "the sync group",
                "nobody at a stage has counted these microbatches: they are computed again"},
    RunEventRow{kMicrobatchTwice, "microbatch_twice", kDisturbs, "the sync group",
                "a stage has counted a microbatch twice: it is emptied, and computes the step again"},
    RunEventRow{kMicrobatchUnknown, "microbatch_unknown", kDisturbs, "the sync group",
                "a stage has counted what is not of the step: it is emptied"},
    RunEventRow{kMicrobatchSuspected, "microbatch_suspected", kDisturbs, "the microbatch",
                "a replica ended while it computed this microbatch"},
    RunEventRow{kMicrobatchQuarantined, "microbatch_quarantined", kDisturbs, "the microbatch",
                "a microbatch ends whoever computes it: its step is made without it"},
    RunEventRow{kSumFailed, "sum_failed", kDisturbs, "the sync group", "a replica could not add up the gradients"},
    RunEventRow{kSumsDiffer, "sums_differ", kDisturbs, "the sync group", "replicas came to different sums: again"},
    RunEventRow{kReduceTimedOut, "reduce_timed_out", kDisturbs, "the sync group", "a sum did not come in time: again"},
    RunEventRow{kSumsChosen, "sums_chosen", kCalm, "the sync group",
                "how the gradients of a stage are added up, and why"},
    RunEventRow{kDigestMismatch, "digest_mismatch", kDisturbs, "the replica",
                "replicas of a stage differ after a commit, which must never be"},
    RunEventRow{kRound, "round", kCalm, "stage, fragment, number", "a round of DiLoCo is agreed, and who was in it"},
    RunEventRow{kRoundClosed, "round_closed", kCalm, "the sync group", "a round was closed without these replicas"},

    RunEventRow{kDataUnreadable, "data_unreadable", kDisturbs, "`data_loader`", "a text cannot be read: the run waits"},
    RunEventRow{kDataReadAgain, "data_read_again", kDisturbs, "`data_loader`", "the text is read again"},
    RunEventRow{kEvaluation, "eval", kCalm, "", "an evaluation: `val_loss`, `perplexity`, `bits_per_byte`"},
    RunEventRow{kEvaluationGivenUp, "evaluation_given_up", kDisturbs, "`data_loader`", "an evaluation comes to no end"},
    RunEventRow{kCheckpoint, "checkpoint", kCalm, "`step_N`", "a checkpoint is on the disk"},
    RunEventRow{kCheckpointAsked, "checkpoint_asked", kCalm, "`step_N`", "a person asked for one (`shoal checkpoint`)"},
    RunEventRow{kCheckpointDelayed, "checkpoint_delayed", kCalm, "`step_N`",
                "one is made later: others are under way, or storage is away"},
    RunEventRow{kCheckpointRepeated, "checkpoint_repeated", kDisturbs, "`step_N`",
                "a part of one was lost on its way: a later step is saved, or it is sent again"},
    RunEventRow{kCheckpointFailed, "checkpoint_failed", kDisturbs, "`step_N`",
                "one could not be written; `status` says so until one is"},
    RunEventRow{kCheckpointUnreadable, "checkpoint_unreadable", kDisturbs, "`run`",
                "the newest one cannot be read, or none is there: again later, or passed over"},
    RunEventRow{kSummary, "summary", kCalm, "", "sums over the run and its newest start, before its last line"},
    RunEventRow{kLinesLost, "lines_lost", kDisturbs, "the file", "so many lines before this one could not be written"},
};

constexpr bool are_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].kind) != i) return false;
  }
  return kRows.size() == static_cast<std::size_t>(kLinesLost) + 1;
}
static_assert(are_in_order(), "each kind of event has its row, at its place");

}  // namespace

std::span<const RunEventRow> run_event_rows() { return kRows; }

const RunEventRow& row_of(RunEventKind kind) { return kRows.at(static_cast<std::size_t>(kind)); }

std::string_view word_of(RunEventKind kind) { return row_of(kind).word; }

std::optional<RunEventKind> run_event_kind(std::string_view word) {
  const auto found = std::ranges::find(kRows, word, &RunEventRow::word);
  return found == kRows.end() ? std::nullopt : std::optional(found->kind);
}

}  // namespace shoal
