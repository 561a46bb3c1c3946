// Rounds of low-frequency synchronisation: which are agreed before the next step may be (DESIGN.md §6).
//
// A round becomes an entry at its own place in the order of steps, whenever its vote comes: after the commit of the
// step it is due at, before the next one (P-32). So everybody applies it to the same weights, and a slow round holds
// the next commit, not the work on it. The last commit of a run makes all rounds due that were contributed to: what is
// saved and evaluated at the end is what all agree on.
//
// A stage with fewer replicas than sync.quorum contributes to nothing: the commit that contributions follow waits for
// replicas to join, as they can between two steps and could not while a round is open. Two never wait for them, but go
// on with who is there: a run that is stopped, and the last one of a stage that leaves and must leave its state.
#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/cluster/supervisor/supervisor.h"

namespace shoal {

std::vector<std::pair<StageId, RoundId>> SupervisorCore::open_rounds() const {
  std::vector<std::pair<StageId, RoundId>> open;
  if (!config_.rounds_due) return open;
  const std::uint64_t version = view().committed_steps();
  std::vector<RoundId> due = config_.rounds_due(version);
  if (view().is_at_last_commit()) {
    const auto in_flight = config_.rounds_in_flight(version);
    due.insert(due.end(), in_flight.begin(), in_flight.end());
  }
  for (const RoundId& round : due) {
    if (round.number == 0) continue;
    const StepId contributed{config_.contributed_at(round)};
    for (std::uint32_t stage = 0; stage < config_.stages; ++stage) {
      if (!view().has_round(StageId{stage}, round, contributed, version)) open.push_back({StageId{stage}, round});
    }
  }
  return open;
}

void SupervisorCore::look(Instant now) {
  const Duration watched_before = time_.watched();
  time_.look(now);
  if (!open_rounds().empty()) in_rounds_ += time_.watched() - watched_before;
}

// Which replicas the next commit waits for, in words; empty: none.
std::string SupervisorCore::lacking_for_quorum() const {
  if (config_.quorum == 0 || last_step_.is_committed() || last_step_.stopped()) return {};
  if (roster_.last_that_leaves(joins_.joiners())) return {};
  if (!contributed_tokens_.are_taken_after(view().committed_steps() + 1)) return {};
  for (std::uint32_t stage = 0; stage < config_.stages; ++stage) {
    const std::size_t live = roster_.live(StageId{stage}).size();
    if (live >= config_.quorum) continue;
    const auto lacking = config_.quorum - live;
    return compose(lacking, lacking == 1 ? " more replica" : " more replicas", " of stage ", stage,
                   ": no round is closed without ", config_.quorum, " (sync.quorum)");
  }
  return {};
}

void SupervisorCore::commit_rounds() {
  if (phase_ != Phase::kTraining || !config_.rounds_due) return;
  for (const Prepared& vote : ballots_.take_rounds(open_rounds(), view())) append(round_of(vote));
}

// Returns the steps committed at the fragment's contributions before these. Those of another schedule were contributed
// to its own rounds, up to where it ended.
StepId SupervisorCore::contributed_before(const RoundId& round) const {
  const RoundId before{round.fragment, round.number - 1};
  return StepId{std::max(config_.rounds_from, before.number == 0 ? 0 : config_.contributed_at(before))};
}

// What the stage was trained on since the fragment's contributions before these, and no share names, is lost: the steps
// of who died, and after a roll-back those of everybody between those contributions and the checkpoint.
CommitRound SupervisorCore::round_of(const Prepared& vote) const {
  const OrderId& order = vote.order;
  CommitRound entry{order.stage, order.step, order.round, order.epoch, vote.digest, vote.shares, 0};
  const std::uint64_t since = contributed_before(order.round).value;
  const std::uint64_t until = contributed_tokens_.after(order.step.value).value_or(0);
  std::uint64_t lost = until - std::min(until, contributed_tokens_.after(since).value_or(until));
  for (const RoundShare& share : vote.shares) lost -= std::min(lost, share.token_count);
  entry.tokens_lost = lost;
  return entry;
}

}  // namespace shoal
