// Where a run can start from: what its checkpoints folder holds, as the supervisor needs it.
// Apart from the spawner process, because a start point is looked for at its start and at each roll-back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/processes/run_directory.h"
#include "launch/processes/text/recorded_text.h"
#include "runtime/cluster/supervisor/supervisor.h"
#include "runtime/journal/branches.h"
#include "runtime/journal/store.h"
#include "runtime/storage/checkpoint_reader.h"

namespace shoal {

struct SavedStates {
  RunDirectory run;
  Config config;
  RunId id;
  std::string corpus_sha256;
};

// The newest complete checkpoint of at most so many steps that is whole; nothing where there never was one. Reads all
// of it. Errors: kInvalidData (none is good, or of another text; none is there, and metrics.jsonl tells of one; it is
// from before the state that the newest branch of a person goes on from), kIo (what may be good cannot be read now, and
// is not to be passed over, or there is no other; none is there, and whoever asks knows of one).
[[nodiscard]] Result<std::optional<Checkpoint>> find_start(const SavedStates& saved, const FindCheckpoint& wanted);
// The same as a StartPoint; that of nothing where there never was a checkpoint.
[[nodiscard]] Result<StartPoint> find_start_point(const SavedStates& saved, const FindCheckpoint& wanted);

// If the folder of the run's checkpoints holds those of another run: says of which run, and what to do.
[[nodiscard]] std::optional<std::string> others_checkpoints(const RunDirectory& run, const Config& config);

// Returns the text that the run has had so far: the one on record, or that of its newest state where there is none
// (then the number of tokens is 0). Nothing: nobody has said. Errors: those of recorded_text().
[[nodiscard]] Result<std::optional<RecordedText>> text_so_far(const RunDirectory& run, const Config& config);
// Opens what data.corpus names, of shards those that the run has had so far: others that lie beside them would change
// the split. Whether each holds what it held is for the caller to compare. Errors: those of both.
[[nodiscard]] Result<std::shared_ptr<const Tokens>> open_so_far(const RunDirectory& run, const Config& config);

// Returns the branch and the steps that metrics.jsonl records.
[[nodiscard]] Reached steps_told_by(const RunDirectory& run);

// Returns the newest branch that a person began there, where no step's line follows its own; else 0.
[[nodiscard]] Branch branch_begun_in(const RunDirectory& run);

// Refuses to continue a run, by file names alone and before anything is changed, if no checkpoint is in the folder of
// `config` though metrics.jsonl records one. Errors: kInvalidData.
[[nodiscard]] Status check_can_go_on(const RunDirectory& run, const Config& config);
// Refuses to continue a run, in the same way, that has more steps than it is to have: --steps (`stop_at`), or run.steps
// without it. Errors: kUsage.
[[nodiscard]] Status check_run_goes_so_far(const RunDirectory& run, const Config& config,
                                           std::optional<std::uint64_t> stop_at);

// Refuses a journal with entries that ends before the newest checkpoint of its run, as in a copy of the run's directory
// beside a checkpoint.dir that goes on: its steps, branches and numbers of actors would be given a second time. Steps
// that one process trained are in no journal; metrics.jsonl tells of them. Errors: kInvalidData with what to do, kIo.
[[nodiscard]] Status check_journal_has_checkpoints(const RunDirectory& run, const Config& config,
                                                   JournalStore& journal);

// Checks that the journal is the whole one of this run: not one that is gone, that ends before the newest checkpoint
// (above), or that lost its end while nodes live that know of it (is_restarted). A copy that was made while the run
// went on may lack its end: a person is told. Errors: kInvalidData with what to do, kIo.
[[nodiscard]] Status check_journal(const SavedStates& saved, JournalStore& journal, bool is_restarted);

// What the newest manifest says, unverified: quick, whatever the model's size.
[[nodiscard]] StartPoint newest_start_point(const SavedStates& saved);

}  // namespace shoal
