// The side of who missed a round. A mean is known by its bytes alone.
#include "runtime/sync/rounds/missed_rounds.h"

#include <algorithm>

#include <xxhash.h>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"

namespace shoal {

std::uint64_t digest_of_mean(const TensorBlob& mean) {
  return mean.has_value() ? XXH3_64bits(mean.bytes->data(), mean.byte_count()) : 0;
}

// Spreads the questions: members that missed a round together do not all ask the same one.
void MissedRounds::add(const CommitRound& entry) {
  ENSURE(!entry.shares.empty(), "a round is the mean of something");
  Missed missed{entry.step, entry.digest, {}, std::nullopt};
  for (const RoundShare& share : entry.shares) missed.holders.push_back(share.member);
  const auto first = static_cast<std::ptrdiff_t>(self_.value % missed.holders.size());
  std::rotate(missed.holders.begin(), missed.holders.begin() + first, missed.holders.end());
  missed_.insert_or_assign(entry.round, std::move(missed));
}

std::optional<RoundId> MissedRounds::take(const StepSum& sum) {
  if (sum.replica != self_ || sum.branch != branch_ || sum.values.dtype != DType::kFloat32) return std::nullopt;
  const std::uint64_t digest = digest_of_mean(sum.values);
  const auto found = std::ranges::find_if(
      missed_, [&](const auto& one) { return one.second.step == sum.step && one.second.digest == digest; });
  if (found == missed_.end()) return std::nullopt;
  const RoundId round = found->first;
  missed_.erase(found);
  return round;
}

std::optional<std::string> MissedRounds::lost(Incarnation member) {
  for (auto& [round, missed] : missed_) {
    const bool was_asked = missed.holders.front() == member;
    std::erase(missed.holders, member);
    if (was_asked) missed.asked_at.reset();
    if (!missed.holders.empty()) continue;
    return compose("round ", round.number, " of fragment ", round.fragment,
                   " was closed without this replica, and nobody who has its mean is left");
  }
  return std::nullopt;
}

std::vector<FetchState> MissedRounds::due(Instant now) {
  std::vector<FetchState> questions;
  for (auto& [round, missed] : missed_) {
    if (missed.asked_at && now - *missed.asked_at < kAskAgain) continue;
    missed.asked_at = now;
    FetchState question{self_, missed.step.value, {}, missed.holders.front(), branch_};
    if (std::ranges::find(questions, question) == questions.end()) questions.push_back(std::move(question));
  }
  return questions;
}

}  // namespace shoal
