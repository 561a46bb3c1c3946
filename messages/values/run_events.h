// Kinds of events of a run, and the one table of their words: in metrics.jsonl, in traces, on a person's screen, in
// launch/EVENTS.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace shoal {

// In the order of the table. They travel as numbers: a new one raises kProtocolVersion (cause.h).
enum class RunEventKind : std::uint8_t {
  // a run and its starts
  kStarted,
  kTraining,
  kResumed,
  kRolledBack,
  kBranch,
  kStopping,
  kStopped,
  kFinished,
  kFailed,
  kStartRepeated,
  kStartDelayed,
  // processes
  kJoined,
  kReturned,
  kJoinRefused,
  kMixedKernels,
  kSuspected,
  kTrusted,
  kDraining,
  kProcessLeft,
  kEvicted,
  kProcessLost,
  kPeerRefused,
  kRestartBudgetSpent,
  // replicas and stages
  kReplicaStarting,
  kReplicaAdded,
  kCommitHeld,
  kCommitReleased,
  kStateDiffers,
  kJoinGivenUp,
  kStartFailed,
  kStartMoved,
  kStartGivenUp,
  kStageEnded,
  kStageLost,
  kStageDoesNotFit,
  kWorkerDoesNotFit,
  kMoving,
  kMoved,
  kMoveGivenUp,
  kGivingWay,
  kMemory,
  // actors
  kInjected,
  kInjectionMissed,
  kRestarted,
  kEscalated,
  // steps and rounds
  kView,
  kStepSkipped,
  kMicrobatchMissing,
  kMicrobatchTwice,
  kMicrobatchUnknown,
  kMicrobatchSuspected,
  kMicrobatchQuarantined,
  kSumFailed,
  kSumsDiffer,
  kReduceTimedOut,
  kSumsChosen,
  kDigestMismatch,
  kRound,
  kRoundClosed,
  // texts, evaluations, checkpoints, lines
  kDataUnreadable,
  kDataReadAgain,
  kEvaluation,
  kEvaluationGivenUp,
  kCheckpoint,
  kCheckpointAsked,
  kCheckpointDelayed,
  kCheckpointRepeated,
  kCheckpointFailed,
  kCheckpointUnreadable,
  kSummary,
  kLinesLost,
};

struct RunEventRow {
  RunEventKind kind;
  std::string_view word;     // "process_lost"
  bool is_calm;              // part of an undisturbed run: after any other one a slow step was held up
  std::string_view subject;  // for people: what the subject names
  std::string_view meaning;
};

// One row for each kind, in their order.
[[nodiscard]] std::span<const RunEventRow> run_event_rows();
[[nodiscard]] const RunEventRow& row_of(RunEventKind kind);

[[nodiscard]] std::string_view word_of(RunEventKind kind);
// Returns the kind of a word; nothing for one that no kind has, as in a file that another version wrote.
[[nodiscard]] std::optional<RunEventKind> run_event_kind(std::string_view word);

// Says whether a run ends with it.
[[nodiscard]] constexpr bool ends_run(RunEventKind kind) {
  return kind == RunEventKind::kFinished || kind == RunEventKind::kStopped || kind == RunEventKind::kFailed;
}

}  // namespace shoal
