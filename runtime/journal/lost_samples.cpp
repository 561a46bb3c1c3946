// Reads from the newest step to the oldest: a share is made of the newest that its member trained on.
#include "runtime/journal/lost_samples.h"

#include <algorithm>
#include <iterator>

namespace shoal {

void LostSamples::follow(const JournalEntry& entry) {
  const auto* commit = std::get_if<Commit>(&entry.body);
  if (commit == nullptr || window_ == 0) return;
  trained_.erase(trained_.lower_bound(commit->step), trained_.end());
  trained_.emplace(commit->step, Trained{entry.position, commit->stages});
  const StepId oldest{commit->step.value + 1 - std::min(window_, commit->step.value + 1)};
  trained_.erase(trained_.begin(), trained_.lower_bound(oldest));
}

const std::vector<MemberManifest>* LostSamples::manifests_of(StageId stage, StepId step) const {
  const auto found = trained_.find(step);
  if (found == trained_.end()) return nullptr;
  for (const StageCommit& one : found->second.stages) {
    if (one.stage == stage) return &one.manifests;
  }
  return nullptr;
}

std::vector<PlaceId> LostSamples::lost_in(const CommitRound& entry, StepId since, const View& view) const {
  std::vector<PlaceId> lost;
  std::map<Incarnation, std::uint64_t> merged;  // tokens of shares that no microbatch was found for yet
  for (const RoundShare& share : entry.shares) merged[share.member] = share.token_count;
  const auto look_at = [&](StepId step, const MemberManifest& manifest) {
    for (auto one = manifest.entries.rbegin(); one != manifest.entries.rend(); ++one) {
      std::uint64_t& left = merged[manifest.member];
      const bool is_merged = one->token_count <= left;
      left = is_merged ? left - one->token_count : 0;
      if (!is_merged) lost.push_back(place_of(step, one->microbatch));
    }
  };
  for (std::uint64_t at = entry.step.value; at > since.value; --at) {
    const StepId step{at - 1};
    if (step.value < view.start()) {
      for (std::uint32_t index = 0; index < microbatches_; ++index) {
        const MicrobatchId microbatch{index};
        if (!view.quarantines().contains(step, microbatch)) lost.push_back(place_of(step, microbatch));
      }
    } else if (const auto* manifests = manifests_of(entry.stage, step)) {
      for (const MemberManifest& manifest : *manifests) look_at(step, manifest);
    }
  }
  std::sort(lost.begin(), lost.end());
  return lost;
}

void LostSamples::name_lost(CommitRound& entry, StepId since, const View& view) const {
  if (window_ == 0) return;
  const std::vector<PlaceId> lost = lost_in(entry, since, view);
  const std::set<PlaceId> known = view.requeued().lost_from(place_of(since, MicrobatchId{}));
  const PlaceId not_begun = place_of(StepId{view.committed_steps() + 1}, MicrobatchId{});
  const PlaceId from = std::max(view.requeued().end(), not_begun);
  const std::uint64_t waiting = view.requeued().stored_from(not_begun) + RequeuedSamples::kPlacesOfAnEntry;
  const std::size_t most = RequeuedSamples::kWaitingMax;
  const std::size_t room = most - std::min<std::size_t>(most, waiting);
  std::set_difference(lost.begin(), lost.end(), known.begin(), known.end(), std::back_inserter(entry.lost));
  if (RequeuedSamples::kWaitingMax.reached_if(entry.lost.size() > room)) entry.lost.resize(room);
  if (!entry.lost.empty()) entry.trained_again_from = from;
}

}  // namespace shoal
