// Rounds of low-frequency synchronisation: which are agreed before the next step may be (design.md §6).
//
// A round becomes an entry at its own place in the order of steps, whenever its vote comes: after the commit of the
// step it is due at, before the next one. So everybody applies it to the same weights, and a slow round holds the next
// commit, not the work on it.
#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/cluster/supervisor/supervisor.h"

namespace shoal {

std::vector<RoundId> SupervisorCore::rounds_due() const {
  if (!config_.rounds_due) return {};
  std::vector<RoundId> due = config_.rounds_due(view_.committed_steps());
  std::erase_if(due, [](const RoundId& round) { return round.number == 0; });
  return due;
}

bool SupervisorCore::is_waiting_for_rounds() const {
  const auto due = rounds_due();
  for (std::uint32_t stage = 0; stage < config_.stages; ++stage) {
    const auto is_open = [&](const RoundId& round) {
      return !view_.has_round(StageId{stage}, round, view_.committed_steps());
    };
    if (std::any_of(due.begin(), due.end(), is_open)) return true;
  }
  return false;
}

// Votes for rounds that are due later wait here; the group says them again until they are entries.
void SupervisorCore::hear_of_round(const Prepared& vote, Instant now) {
  round_votes_[{vote.order.stage, vote.order.round}] = vote;
  commit_rounds();
  commit_if_possible(now);
}

void SupervisorCore::commit_rounds() {
  if (phase_ != Phase::kTraining || !config_.rounds_due) return;
  std::erase_if(round_votes_, [this](const auto& vote) { return why_void(vote.second, view_).has_value(); });
  for (const RoundId& round : rounds_due()) {
    for (std::uint32_t stage = 0; stage < config_.stages; ++stage) {
      const auto vote = round_votes_.find({StageId{stage}, round});
      if (vote == round_votes_.end()) continue;
      const bool is_open = !view_.has_round(StageId{stage}, round, view_.committed_steps());
      if (is_open) append(round_of(vote->second));
      round_votes_.erase(vote);  // once; what is not recorded is voted for again
    }
  }
}

CommitRound SupervisorCore::round_of(const Prepared& vote) const {
  const OrderId& order = vote.order;
  CommitRound entry{order.stage, order.step, order.round, order.epoch, vote.digest, vote.shares, 0};
  const auto before = view_.newest_round(order.stage, order.round.fragment);
  // Contributions from before this branch are of nobody who is here: the round has no tokens.
  const std::uint64_t since =
      std::min(order.step.value, std::max(view_.branch_start(), before ? before->step.value : 0));
  std::uint64_t lost = view_.tokens_after(order.step.value).value_or(0) - view_.tokens_after(since).value_or(0);
  for (const RoundShare& share : vote.shares) lost -= std::min(lost, share.token_count);
  entry.tokens_lost = lost;
  return entry;
}

}  // namespace shoal
