// Makes entries of the rounds of low-frequency synchronisation that are due and agreed (P-32; DESIGN.md §6).
//
// commit_question.h says which are due, Ballots which of these have a vote that counts.
#pragma once

#include "runtime/cluster/truth/truth.h"

namespace shoal {

class RoundDuty {
 public:
  // ballots: those of the rounds that are handed out are kept no more.
  RoundDuty(const Truth& truth, Ballots& ballots) : truth_(truth), ballots_(ballots) {}

  [[nodiscard]] Answers on(const RoundsDue& due, Instant now);
  [[nodiscard]] Answers on(const CommitRound& committed, Instant now);

 private:
  [[nodiscard]] CommitRound round_of(const Prepared& vote) const;

  const Truth& truth_;
  Ballots& ballots_;
};

}  // namespace shoal
