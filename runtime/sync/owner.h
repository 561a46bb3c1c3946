// The sum of all members' contributions at owners: bucket b belongs to member b mod R.
//
//   hop 0: member ──own values──▶ owner      the owner adds them in float32 (or int64) in the order of members,
//   hop 1: owner ──whole sum──▶ every other  whatever order they came in, and sends what it became to all
//
// Two hops whatever R is, where the ring has 2(R-1): better for few buckets and slow paths. Each contribution is
// encoded once, the owner's own not at all, and the sum once; the owner takes the decoded sum like all others.
// A member has at most a window of buckets under way, lowest first: nobody waits for a bucket that somebody else has
// not begun for want of room. Lost parts: an owner asks for contributions it lacks, everybody else for sums of buckets
// under way. Memory beside bucket_sums.h: contributions of buckets that wait for others, at most the window x
// encoded buckets.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/sync/bucket_reduction.h"

namespace shoal {

class OwnerReduction final : public BucketReduction {
 public:
  // Ensures that self is a member, once.
  OwnerReduction(ReductionSetup setup, TensorBlob contribution);

  [[nodiscard]] std::vector<AddressedPart> begin() override { return send_more(); }
  [[nodiscard]] std::vector<AddressedPart> receive(const Part& part) override;

 private:
  // Contributions to a bucket of ours, by member; our own place stays empty.
  struct Gathered {
    std::vector<TensorBlob> values;
    std::size_t count = 0;
  };

  [[nodiscard]] Incarnation owner(std::size_t bucket) const { return setup_.members[bucket % size()]; }
  [[nodiscard]] bool is_ours(std::size_t bucket) const { return bucket % size() == own_index_; }
  [[nodiscard]] bool is_acceptable(const Part& part) const;
  [[nodiscard]] std::size_t index_of(Incarnation member) const;
  [[nodiscard]] std::vector<Incarnation> receivers() const override;
  [[nodiscard]] std::optional<PartId> lacks(std::size_t bucket, Incarnation sender) const override;
  void give_again(Incarnation receiver, const PartId& id, SentAgain& answer) override;
  [[nodiscard]] AddressedPart own_part(std::size_t bucket);
  [[nodiscard]] AddressedPart sum_part(std::size_t bucket, Incarnation receiver, TensorBlob values);
  [[nodiscard]] std::vector<AddressedPart> send_more();
  [[nodiscard]] std::vector<AddressedPart> gather(const Part& part);
  [[nodiscard]] std::vector<AddressedPart> conclude(std::size_t bucket);

  const std::size_t window_;
  std::map<std::size_t, Gathered> gathered_;  // buckets of ours that somebody has begun
  std::size_t next_ = 0;                      // the lowest bucket that was not looked at for sending
  std::size_t under_way_ = 0;                 // sent to their owners, not whole yet
};

}  // namespace shoal
