// Votes are judged by the view they would be committed in, when they come and whenever they are counted.
#include "runtime/cluster/ballots.h"

#include <algorithm>
#include <set>

#include "runtime/base/ensure.h"

namespace shoal {

std::optional<std::string> Ballots::hear(const Prepared& vote, const View& view) {
  const OrderId& order = vote.order;
  const bool is_ours = order.run == run_ && order.term == term_;
  auto why = is_ours ? why_void(vote, view) : std::optional<std::string>("it is of another run or term");
  if (why) {
    ++refused_;
  } else if (order.round.number != 0) {
    rounds_[{order.stage, order.round}] = vote;
  } else {
    steps_[order.stage] = vote;
  }
  return why;
}

std::vector<StageId> Ballots::stages_without(const View& view) const {
  std::vector<StageId> without;
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    const auto vote = steps_.find(StageId{stage});
    if (vote == steps_.end() || why_void(vote->second, view)) without.push_back(StageId{stage});
  }
  return without;
}

Commit Ballots::commit(const View& view, const CommitPolicy& policy) const {
  const std::uint64_t updates = view.optimizer_step() > 0 ? view.optimizer_step() : policy.optimizer_step_at_start;
  StepSums sums{StepId{view.committed_steps()}, updates, {}, {}, {}};
  std::vector<StageCommit> agreed;
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    const auto found = steps_.find(StageId{stage});
    ENSURE(found != steps_.end(), "a commit has a vote of every stage");
    const Prepared& vote = found->second;
    agreed.push_back({StageId{stage}, vote.order.epoch, vote.digest, vote.manifests});
    for (const MemberManifest& manifest : vote.manifests) {
      sums.entries.insert(sums.entries.end(), manifest.entries.begin(), manifest.entries.end());
      if (stage + 1 == stages_) {
        sums.loss_entries.insert(sums.loss_entries.end(), manifest.entries.begin(), manifest.entries.end());
      }
    }
    sums.norms.insert(sums.norms.end(), vote.norms.begin(), vote.norms.end());
  }
  Commit commit = conclude_step(std::move(sums), policy);
  commit.stages = std::move(agreed);
  return commit;
}

std::vector<Prepared> Ballots::take_rounds(const std::vector<std::pair<StageId, RoundId>>& open, const View& view) {
  std::erase_if(rounds_, [&view](const auto& vote) {
    const auto& [stage, round] = vote.first;
    const auto newest = view.rounds().newest_of(stage, round.fragment);
    const bool is_agreed = newest && newest->number >= round.number;
    return is_agreed || why_void(vote.second, view).has_value();
  });
  std::vector<Prepared> taken;
  std::set<std::pair<StageId, std::uint32_t>> before;  // a fragment's rounds one after the other
  for (const auto& round : open) {
    const bool is_next = before.emplace(round.first, round.second.fragment).second;
    if (!is_next) continue;
    auto vote = rounds_.extract(round);
    if (!vote.empty()) taken.push_back(std::move(vote.mapped()));
  }
  return taken;
}

bool Ballots::is_round_missed(const View& view) const {
  return std::ranges::any_of(rounds_, [&view](const auto& vote) {
    return vote.second.shares.size() < view.replicas_of(vote.first.first).size();
  });
}

}  // namespace shoal
