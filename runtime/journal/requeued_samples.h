// Places of the plan that train a lost sample again, and so what every other place trains (sync.requeue_lost,
// DESIGN.md §6): what the CommitRound entries of a journal say together.
//
//   place    0    1    2    3    4    5    6    7    8   ...
//   trains   0    1    2    3   (1)  (3)   4    5    6   ...   the samples of 1 and 3 are lost, 4 is the first place
//
// A place that no entry takes trains the next sample in the order of the data: that order moves on by as many places as
// are taken, so no sample is left out and none but the lost ones is trained twice. An entry takes places of steps that
// have not begun when it is read, after all those that are taken already. A sample that is lost where it was trained
// again is lost at that place, and trained once more. A branch that begins at an earlier step forgets what was read
// after it: the plan up to there stays as it was.
//
// Bounded (S-6), so that a snapshot of the journal has room for it: kKeptMax lost places, an entry counted as
// kPlacesOfAnEntry more, of which kWaitingMax may still have to be trained again; the oldest are forgotten, but for
// their number. A branch that begins before what is remembered takes all that is forgotten for earlier: it trains some
// samples twice, and leaves out lost ones alone. Pure values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "messages/journal.h"
#include "runtime/base/bound.h"

namespace shoal {

[[nodiscard]] inline PlaceId place_of(StepId step, MicrobatchId microbatch, std::uint32_t microbatches) {
  return PlaceId{step.value * microbatches + microbatch.value};
}
[[nodiscard]] inline StepId step_of(PlaceId place, std::uint32_t microbatches) {
  return StepId{place.value / microbatches};
}

class RequeuedSamples {
 public:
  static inline const Bound kWaitingMax{"journal.lost_places_waiting",
                                        65536};  // kept by the writer of the entries (lost_samples.h)
  static inline const Bound kKeptMax{"journal.lost_places_kept", 131072};
  static constexpr std::uint64_t kPlacesOfAnEntry = 3;  // a snapshot has 40 bytes for it, and 16 for each place

  RequeuedSamples() = default;
  explicit RequeuedSamples(const RequeuedState& state)
      : taken_(state.taken.begin(), state.taken.end()), forgotten_(state.forgotten) {}
  [[nodiscard]] RequeuedState state() const { return {{taken_.begin(), taken_.end()}, forgotten_}; }

  // An entry that is read after so many committed steps. It takes places after those that are taken (ENSURE).
  void follow(const CommitRound& entry, std::uint64_t version);
  // A branch begins with so many committed steps.
  void go_back_to(std::uint64_t version);

  // Returns the place whose sample is trained at this place, as numbered in a run that loses nothing.
  [[nodiscard]] PlaceId sample_at(PlaceId place) const;
  // The first place after all that are taken.
  [[nodiscard]] PlaceId end() const;
  // Counts what is stored for places from `first` on, in places: those that are taken, and the entries that took them.
  [[nodiscard]] std::uint64_t stored_from(PlaceId first) const;
  // Places from `first` on whose samples are to be trained again already.
  [[nodiscard]] std::set<PlaceId> lost_from(PlaceId first) const;

 private:
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::uint64_t stored() const;

  std::deque<TakenPlaces> taken_;  // ascending by place
  std::uint64_t forgotten_ = 0;    // places
};

}  // namespace shoal
