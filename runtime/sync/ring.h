// The sum of all members' contributions over a ring, bucket by bucket, for one epoch (P-18).
//
//   bucket b starts at member s = b mod R      hop h: member s+h ──Part──▶ member s+h+1        (indices mod R)
//   lap 0, h = 0 .. R-2: the receiver adds its own values; after hop R-2 member s+R-1 holds the whole sum
//   lap 1, h = R-1 .. 2R-3: the receiver copies the whole sum and passes it on
//
// Invariants: the own contribution is never written; each bucket's sum is computed once and copied, so every member
// ends with the same bits whatever the order of messages; a part of another epoch never enters (P-15); a repeated part
// changes nothing. Works on int64 (wrapping addition, which is exact here: design.md §4.9) and float32. In a wire
// format each hop of lap 0 decodes, adds in float32 and encodes again, so each member encodes each bucket once; the
// whole sum is encoded once, and the member that did it takes the decoded values like all others.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/sync/bucket_reduction.h"

namespace shoal {

class RingReduction final : public BucketReduction {
 public:
  // CHECKs that self is a member, once. contribution: int64 or float32 [n], kept as it is.
  RingReduction(ReductionSetup setup, TensorBlob contribution);

  [[nodiscard]] std::vector<AddressedPart> begin() override;
  // A repeated part changes nothing, but a partial sum is sent on again until the whole is known: whoever repeats a
  // first part does it because something behind was lost.
  [[nodiscard]] std::vector<AddressedPart> receive(const Part& part) override;
  // First parts, and whole sums this member passes on.
  [[nodiscard]] std::vector<AddressedPart> repeat() override;

  [[nodiscard]] Incarnation successor() const;

 private:
  // Hops after this bucket's start at which this member stands: 0 .. R-1.
  [[nodiscard]] std::uint32_t distance(std::size_t bucket) const;
  [[nodiscard]] bool is_acceptable(const Part& part) const;
  [[nodiscard]] AddressedPart make_part(std::size_t bucket, std::uint32_t hop, TensorBlob values) const;
  [[nodiscard]] std::vector<AddressedPart> add(const Part& part);
  [[nodiscard]] std::vector<AddressedPart> copy(const Part& part);
  void keep_whole(std::size_t bucket, const TensorBlob& values);
};

}  // namespace shoal
