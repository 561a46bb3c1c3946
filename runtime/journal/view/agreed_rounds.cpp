// Rounds are kept by their newest number alone: those of a fragment are agreed in order.
#include "runtime/journal/view/agreed_rounds.h"

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"

namespace shoal {

AgreedRounds::AgreedRounds(std::uint64_t start, std::uint64_t held_until, const std::vector<AgreedRound>& newest)
    : start_(start), held_until_(held_until) {
  for (const auto& [stage, round] : newest) newest_[{stage, round.fragment}] = round.number;
}

std::vector<AgreedRound> AgreedRounds::newest() const {
  std::vector<AgreedRound> all;
  for (const auto& [key, number] : newest_) all.push_back({key.first, {key.second, number}});
  return all;
}

void AgreedRounds::follow(const CommitRound& commit) {
  std::uint64_t& newest = newest_[{commit.stage, commit.round.fragment}];
  ENSURE(commit.round.number > newest,
         compose("round ", commit.round.number, " where ", newest, " was the last (S-2)"));
  newest = commit.round.number;
}

bool AgreedRounds::has(StageId stage, const RoundId& round, StepId contributed, std::uint64_t due) const {
  if (due <= start_ || contributed.value <= held_until_) return true;
  const auto newest = newest_of(stage, round.fragment);
  return newest && newest->number >= round.number;
}

std::optional<RoundId> AgreedRounds::newest_of(StageId stage, std::uint32_t fragment) const {
  const auto found = newest_.find({stage, fragment});
  return found == newest_.end() ? std::nullopt : std::optional(RoundId{fragment, found->second});
}

std::vector<RoundId> AgreedRounds::newest_of(StageId stage) const {
  std::vector<RoundId> newest;
  for (const auto& [key, number] : newest_) {
    if (key.first == stage) newest.push_back({key.second, number});
  }
  return newest;
}

}  // namespace shoal
