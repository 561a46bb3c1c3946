// One entry for each round of a stage.
#include "runtime/cluster/duties/rounds.h"

#include <algorithm>

#include "runtime/cluster/truth/commit_question.h"

namespace shoal {

Answers RoundDuty::on(const RoundsDue& /*due*/, Instant /*now*/) {
  Answers answers;
  if (!truth_.is_training() || !truth_.config.rounds) return answers;
  for (const Prepared& vote : ballots_.take_rounds(open_rounds(truth_), truth_.view())) answers.append(round_of(vote));
  return answers;
}

// The next one of its fragment may be due as well.
Answers RoundDuty::on(const CommitRound& /*committed*/, Instant now) { return on(RoundsDue{}, now); }

// Tokens that the stage was trained on since the fragment's last contributions, in no share, are lost: the steps
// of who died, and after a roll-back those of everybody between those contributions and the checkpoint.
CommitRound RoundDuty::round_of(const Prepared& vote) const {
  const OrderId& order = vote.order;
  CommitRound entry{order.stage, order.step, order.round, order.epoch, vote.digest, vote.shares, 0};
  const std::uint64_t since = contributed_before(truth_, order.round).value;
  const std::uint64_t until = truth_.history.tokens_after(order.step.value).value_or(0);
  std::uint64_t lost = until - std::min(until, truth_.history.tokens_after(since).value_or(until));
  for (const RoundShare& share : vote.shares) lost -= std::min(lost, share.token_count);
  entry.tokens_lost = lost;
  return entry;
}

}  // namespace shoal
