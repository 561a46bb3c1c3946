// Tokens that were trained and are not in the model: of every round of the first fragment the most that one stage lost,
// and of the steps that a roll-back threw away all of them, whatever of theirs was counted as lost before.
//
// So no token is lost twice: rounds of a fragment are of different steps, and a round that the state lacks which a
// branch begins with is forgotten, as its tokens were thrown away or will be counted by the round that takes its place.
// A stage may say what it lost of a round after another one spoke of the fragment's next: at the end of a run both are
// due at once.
//
// Bounded (S-6): the newest kRoundsMax rounds with losses can be taken back; what older ones lost stays counted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "messages/journal.h"
#include "runtime/base/bound.h"

namespace shoal {

class LostTokens {
 public:
  static inline const Bound kRoundsMax{"journal.rounds_with_losses", 1024};

  LostTokens() = default;
  explicit LostTokens(const LostTokensState& state)
      : rounds_(state.rounds.begin(), state.rounds.end()),
        in_rounds_(state.in_rounds),
        thrown_away_(state.thrown_away) {}
  [[nodiscard]] LostTokensState state() const { return {{rounds_.begin(), rounds_.end()}, in_rounds_, thrown_away_}; }

  // An entry that is read after so many committed steps, in the order of the journal.
  void follow(const CommitRound& entry, std::uint64_t version) {
    if (entry.round.fragment != 0 || entry.tokens_lost == 0) return;
    auto round = std::ranges::lower_bound(rounds_, entry.round.number, {}, &RoundLoss::number);
    const bool is_known = round != rounds_.end() && round->number == entry.round.number;
    if (!is_known) round = rounds_.insert(round, {version, entry.round.number, 0});
    const std::uint64_t most = std::max(round->lost, entry.tokens_lost);
    in_rounds_ += most - round->lost;
    round->lost = most;
    if (kRoundsMax.is_exceeded_by(rounds_.size())) rounds_.pop_front();
  }
  // A branch begins with so many steps; those after them had so many tokens.
  void go_back_to(std::uint64_t version, std::uint64_t thrown_away) {
    thrown_away_ += thrown_away;
    for (const RoundLoss& round : rounds_) in_rounds_ -= round.version > version ? round.lost : 0;
    std::erase_if(rounds_, [version](const RoundLoss& round) { return round.version > version; });
  }

  [[nodiscard]] std::uint64_t count() const { return thrown_away_ + in_rounds_; }

 private:
  std::deque<RoundLoss> rounds_;  // with losses, ascending by number
  std::uint64_t in_rounds_ = 0;
  std::uint64_t thrown_away_ = 0;
};

}  // namespace shoal
