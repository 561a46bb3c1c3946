// MissedRounds: rounds that were closed without this member (sync.quorum), and how their means come (P-34).
//
//   CommitRound without an own share ──▶ asked: FetchState, without names, to a member that has a share
//   asked ──StepSum whose values have the entry's digest──▶ (none)
//     └── that member left the view ──▶ asked: the next member that has a share; if none is left: an error
//
// The mean is all that is missing: outer parameters and momentum are those of every member until the boundary where the
// round is due, so the same mean makes the same ones of them (S-3). A holder of it is always in the view or gone, so a
// question is repeated, and sent to another member only when its receiver left. Bounded (S-6) by the rounds that may
// be open at once. Pure: time comes in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "messages/journal.h"
#include "messages/storage.h"
#include "runtime/base/clock.h"

namespace shoal {

// XXH3-64 of the mean's bytes, as Reduced and CommitRound name it.
[[nodiscard]] std::uint64_t digest_of_mean(const TensorBlob& mean);

class MissedRounds {
 public:
  static constexpr Duration kAskAgain = std::chrono::seconds(2);  // the member that was asked ignores impatience

  MissedRounds(Incarnation self, Branch branch) : self_(self), branch_(branch) {}

  // The entry has shares, and none of this member.
  void add(const CommitRound& entry);
  // The round that these values are the mean of; it is missed no more. Nothing: of none that is missed.
  [[nodiscard]] std::optional<RoundId> take(const StepSum& sum);
  // Somebody left the view. An error: a mean is missing that nobody else has.
  [[nodiscard]] std::optional<std::string> lost(Incarnation member);
  // Returns the questions that are due now, with the members to ask.
  [[nodiscard]] std::vector<FetchState> due(Instant now);
  void clear() { missed_.clear(); }

 private:
  struct Missed {
    StepId step;
    std::uint64_t digest = 0;
    std::vector<Incarnation> holders;  // the first one is asked
    std::optional<Instant> asked_at;
  };

  Incarnation self_;
  Branch branch_;
  std::map<RoundId, Missed> missed_;
};

}  // namespace shoal
