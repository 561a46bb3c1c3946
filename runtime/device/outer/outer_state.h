// The outer parameters of a stage: agreed values G and momentum B of every fragment, and what the variants of the outer
// update need beside them (DESIGN.md §6). Torch-free.
//
//   every variant   the delta that is contributed is base - local, where base is what the fragment last agreed on,
//                   never the mixture that the local parameters became: base = G, with `eager` base = P, the
//                   start of this worker
//   wait, delayed   (G, B) <- Nesterov(mean); local <- mix local + (1 - mix) G. `delayed` gets the mean one round late
//                   and drops the local progress of the round that just ended until its own mean arrives
//   eager, agreed   (G, B) <- Nesterov(mean of the round before); P = what Nesterov would make of (G, B) with
//                   the newest own delta in place of the own share of that mean;
//                   local <- mix local + (1 - mix) P
//   eager, paper    (G, B) as in `agreed`: what is digested, kept in checkpoints and given to joiners. Beside it each
//                   worker's own pair takes that eager gradient for good, and P is its outer part
//
// The end of a run closes every round: G takes its mean over, and P = G.
//
// The first `outer_warmup` rounds are averaged plainly: outer <- outer - gradient, and the momentum stays zero.
// Invariant: equal means give every member equal bits of (G, B) (S-3). The rules are here, once; the arithmetic is that
// of a processor or a device (outer_math.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "messages/tensor_blob.h"
#include "runtime/base/config.h"
#include "runtime/device/flat_layout.h"
#include "runtime/device/outer/outer_math.h"
#include "runtime/device/state_image.h"
#include "runtime/executor/stage_executor.h"
#include "runtime/journal/round_plan.h"

namespace shoal {

// Arrays of a fragment's size in a contribution and its mean: the delta, and averages where they travel with it.
[[nodiscard]] std::size_t round_arrays(InnerState inner);
// Ensures the types and sizes of what a round's update brings.
void ensure_round_values(const RoundUpdate& update, const Fragment& carried, InnerState inner);

class OuterState {
 public:
  using Values = std::span<float>;
  using ConstValues = std::span<const float>;

  // The arrays of a round's update as `math` reads them; none where the update has none.
  struct RoundValues {
    ConstValues mean;
    ConstValues own;
  };

  // G starts at `weights`, B at zero. `layout` must outlive this. In all calls `weights` are the local parameters, a
  // flat array of the layout, and lie where `math` computes.
  OuterState(const FlatLayout& layout, const SyncConfig& sync, std::unique_ptr<OuterMath> math, ConstValues weights);

  // base - local of a fragment: n values.
  void contribute(std::uint32_t fragment, ConstValues weights, Values delta) const;
  // The fragment's digest after the update. Ensures the fragment, the mean's type and size, and that there is one where
  // the variant cannot do without.
  [[nodiscard]] std::uint64_t apply(const RoundUpdate& update, const RoundValues& values, Values weights);
  // local := G, and nothing was contributed. Digests by fragment.
  std::vector<std::uint64_t> restart(Values weights);

  [[nodiscard]] std::uint64_t digest(std::uint32_t fragment) const;
  // Digest over all fragments: what the members of a stage agree on.
  [[nodiscard]] std::uint64_t digest() const;
  // G, where it lies for as long as this does.
  [[nodiscard]] Values agreed() { return outer_; }
  [[nodiscard]] const Fragment& fragment(std::uint32_t index) const { return fragments_.at(index); }
  // All that an image holds of this, in one order for one configuration. Who writes to them says so.
  [[nodiscard]] std::vector<Values> buffers();
  void buffers_changed() { digests_.assign(fragments_.size(), std::nullopt); }

  // Adds what an image holds of this, under "outer.<name>" (G), "outer.momentum.<name>" (B) and further names. Of the
  // processor's alone.
  void add_fields(StateFields& fields);
  void add_fields(ConstStateFields& fields) const;
  // Starts parts anew that an image lacked when it was read into the fields: G at `weights`, the others as they follow
  // from G. parts() are those that it may lack.
  [[nodiscard]] std::set<std::string> parts() const;
  void start_missing(const std::set<std::string>& missing, ConstValues weights);

 private:
  template <class Value, class Self>
  static void list_fields(Self& self, std::vector<StateField<Value>>& fields);
  [[nodiscard]] std::vector<std::pair<const char*, Values>> named_buffers() const;
  [[nodiscard]] Values base() const;
  // The rule of round `round`: plain average or Nesterov.
  void step(std::uint64_t round, const OuterTensor& tensor) const;
  // eager: one tensor's P, from the newest own delta. `mean` is empty while there is none.
  void step_ahead(const RoundUpdate& update, const FlatTensor& tensor, ConstValues mean, ConstValues weights);
  // eager: one tensor's P = G, as at the start.
  void step_back(const FlatTensor& tensor);

  const FlatLayout& layout_;
  SyncConfig sync_;
  std::unique_ptr<OuterMath> math_;
  std::vector<Fragment> fragments_;
  Values outer_;      // G
  Values momentum_;   // B
  Values start_;      // eager, agreed: P
  Values own_outer_;  // eager, paper: this worker's pair; its outer part is P
  Values own_momentum_;
  Values contribution_;  // eager: the delta that was the newest at the last update
  // Kept by fragment, for it changes only with a round and is asked for after every step.
  mutable std::vector<std::optional<std::uint64_t>> digests_;
  Values gradient_;  // eager: scratch of one tensor
  Values scratch_;   // eager: scratch of one tensor: a mean of zeros, then a copy of its momentum
};

}  // namespace shoal
