// AgreedRounds: which rounds of each stage's fragments are agreed, as the entries that were followed say. The part of a
// View (view.h) that rounds read.
//
// Members of a branch begin with a state of `start` committed steps. A round that was due by then is in that state, and
// so is one whose contributions were taken after `held_until` steps or fewer: the run had ended there before, and all
// rounds that were contributed to by then were agreed (run_ends.h).
//
// Pure values, bounded (S-6) by the stages and their fragments.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "messages/journal.h"

namespace shoal {

class AgreedRounds {
 public:
  AgreedRounds() = default;
  AgreedRounds(std::uint64_t start, std::uint64_t held_until, const std::vector<AgreedRound>& newest);

  [[nodiscard]] std::uint64_t start() const { return start_; }
  [[nodiscard]] std::uint64_t held_until() const { return held_until_; }
  // Returns the newest round of every stage's fragment, ascending by stage, then fragment.
  [[nodiscard]] std::vector<AgreedRound> newest() const;

  void begin(std::uint64_t start, std::uint64_t held_until) { start_ = start, held_until_ = held_until; }
  // A fragment's rounds are agreed in the order of their numbers (ENSURE).
  void follow(const CommitRound& commit);
  void clear() { newest_.clear(); }

  // True when a round is agreed whose contributions were taken after `contributed` steps and that is due after `due`:
  // here, or in the state that all members began with.
  [[nodiscard]] bool has(StageId stage, const RoundId& round, StepId contributed, std::uint64_t due) const;
  // The newest round of a stage's fragment that was agreed on this branch.
  [[nodiscard]] std::optional<RoundId> newest_of(StageId stage, std::uint32_t fragment) const;
  // Returns the newest round of every fragment of the stage that has one.
  [[nodiscard]] std::vector<RoundId> newest_of(StageId stage) const;

 private:
  std::uint64_t start_ = 0;       // steps committed in the state that all members began with
  std::uint64_t held_until_ = 0;  // that state holds every round with contributions of this version or before
  std::map<std::pair<StageId, std::uint32_t>, std::uint64_t> newest_;  // by stage and fragment, on this branch
};

}  // namespace shoal
