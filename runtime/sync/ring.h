// The sum of all members' contributions over a ring, bucket by bucket, for one epoch (P-18).
//
//   bucket b starts at member s = b mod R      hop h: member s+h ──Part──▶ member s+h+1        (indices mod R)
//   lap 0, h = 0 .. R-2: the receiver adds its own values; after hop R-2 member s+R-1 holds the whole sum
//   lap 1, h = R-1 .. 2R-3: the receiver copies the whole sum and passes it on
//
// Invariants: the own contribution is never written; each bucket's sum is computed once and copied, so every member
// ends with the same bits whatever the order of messages; a part of another epoch never enters (P-15); a repeated part
// changes nothing. Peak memory beside the contribution: one result of its size. Works on int64 (wrapping addition,
// which is exact here: design.md §4.9) and float32.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "messages/sync.h"
#include "messages/tensor_blob.h"

namespace shoal {

inline constexpr std::size_t kRingBucketBytes = std::size_t{1} << 20U;

struct RingSetup {
  OrderId order;
  std::vector<Incarnation> members;  // ring order, each once, self among them
  Incarnation self;
  std::size_t bucket_bytes = kRingBucketBytes;
};

class RingReduction {
 public:
  // CHECKs that self is a member, once. contribution: int64 or float32 [n], kept as it is.
  RingReduction(RingSetup setup, TensorBlob contribution);

  // The parts this member starts with. Empty when it is alone.
  [[nodiscard]] std::vector<Part> begin() const;
  // What to send on after this part. Parts of another epoch, from another than the predecessor or of a wrong shape
  // change nothing and give nothing; so do repeated ones, but that a partial sum is sent on again until the whole is
  // known: whoever repeats a first part does it because something behind was lost.
  [[nodiscard]] std::vector<Part> receive(const Part& part);
  // What can be sent again from what is kept: first parts, and whole sums this member passes on.
  [[nodiscard]] std::vector<Part> repeat() const;

  [[nodiscard]] bool is_complete() const { return done_count_ == buckets_.size(); }
  // The whole sum, shaped like the contribution. CHECKs is_complete().
  [[nodiscard]] TensorBlob sum() const;
  [[nodiscard]] Incarnation successor() const;
  [[nodiscard]] std::uint64_t refused_count() const { return refused_count_; }
  [[nodiscard]] const OrderId& order() const { return setup_.order; }

 private:
  struct Bucket {
    bool is_whole = false;  // its sum is in result_
  };

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(setup_.members.size()); }
  // Hops after this bucket's start at which this member stands: 0 .. R-1.
  [[nodiscard]] std::uint32_t distance(std::size_t bucket) const;
  [[nodiscard]] std::size_t offset(std::size_t bucket) const { return bucket * setup_.bucket_bytes; }
  [[nodiscard]] std::size_t length(std::size_t bucket) const;
  [[nodiscard]] bool is_acceptable(const Part& part) const;
  [[nodiscard]] Part make_part(std::size_t bucket, std::uint32_t hop, TensorBlob values) const;
  [[nodiscard]] TensorBlob own_values(std::size_t bucket) const;
  [[nodiscard]] std::vector<Part> add(const Part& part);
  [[nodiscard]] std::vector<Part> copy(const Part& part);
  void keep_whole(std::size_t bucket, const TensorBlob& values);

  RingSetup setup_;
  std::uint32_t own_index_ = 0;
  TensorBlob contribution_;
  std::shared_ptr<AlignedBuffer> result_;
  std::vector<Bucket> buckets_;
  std::size_t done_count_ = 0;
  std::uint64_t refused_count_ = 0;
};

// Parts that came before our own Reduce of their epoch. Only the highest epoch seen is kept; a lower one is void
// (P-15).
class HeldParts {
 public:
  // count_max: parts held at most; what exceeds it is dropped, and the group's time-out opens a new epoch.
  explicit HeldParts(std::size_t count_max) : count_max_(count_max) {}

  void hold(const Part& part);
  // Parts of lower epochs are void.
  void drop_below(const Epoch& epoch);
  // The held parts of this epoch; parts of lower epochs are dropped.
  [[nodiscard]] std::vector<Part> take(const Epoch& epoch);
  void clear() { parts_.clear(), epoch_ = {}; }
  [[nodiscard]] std::size_t size() const { return parts_.size(); }

 private:
  std::size_t count_max_;
  Epoch epoch_;
  std::vector<Part> parts_;
};

}  // namespace shoal
