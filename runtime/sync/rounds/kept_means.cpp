// The side of who has a mean that others missed.
#include "runtime/sync/rounds/kept_means.h"

#include <algorithm>
#include <utility>

namespace shoal {

void KeptMeans::keep(const CommitRound& entry, TensorBlob mean) {
  means_.insert_or_assign(entry.round, Mean{entry, std::move(mean), {}});
}

// Keeps a question. Where there are too many, the one that has waited longest makes room: it is asked again.
void KeptMeans::hear(const FetchState& question, Instant now) {
  if (!question.names.empty()) return;  // the question of a joiner that is a member by now
  Question asked{StepId{question.step}, now};
  asked.is_early =
      std::ranges::none_of(means_, [&](const auto& mean) { return is_about(asked, question.replica, mean.second); });
  questions_.insert_or_assign(question.replica, asked);
  if (!kMembersMax.is_exceeded_by(questions_.size())) return;
  questions_.erase(std::ranges::min_element(questions_, {}, [](const auto& known) { return known.second.at; }));
}

// A mean that this member has no share in, contributed to at that step.
bool KeptMeans::is_about(const Question& question, Incarnation member, const Mean& mean) {
  const auto is_own = [&](const RoundShare& share) { return share.member == member; };
  return mean.entry.step == question.step && std::ranges::none_of(mean.entry.shares, is_own);
}

// Notes that it is given, unless nobody may have asked for it.
bool KeptMeans::is_due(Mean& mean, Incarnation member, const Question& question) {
  const auto given = mean.given.find(member);
  if (given == mean.given.end()) {
    if (!question.is_early) mean.given.emplace(member, GivenOnce(kMeanLost, question.at));
    return true;
  }
  if (!given->second.is_lost(question.at)) return false;
  given->second.given_again(question.at);
  return true;
}

void KeptMeans::lost_on_its_way(Incarnation member, StepId step) {
  for (auto& [round, mean] : means_) {
    if (mean.entry.step == step) mean.given.erase(member);
  }
}

std::vector<StepSum> KeptMeans::due() {
  std::vector<StepSum> sums;
  for (auto& [member, question] : questions_) {
    for (auto& [round, mean] : means_) {
      if (!is_about(question, member, mean)) continue;
      question.is_open = false;
      if (!is_due(mean, member, question)) continue;
      std::uint64_t tokens = 0;
      for (const RoundShare& share : mean.entry.shares) tokens += share.token_count;
      sums.push_back({member, self_, branch_, mean.entry.step, tokens, mean.values});
    }
  }
  std::erase_if(questions_, [](const auto& known) { return !known.second.is_open; });
  return sums;
}

}  // namespace shoal
