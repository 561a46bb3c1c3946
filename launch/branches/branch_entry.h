// Begins a person's branch on the disk: looked at first, then written so that a command that is killed in the
// middle of it leaves the run before the branch, or on it.
//
//   config.next-NAME.toml   the configuration to come
//   metrics.jsonl           its line (branch_record.h); from here on the run is on the branch
//   config.before-NAME.toml the configuration until then
//   checkpoints/before-NAME/step_N   what the branch does not go on from
//   journal.db              a row for people; only where there is a journal
//   config.toml             config.next-NAME.toml takes its place: the branch has begun
//
// The next command that enters the run finishes what is not done. The text of the branch goes on record after that
// (processes/text/recorded_text.h); until then its line says which one it is.
#pragma once

#include <optional>
#include <string>

#include "launch/branches/branch_plan.h"
#include "launch/processes/run_directory.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/trace/metrics/branches/branch_record.h"

namespace shoal {

// Returns the newest branch of the run where no step's line follows its own.
[[nodiscard]] std::optional<BegunBranch> begun_branch(const RunDirectory& run);

// The configuration that rules in the run: config.toml, or that of a branch whose beginning was cut short.
[[nodiscard]] std::string ruling_config(const RunDirectory& run);

// The line of the branch, from what the run has left. Reads the checkpoint whole and writes nothing. Errors: kUsage (a
// name that was taken, or as check_round_end()), kInvalidData (no such checkpoint, or the one that was wanted, by
// --from or as the newest, is damaged: the sentence names it, its file and one that can be taken), kIo.
[[nodiscard]] Result<BranchRecord> look_at_branch(const RunDirectory& run, const BranchPlan& plan, const Config& now,
                                                  const std::string& corpus_sha256);

// Writes what looking found, and finishes it. Errors: kIo, and those of the journal.
[[nodiscard]] Status begin_branch(const RunDirectory& run, const BranchRecord& record, const Config& now);

// Finishes a branch whose beginning was cut short; does nothing where there is none. Errors: as begin_branch().
[[nodiscard]] Status finish_branch(const RunDirectory& run);

}  // namespace shoal
