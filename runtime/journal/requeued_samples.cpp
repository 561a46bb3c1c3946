// Places are few, and looked up by the entry that took them.
#include "runtime/journal/requeued_samples.h"

#include <algorithm>

#include "runtime/base/ensure.h"

namespace shoal {

std::uint64_t RequeuedSamples::count() const {
  return taken_.empty() ? forgotten_ : taken_.back().before + taken_.back().samples.size();
}

// Counts what is kept as a snapshot stores it, in places.
std::uint64_t RequeuedSamples::stored() const {
  return taken_.empty() ? 0 : count() - taken_.front().before + kPlacesOfAnEntry * taken_.size();
}

std::uint64_t RequeuedSamples::stored_from(PlaceId first) const {
  std::uint64_t stored = 0;
  for (auto taken = taken_.rbegin(); taken != taken_.rend(); ++taken) {
    const std::uint64_t end = taken->first.value + taken->samples.size();
    if (end <= first.value) break;
    stored += end - std::max(taken->first.value, first.value) + kPlacesOfAnEntry;
  }
  return stored;
}

PlaceId RequeuedSamples::end() const {
  return taken_.empty() ? PlaceId{} : PlaceId{taken_.back().first.value + taken_.back().samples.size()};
}

void RequeuedSamples::follow(const CommitRound& entry, std::uint64_t version) {
  if (entry.lost.empty()) return;
  ENSURE(entry.trained_again_from >= end(), "a place is taken once");
  TakenPlaces taken{version, entry.trained_again_from, count(), entry.lost, {}};
  for (const PlaceId place : entry.lost) {
    ENSURE(place < entry.trained_again_from, "what is lost was trained before");
    taken.samples.push_back(sample_at(place));
  }
  taken_.push_back(std::move(taken));
  while (kKeptMax.is_exceeded_by(stored())) {
    forgotten_ = taken_.front().before + taken_.front().samples.size();
    taken_.pop_front();
  }
}

void RequeuedSamples::go_back_to(std::uint64_t version) {
  while (!taken_.empty() && taken_.back().version > version) taken_.pop_back();
}

PlaceId RequeuedSamples::sample_at(PlaceId place) const {
  const auto after = std::upper_bound(taken_.begin(), taken_.end(), place,
                                      [](PlaceId wanted, const TakenPlaces& taken) { return wanted < taken.first; });
  if (after == taken_.begin()) return PlaceId{place.value - std::min(place.value, forgotten_)};
  const TakenPlaces& taken = *(after - 1);
  const std::uint64_t index = place.value - taken.first.value;
  if (index < taken.samples.size()) return taken.samples[index];
  return PlaceId{place.value - taken.before - taken.samples.size()};
}

std::set<PlaceId> RequeuedSamples::lost_from(PlaceId first) const {
  std::set<PlaceId> lost;
  for (const TakenPlaces& taken : taken_) {
    lost.insert(std::lower_bound(taken.lost.begin(), taken.lost.end(), first), taken.lost.end());
  }
  return lost;
}

}  // namespace shoal
