// Plain questions; nothing changes here.
#include "runtime/cluster/truth/commit_question.h"

#include <algorithm>

#include "runtime/base/compose.h"

namespace shoal {

std::vector<std::pair<StageId, RoundId>> open_rounds(const Truth& truth) {
  const SupervisorConfig& config = truth.config;
  std::vector<std::pair<StageId, RoundId>> open;
  if (!config.rounds) return open;
  const std::uint64_t version = truth.view().committed_steps();
  std::vector<RoundId> due = config.rounds->due_at(version);
  if (truth.view().is_at_last_commit()) {
    const auto in_flight = config.rounds->in_flight_after(version);
    due.insert(due.end(), in_flight.begin(), in_flight.end());
  }
  for (const RoundId& round : due) {
    if (round.number == 0) continue;
    const StepId contributed{config.rounds->contribution_version(round)};
    for (std::uint32_t stage = 0; stage < config.stages; ++stage) {
      if (!truth.view().rounds().has(StageId{stage}, round, contributed, version))
        open.push_back({StageId{stage}, round});
    }
  }
  return open;
}

StepId contributed_before(const Truth& truth, const RoundId& round) {
  const RoundId before{round.fragment, round.number - 1};
  const std::uint64_t contributed = before.number == 0 ? 0 : truth.config.rounds->contribution_version(before);
  return StepId{std::max(truth.config.rounds_from, contributed)};
}

std::string lacking_for_quorum(const Truth& truth) {
  const SupervisorConfig& config = truth.config;
  if (config.quorum == 0 || truth.ending.last_step.is_committed() || truth.ending.last_step.stopped()) return {};
  if (truth.last_that_leaves()) return {};
  if (!truth.history.are_taken_after(truth.view().committed_steps() + 1)) return {};
  for (std::uint32_t stage = 0; stage < config.stages; ++stage) {
    const std::size_t live = truth.roster.live(StageId{stage}).size();
    if (live >= config.quorum) continue;
    const auto lacking = config.quorum - live;
    return compose(lacking, lacking == 1 ? " more replica" : " more replicas", " of stage ", stage,
                   ": no round is closed without ", config.quorum, " (sync.quorum)");
  }
  return {};
}

CommitDecision next_commit(const Truth& truth) {
  const Instant now = truth.clock.outside_rounds();
  CommitQuestion question;
  question.lacking_for_quorum = lacking_for_quorum(truth);
  question.without_vote = truth.ballots.stages_without(truth.view());
  question.open_rounds = open_rounds(truth);
  question.is_joiner_late = truth.may_join() && truth.joins.holds_commit();
  question.leaver = truth.last_that_leaves();
  question.is_saving = truth.checkpoints.version_under_way() == truth.view().committed_steps();
  question.without_progress =
      now - std::max(truth.clock.step_begun(), truth.checkpoints.moved_at().value_or(Instant{}));
  question.save_within = truth.config.save_within;
  return decide_commit(question);
}

}  // namespace shoal
