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
#include "runtime/trace/metrics/branch_record.h"

namespace shoal {

// --branch NAME [--from N].
struct BranchWish {
  std::string name;
  std::optional<std::uint64_t> from;  // steps applied; nothing: the newest checkpoint
};

struct BranchPlan {
  BranchWish wish;
  Config was;
  std::vector<KeyChange> changes;
};

// Errors: kUsage, a name that no file can be called by, or --from without --branch.
[[nodiscard]] Result<std::optional<BranchWish>> branch_wish(const std::optional<std::string>& name,
                                                            const std::optional<std::uint64_t>& from);

// The schedule of a run that is lengthened: optim.decay_steps goes with run.steps where it has followed it so far and
// no one of `sets` names it.
void stretch_schedule(const Config& was, Config& now, const std::vector<std::string>& sets);

// Checks that a run that is gone on with may be set so. file: the run's configuration. Errors: kUsage, naming every
// key that may not, why it stays, and those that only a branch may set otherwise.
[[nodiscard]] Status check_changes(const Config& was, const Config& now, bool is_branch, const std::string& file);

// Checks that the keys of rounds may change in the state after `from` steps. Errors: kUsage: it is no round's end, by
// the configuration before or the one to come, or rounds are under way.
[[nodiscard]] Status check_round_end(const BranchPlan& plan, const Config& now, std::uint64_t from);

// One above every branch that a line, a checkpoint or the journal tells of.
[[nodiscard]] Branch number_after(const std::vector<Branch>& known);

}  // namespace shoal
