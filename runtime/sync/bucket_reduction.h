// What backends that work bucket by bucket have in common: the order, the own place in it, and the sums.
//
// A child decides which bucket goes where (begin, receive, repeat).
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/sync/bucket_sums.h"
#include "runtime/sync/reduction.h"

namespace shoal {

class BucketReduction : public GroupReduction {
 public:
  [[nodiscard]] bool is_complete() const override { return sums_.is_complete(); }
  [[nodiscard]] TensorBlob sum() const override { return sums_.sum(); }
  [[nodiscard]] TensorBlob residual() const override { return sums_.residual(); }
  [[nodiscard]] std::uint64_t refused_count() const override { return refused_count_; }
  [[nodiscard]] const OrderId& order() const override { return setup_.order; }

 protected:
  // CHECKs that self is a member, once. contribution: int64 or float32 [n], kept as it is.
  BucketReduction(ReductionSetup setup, TensorBlob contribution)
      : setup_(std::move(setup)), own_index_(index_of_self(setup_)), sums_(setup_, std::move(contribution)) {}

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(setup_.members.size()); }

  ReductionSetup setup_;
  std::uint32_t own_index_;
  BucketSums sums_;
  std::uint64_t refused_count_ = 0;
};

}  // namespace shoal
