// Decides when training has diverged, and whether the state that it leaves is worth a checkpoint.
//
// A step that is skipped leaves the very state that its loss was measured on. If its perplexity is not finite, nothing
// can be made of the state: saved, it would be the newest checkpoint, what a resumed run, an evaluation and
// an export take, and in time it would push out the good ones. If it is finite the state is that of the last step that
// was applied, and not to save it would lose the steps since the newest checkpoint. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "messages/journal.h"
#include "runtime/base/compose.h"

namespace shoal {

inline constexpr int kSkipsMax = 10;  // in a row: training has diverged

// Nothing can be made of a state with this loss per token.
[[nodiscard]] inline bool is_of_no_use(double loss) { return !std::isfinite(std::exp(loss)); }

// True when it is known that nothing can be made of the state after this commit.
[[nodiscard]] inline bool is_of_no_use(const Commit& commit) {
  return commit.skip && is_of_no_use(commit.loss_sum / static_cast<double>(commit.token_count));
}

// Knowledge of checkpoints when a run diverges.
struct CheckpointsKept {
  std::uint64_t newest = 0;         // steps applied; 0: none
  bool newest_is_replaced = false;  // by the next one, because checkpoint.keep is 1
  bool has_rounds = false;          // which go on, and change what skipped steps do not
};

struct Divergence {
  bool is_saved = false;  // the state after this commit
  std::string reason;
};

// Names what a person goes on from. `applied`: steps before the first of those that were skipped.
[[nodiscard]] inline std::string newest_good(const CheckpointsKept& kept, std::uint64_t applied, bool is_useless) {
  if (kept.newest == 0) return "there is no checkpoint";
  const std::string newest = compose("the newest checkpoint is of step ", kept.newest);
  if (!is_useless || kept.newest < applied || kept.has_rounds) return newest;
  return newest + ", the very state that diverged: a good one, if any is left, is older";
}

// Says how this commit, after so many skipped ones in a row, ends the run; nothing: it does not.
[[nodiscard]] inline std::optional<Divergence> divergence_in(const Commit& commit, int skips_before,
                                                             const CheckpointsKept& kept) {
  if (!commit.skip || skips_before + 1 < kSkipsMax) return std::nullopt;
  const bool would_replace = kept.newest_is_replaced && kept.newest > 0;
  const bool is_useless = is_of_no_use(commit);
  const auto skipped = std::min(commit.step.value, static_cast<std::uint64_t>(skips_before));
  Divergence found;
  found.is_saved = !is_useless && !would_replace && !kept.has_rounds;
  found.reason = compose(
      "training diverged: ", kSkipsMax, " steps in a row were skipped; ",
      found.is_saved ? "the state before them is saved" : newest_good(kept, commit.step.value - skipped, is_useless));
  return found;
}

}  // namespace shoal
