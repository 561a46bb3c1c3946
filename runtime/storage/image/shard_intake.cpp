// Only shards of several pieces are remembered; a whole one is accepted as it comes.
#include "runtime/storage/image/shard_intake.h"

#include <algorithm>
#include <utility>

namespace shoal {

bool ShardIntake::accepts(const SaveShard& shard, Instant now) {
  const bool is_taken = shard.offset > 0 ? continues(shard, now) : begins(shard, now);
  if (is_taken) writing_ = Writing{key_of(shard), shard.replica};
  return is_taken;
}

bool ShardIntake::continues(const SaveShard& shard, Instant now) {
  const auto known = coming_.find(key_of(shard));
  return known != coming_.end() && known->second.replica == shard.replica &&
         known->second.window.bytes_total() == shard.bytes_total && known->second.window.takes(shard.offset, now);
}

bool ShardIntake::begins(const SaveShard& shard, Instant now) {
  const std::uint64_t bytes = shard.image.byte_count();
  if (bytes == 0 && shard.bytes_total > 0) return false;
  const Key key = key_of(shard);
  const auto known = coming_.find(key);
  const bool is_whole = bytes >= shard.bytes_total;
  if (known != coming_.end() && !is_whole) {
    Coming& coming = known->second;
    const bool is_still = coming.window.is_still(now, kStill);
    const bool goes_on = coming.replica == shard.replica && coming.window.bytes_total() == shard.bytes_total;
    if (goes_on && is_still) coming.window.ask_again(now);
    if (!goes_on && !is_still) coming.next = shard.replica;
    if (goes_on || !is_still) return false;
  }
  if (known != coming_.end()) coming_.erase(known);
  if (is_whole) return true;
  if (kShardsMax.is_reached_by(coming_.size())) coming_.erase(coming_.begin());
  coming_.emplace(key, Coming{shard.replica, PieceWindow(bytes, shard.bytes_total, now), now, std::nullopt});
  return true;
}

void ShardIntake::written(const SaveShard& shard, Instant now) {
  writing_.reset();
  const auto known = coming_.find(key_of(shard));
  if (known != coming_.end()) known->second.window.took(shard.image.byte_count(), now);
}

void ShardIntake::failed(const SaveShard& shard) {
  writing_.reset();
  coming_.erase(key_of(shard));
}

void ShardIntake::arriving(const StateProgress& progress, Instant now) {
  for (auto& [key, shard] : coming_) {
    if (shard.replica == progress.replica) shard.window.arriving(now);
  }
}

Instant ShardIntake::began(const SaveShard& shard, Instant now) const {
  const auto known = coming_.find(key_of(shard));
  return known == coming_.end() ? now : known->second.began;
}

void ShardIntake::end_up_to(Branch branch, std::uint64_t step) {
  std::erase_if(coming_, [&](const auto& one) {
    return std::pair(std::get<Branch>(one.first), std::get<std::uint64_t>(one.first)) <= std::pair(branch, step);
  });
}

void ShardIntake::end(Branch branch, std::uint64_t step) {
  std::erase_if(coming_, [&](const auto& one) {
    return std::get<Branch>(one.first) == branch && std::get<std::uint64_t>(one.first) == step;
  });
}

std::vector<FetchShard> ShardIntake::due(Instant now) {
  std::vector<FetchShard> questions;
  for (auto at = coming_.begin(); at != coming_.end();) {
    const auto& [branch, step, stage] = at->first;
    PieceWindow& window = at->second.window;
    FetchShard question{branch, step, stage, at->second.replica, window.held(), window.held()};
    if (window.is_whole()) {
      questions.push_back(question);
      at = coming_.erase(at);
      continue;
    }
    if (at->second.next && window.is_still(now, kStill)) {
      questions.push_back({branch, step, stage, *std::exchange(at->second.next, std::nullopt), 0, 0});
    }
    while (const auto offset = window.due(now)) {
      question.offset = *offset;
      questions.push_back(question);
    }
    ++at;
  }
  return questions;
}

std::optional<StateUnavailable> ShardIntake::cut_short() {
  const auto writing = std::exchange(writing_, std::nullopt);
  if (!writing) return std::nullopt;
  coming_.erase(writing->shard);
  const auto& [branch, step, stage] = writing->shard;
  return StateUnavailable{writing->replica, step, "storage ended while it wrote its shard", {}};
}

std::vector<StateUnavailable> ShardIntake::lost(Instant now) {
  std::vector<StateUnavailable> told;
  std::erase_if(coming_, [&](const auto& one) {
    const bool is_lost = one.second.window.silence(now) >= kGivenUp;
    const Incarnation replica = one.second.replica;
    if (is_lost) told.push_back({replica, std::get<1>(one.first), "nothing more of its shard came", {}});
    return is_lost;
  });
  return told;
}

}  // namespace shoal
