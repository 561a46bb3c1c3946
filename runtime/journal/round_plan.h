// Plan of rounds: the fragments of a stage, and when each is synchronised (DESIGN.md §6).
//
// Pure functions of the configuration and of the stage's tensors: every replica of a stage and its sync group come to
// the same answer without a word between them. A version is a number of applied steps; rounds of a fragment count from
// 1. With H inner steps and P fragments, fragment p contributes at every version v >= 1 with
// v mod H = round((p + 1) H / P) mod H, so that fragments take turns and the last one closes the H steps. Its round is
// due
//   wait            `overlap` versions later (0: at the same one)
//   delayed, eager  at the fragment's next contribution; the first one has no round before it and is due as round 0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "messages/sync.h"
#include "runtime/base/config.h"

namespace shoal {

struct StageTensor {
  std::optional<int> layer;  // block; none for embedding, final norm and head
  std::uint64_t element_count = 0;
};

struct Fragment {
  std::vector<std::size_t> tensors;  // positions in the stage's list, ascending
  std::uint64_t element_count = 0;
  friend bool operator==(const Fragment&, const Fragment&) = default;
};

// Every tensor to exactly one of `count` fragments (>= 1). The stage's blocks are dealt in order: in contiguous runs
// (sequential) or one by one round the fragments (strided). What is left, the largest first, goes to the fragment that
// holds least. A stage with fewer blocks than fragments deals the tensors of its blocks by size too; only a stage with
// fewer tensors than fragments has empty ones.
[[nodiscard]] std::vector<Fragment> deal_fragments(const std::vector<StageTensor>& tensors, std::uint32_t count,
                                                   FragmentPattern pattern);

// All lists ascend by fragment. With sync.mode = every_step they are empty.
class RoundSchedule {
 public:
  explicit RoundSchedule(const SyncConfig& sync);

  // Contributions that are taken at the boundary after `version`, before anything that is due there is applied.
  [[nodiscard]] std::vector<RoundId> contributions_at(std::uint64_t version) const;
  // Rounds that are applied at the boundary after `version`; round 0: see above.
  [[nodiscard]] std::vector<RoundId> due_at(std::uint64_t version) const;
  // Rounds whose contribution was taken at `version` or before, and that are due later.
  [[nodiscard]] std::vector<RoundId> in_flight_after(std::uint64_t version) const;

  // Versions at which the contribution of a round (>= 1) is taken, and at which the round is due.
  [[nodiscard]] std::uint64_t contribution_version(const RoundId& round) const;
  [[nodiscard]] std::uint64_t due_version(const RoundId& round) const;
  // Returns the chain of a round. What encoding left out of a round enters the next one of its chain: the first one to
  // take contributions after the round's mean is applied (with wait the fragment's next, otherwise the one after it).
  // So nothing depends on whether the entry of a round or the order to sum the next comes first. Each fragment has its
  // own chains, numbered from 0.
  [[nodiscard]] std::uint64_t feedback_chain(const RoundId& round) const;
  // The most versions between a contribution and the end of the fragment's next round.
  [[nodiscard]] std::uint64_t window_max() const { return period_ + delay(); }
  // The most rounds that are open at once: of each fragment the one that is due at a boundary and the next one, whose
  // contributions are taken there or are announced before their step. Until a round is over no step begins after the
  // one where it is due, so a third one is never announced.
  [[nodiscard]] std::size_t open_max() const { return 2 * offsets_.size(); }
  [[nodiscard]] std::uint32_t fragment_count() const { return static_cast<std::uint32_t>(offsets_.size()); }

 private:
  // The round that a fragment contributes to at this version; 0: none.
  [[nodiscard]] std::uint64_t round_at(std::uint32_t fragment, std::uint64_t version) const;
  // Rounds of the fragment that were contributed to, or were due, up to this version.
  [[nodiscard]] std::uint64_t contributed_by(std::uint32_t fragment, std::uint64_t version) const;
  [[nodiscard]] std::uint64_t delay() const { return waits_ ? overlap_ : period_; }

  std::uint64_t period_;   // H
  std::uint64_t overlap_;  // wait
  bool waits_;
  std::vector<std::uint64_t> offsets_;  // version of a fragment's first contribution, 1 .. H
};

}  // namespace shoal
