// The sum of all members' contributions over a ring, bucket by bucket, for one epoch (P-18, P-18a).
//
//   bucket b starts at member s = b mod R      hop h: member s+h ──Part──▶ member s+h+1        (indices mod R)
//   lap 0, h = 0 .. R-2: the receiver adds its own values; after hop R-2 member s+R-1 holds the whole sum
//   lap 1, h = R-1 .. 2R-3: the receiver copies the whole sum and passes it on
//
// A member has at most a window of the buckets that start at it in their first lap: what all of them together have
// under way has room in a router (kRingBytes), however large the sum is and whichever link is slow.
//
// Invariants: the own contribution is never written; each bucket's sum is computed once and copied, so every member
// ends with the same bits whatever the order of messages; a part of another epoch never enters (P-15); a repeated part
// changes nothing. A lost whole sum is sent again by a member that has it. No member keeps a partial sum: a lost one is
// made again from the bucket's start on, by members that ask each other for what they passed on before. Works on int64
// (wrapping addition, which is exact here: DESIGN.md §4.9) and float32. In a wire format each hop of lap 0 decodes,
// adds in float32 and encodes again, so each member encodes each bucket once; the whole sum is encoded once, and the
// member that did it takes the decoded values like all others.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/sync/bucket_reduction.h"

namespace shoal {

// Bytes of a bucket of a sum of int64, at most kBucketBytes: whichever piece starts where, integers add up to the same
// bits. A sum of a few buckets would go round the ring one hop after the other, while all other links are idle.
[[nodiscard]] std::size_t bucket_bytes_of_ring(std::uint64_t sum_bytes, std::size_t members);

class RingReduction final : public BucketReduction {
 public:
  // Ensures that self is a member, once. contribution: int64 or float32 [n], kept as it is.
  RingReduction(ReductionSetup setup, TensorBlob contribution);

  [[nodiscard]] std::vector<AddressedPart> begin() override { return start_more(); }
  [[nodiscard]] std::vector<AddressedPart> receive(const Part& part) override;

  [[nodiscard]] Incarnation successor() const;

 private:
  // Passage of a bucket's partial sum, which comes from the predecessor and goes on with the own values.
  enum class Passage : std::uint8_t { kAwaited, kPassed, kAwaitedAgain };

  [[nodiscard]] std::vector<Incarnation> receivers() const override;
  [[nodiscard]] std::optional<PartId> lacks(std::size_t bucket, Incarnation sender) const override;
  void give_again(Incarnation receiver, const PartId& id, SentAgain& answer) override;
  void ask_predecessor(const PartId& id, SentAgain& answer) const;
  [[nodiscard]] Incarnation predecessor() const;
  // Hops after this bucket's start at which this member stands: 0 .. R-1.
  [[nodiscard]] std::uint32_t distance(std::size_t bucket) const;
  [[nodiscard]] bool is_acceptable(const Part& part) const;
  [[nodiscard]] AddressedPart pass_on(std::uint32_t bucket, std::uint32_t hop, TensorBlob values);
  [[nodiscard]] std::vector<AddressedPart> start_more();
  [[nodiscard]] std::vector<AddressedPart> add(const Part& part);
  [[nodiscard]] std::vector<AddressedPart> copy(const Part& part);
  void keep_whole(std::size_t bucket, const TensorBlob& values);

  std::vector<Passage> passages_;  // by bucket
  const std::size_t window_;
  std::size_t next_;           // the first of the buckets that start here and have not started
  std::size_t under_way_ = 0;  // buckets that have started and are not whole here
};

}  // namespace shoal
