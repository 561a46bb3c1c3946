// Advises a person what to set otherwise where training diverged, with the command for it.
//
// The first of these that is so: no step was ever applied, so that the weights which the run began with are at fault;
// the rate rises to a floor above it; nobody clips the gradients; the rate is too high, of which half is advised, or a
// tenth where a branch has lowered it already.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/trace/metrics/branches/branch_record.h"

namespace shoal {

// The state that a diverged run can go on from.
struct StateLeft {
  std::uint64_t steps = 0;  // steps applied in its checkpoint; 0: the beginning
  Config config;            // the configuration that trained it
};

// Returns the steps applied in the state that the skipped steps which end this metrics.jsonl began with; 0: none was
// ever applied. Nothing: it ends otherwise.
[[nodiscard]] std::optional<std::uint64_t> skipped_from(const std::string& metrics);

// Returns the steps applied in a state of which nothing can be made, as the skipped steps that end this metrics.jsonl
// say of it; nothing: it ends otherwise. Checkpoints after as many steps or more have that state.
[[nodiscard]] std::optional<std::uint64_t> useless_from(const std::string& metrics);

// Returns the keys to change, with their values in the state's configuration and the advised ones: a floor goes with
// its rate. now: what diverged. told: the branches of the run, the newest first.
[[nodiscard]] std::vector<KeyChange> advised_changes(const Config& state, const Config& now,
                                                     const std::vector<BranchRecord>& told);

// Says it in one sentence, with a command. command: the words that began the run, as "shoal train".
[[nodiscard]] std::string advice_text(std::string_view command, const std::string& directory, const StateLeft& state,
                                      const std::vector<KeyChange>& changes, const Config& now);

// Says what to do where no step was ever applied: a rate, a floor and clipping have changed nothing yet, and the keys
// of a model stay with its run. now: what diverged. is_imported: it began with weights of `shoal import`.
[[nodiscard]] std::string advice_on_first_weights(std::string_view command, const std::string& directory,
                                                  const Config& now, bool is_imported);

}  // namespace shoal
