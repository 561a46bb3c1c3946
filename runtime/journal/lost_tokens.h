// Tokens that were trained and are not in the model: for each round of the first fragment the most that one stage lost,
// and for the steps that a roll-back threw away all of them, whatever of theirs was counted as lost before.
//
// So no token is lost twice: rounds of a fragment are of different steps, and a round that the state lacks which a
// branch begins with is forgotten, as its tokens were thrown away or will be counted by the round that takes its place.
// A stage may say what it lost of a round after another one spoke of the fragment's next: at the end of a run both are
// due at once.
//
// A branch may give the numbers of rounds again, where it changes their length: what members began with is closed.
//
// Bounded (S-6): of the newest kRoundsMax rounds with losses each is known apart, the older ones are one sum with the
// oldest of these. A branch that begins before that one takes back all of the sum: it may count fewer than were lost,
// and counts none twice.
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
  // start: steps committed in the state that all members began with (begin()).
  explicit LostTokens(const LostTokensState& state, std::uint64_t start = 0)
      : rounds_(state.rounds.begin(), state.rounds.end()),
        start_(start),
        in_rounds_(state.in_rounds),
        thrown_away_(state.thrown_away) {
    if (rounds_.empty()) return;
    std::uint64_t known = 0;  // a snapshot of an earlier version has forgotten the others
    for (const RoundLoss& round : rounds_) known += round.lost;
    rounds_.front().lost += in_rounds_ - std::min(in_rounds_, known);
  }
  [[nodiscard]] LostTokensState state() const { return {{rounds_.begin(), rounds_.end()}, in_rounds_, thrown_away_}; }

  // An entry that is read after so many committed steps, in the order of the journal.
  void follow(const CommitRound& entry, std::uint64_t version) {
    if (entry.round.fragment != 0 || entry.tokens_lost == 0) return;
    const auto is_closed = [this](const RoundLoss& round) { return round.version <= start_; };
    const auto open = std::ranges::partition_point(rounds_, is_closed);
    auto round = std::ranges::lower_bound(open, rounds_.end(), entry.round.number, {}, &RoundLoss::number);
    const bool is_known = round != rounds_.end() && round->number == entry.round.number;
    const bool is_of_the_sum = !is_known && round == rounds_.begin() && kRoundsMax.is_reached_by(rounds_.size());
    if (is_of_the_sum) return;  // another stage may have said it
    if (!is_known) round = rounds_.insert(round, {version, entry.round.number, 0});
    const std::uint64_t most = std::max(round->lost, entry.tokens_lost);
    in_rounds_ += most - round->lost;
    round->lost = most;
    if (kRoundsMax.is_exceeded_by(rounds_.size())) add_up_oldest();
  }
  // All members begin with the state after so many steps: a number that comes again is that of another round.
  void begin(std::uint64_t version) { start_ = version; }
  // Begins a branch with so many steps; the steps after them had so many tokens.
  void go_back_to(std::uint64_t version, std::uint64_t thrown_away) {
    thrown_away_ += thrown_away;
    for (const RoundLoss& round : rounds_) in_rounds_ -= round.version > version ? round.lost : 0;
    std::erase_if(rounds_, [version](const RoundLoss& round) { return round.version > version; });
  }

  [[nodiscard]] std::uint64_t count() const { return thrown_away_ + in_rounds_; }

 private:
  void add_up_oldest() {
    const RoundLoss oldest = rounds_.front();
    rounds_.pop_front();
    rounds_.front().version = std::max(rounds_.front().version, oldest.version);
    rounds_.front().lost += oldest.lost;
  }

  std::deque<RoundLoss> rounds_;  // with losses: the closed ones, then the others ascending by number
  std::uint64_t start_ = 0;       // rounds agreed up to this version are closed
  std::uint64_t in_rounds_ = 0;
  std::uint64_t thrown_away_ = 0;
};

}  // namespace shoal
