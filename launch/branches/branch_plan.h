// Decides what a person's branch is to be, before anything of it is written. Pure.
//
// A branch goes on from a saved state under another configuration and a number of its own. Its steps are those of a run
// that had the new configuration from there on: data order and learning rate follow from the step, the rest from the
// state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/trace/metrics/branches/branch_record.h"

namespace shoal {

// --branch NAME [--from N].
struct BranchWish {
  std::string name;
  std::optional<std::uint64_t> from;  // steps applied; nothing: the newest checkpoint
};

struct BranchPlan {
  BranchWish wish;
  Config was;  // the run's newest configuration
  std::vector<KeyChange> changes;
};

// The newest branch of a run, which has no steps yet.
struct BegunBranch {
  BranchRecord record;
  bool is_half_made = false;  // a command was killed while it made it
};
enum class BranchTurn { kBegin, kGoOn };

// Errors: kUsage, a name that no file can be called by, or --from without --branch.
[[nodiscard]] Result<std::optional<BranchWish>> branch_wish(const std::optional<std::string>& name,
                                                            const std::optional<std::uint64_t>& from);

// The schedule of a run that is lengthened: optim.decay_steps goes with run.steps where it has followed it so far and
// no one of `sets` names it.
void stretch_schedule(const Config& was, Config& now, const std::vector<std::string>& sets);

// Checks that a continued run may have these values. file: the run's configuration. Errors: kUsage, naming every key
// that may not change, the reason, and the keys that only a branch may change.
[[nodiscard]] Status check_changes(const Config& was, const Config& now, bool is_branch, const std::string& file);

// Returns the configuration of a state of this branch: the run's newest one without what the branches above it changed.
// told: the branches recorded in metrics.jsonl, the newest first.
[[nodiscard]] Config config_of(Branch branch, const Config& newest, const std::vector<BranchRecord>& told);

// Returns the step from which the schedule of rounds in `newest` has been in force; 0: the run's beginning. told: as
// above.
[[nodiscard]] std::uint64_t rounds_from(const Config& newest, const std::vector<BranchRecord>& told);

// Checks that the keys of rounds may change in the state after `from` steps, from the configuration of that state to
// the one to come. Errors: kUsage: it is no round's end by either of them, rounds are under way, or fragments are in
// the middle of theirs.
[[nodiscard]] Status check_round_end(const Config& was, const Config& now, std::uint64_t from);

// Decides whether the wish is for a branch of its own, or repeats the command that began the newest branch. Errors:
// kUsage, saying what stands half-made and how to go on.
[[nodiscard]] Result<BranchTurn> turn_of(const BranchPlan& plan, const BegunBranch& begun);

// One above every branch that a line, a checkpoint or the journal tells of.
[[nodiscard]] Branch number_after(const std::vector<Branch>& known);

}  // namespace shoal
