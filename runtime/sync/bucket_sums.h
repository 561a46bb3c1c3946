// One member's values of a reduction, cut into buckets: the own contribution, the sum as it becomes whole, and what
// encoding left out. Backends decide what goes where; what is added to what, and kept, is decided here.
//
// Invariants: the contribution is never written; a bucket's sum is kept once. Peak memory beside the contribution: one
// sum of its size, with error feedback one residual of its size, and the encoded buckets this member may send again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "messages/tensor_blob.h"
#include "runtime/sync/reduction.h"
#include "runtime/sync/wire/payload.h"

namespace shoal {

// Returns the index of `self` among the members. Ensures that it is there, once.
[[nodiscard]] std::uint32_t index_of_self(const ReductionSetup& setup);

class BucketSums {
 public:
  // contribution: int64 or float32 [n]. A reduction of one member is complete at once, and its sum is the contribution.
  BucketSums(const ReductionSetup& setup, TensorBlob contribution);

  [[nodiscard]] std::size_t count() const { return whole_.size(); }
  [[nodiscard]] bool fits(std::size_t bucket, const TensorBlob& values) const;

  // The own values of a bucket, as they travel.
  [[nodiscard]] TensorBlob own(std::size_t bucket);
  // Those values plus the own ones; nothing if the sum is beyond what can travel. Likewise the next.
  [[nodiscard]] std::optional<TensorBlob> plus_own(std::size_t bucket, const TensorBlob& values);
  // The sum in the order of members: values[i] of member i, the own plain ones at own_index.
  [[nodiscard]] std::optional<TensorBlob> total(std::size_t bucket, const std::vector<TensorBlob>& values,
                                                std::size_t own_index);

  // The whole sum of a bucket, as it travelled. Ensures that there was none.
  void keep_whole(std::size_t bucket, const TensorBlob& values);
  // So that sent_again() gives it, with the very bytes it was sent with.
  void remember(std::size_t bucket, const TensorBlob& values);
  [[nodiscard]] TensorBlob sent_again(std::size_t bucket);

  [[nodiscard]] bool is_whole(std::size_t bucket) const { return whole_[bucket]; }
  [[nodiscard]] bool is_complete() const { return whole_count_ == whole_.size(); }
  [[nodiscard]] TensorBlob sum() const;
  [[nodiscard]] TensorBlob residual() const;

 private:
  [[nodiscard]] std::size_t offset(std::size_t bucket) const { return bucket * bucket_bytes_; }
  [[nodiscard]] std::size_t length(std::size_t bucket) const;
  [[nodiscard]] PlainBytes own_plain(std::size_t bucket) const;
  [[nodiscard]] std::span<float> lost(std::size_t bucket);

  std::size_t bucket_bytes_;
  TensorBlob contribution_;
  std::unique_ptr<Payload> payload_;
  std::shared_ptr<AlignedBuffer> result_;    // none for one member
  std::shared_ptr<AlignedBuffer> residual_;  // with error feedback, of a payload that loses precision
  std::vector<bool> whole_;
  std::size_t whole_count_ = 0;
  std::vector<TensorBlob> remembered_;  // parts of a payload that loses precision: encoding again gives other bytes
  std::vector<std::byte> scratch_;
};

}  // namespace shoal
