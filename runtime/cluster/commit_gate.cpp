// Everything that is waited for is named: who looks wants to know whether the end of one wait is the end of all.
#include "runtime/cluster/commit_gate.h"

#include <map>

#include "runtime/base/compose.h"
#include "runtime/base/text/enumerate.h"

namespace shoal {

namespace {

[[nodiscard]] std::string list(const std::vector<std::pair<StageId, RoundId>>& rounds) {
  std::map<RoundId, std::vector<StageId>> stages;
  for (const auto& [stage, round] : rounds) stages[round].push_back(stage);
  std::string text;
  for (const auto& [round, of] : stages) {
    text += compose(text.empty() ? "" : ", ", "round ", round.number, " of fragment ", round.fragment, " of ",
                    enumerate("stage", of));
  }
  return text;
}

}  // namespace

CommitDecision decide_commit(const CommitQuestion& question) {
  CommitDecision decision;
  const auto wait = [&decision](CommitWait what, const std::string& words) {
    decision.reason += (decision.waits.empty() ? "waiting for " : ", and for ") + words;
    decision.waits.push_back(what);
  };
  if (!question.lacking_for_quorum.empty()) wait(CommitWait::kQuorum, question.lacking_for_quorum);
  if (!question.without_vote.empty()) {
    wait(CommitWait::kVotes, compose(question.without_vote.size() == 1 ? "the sum of " : "the sums of ",
                                     enumerate("stage", question.without_vote)));
  }
  if (!question.open_rounds.empty()) wait(CommitWait::kRounds, list(question.open_rounds));
  if (question.is_joiner_late) wait(CommitWait::kJoiner, "a replica that catches up");
  const bool is_in_time = question.without_progress < question.save_within;
  if (question.leaver && question.is_saving && is_in_time) {
    const LastOfStage& last = *question.leaver;
    wait(CommitWait::kLeaver,
         compose("the checkpoint of ", last.name, ", the last of stage ", last.stage, ", before it leaves"));
  }
  if (decision.is_now()) decision.reason = "all is there for its commit";
  return decision;
}

}  // namespace shoal
