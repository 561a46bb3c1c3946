// Base of backends that work bucket by bucket: the order of members, the own place in it, the sums, and which part was
// sent to which member before which mark.
//
// A child decides which bucket goes where (begin, receive, lacks, give_again).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/sync/bucket_sums.h"
#include "runtime/sync/reduction.h"

namespace shoal {

class BucketReduction : public GroupReduction {
 public:
  [[nodiscard]] std::vector<AddressedMark> mark() final;
  [[nodiscard]] std::optional<MissingParts> missing(const PartsSent& mark) const final;
  [[nodiscard]] SentAgain send_again(const MissingParts& question) final;
  [[nodiscard]] std::uint64_t parts_taken() const final { return parts_taken_; }

  [[nodiscard]] bool is_complete() const override { return sums_.is_complete(); }
  [[nodiscard]] TensorBlob sum() const override { return sums_.sum(); }
  [[nodiscard]] TensorBlob residual() const override { return sums_.residual(); }
  [[nodiscard]] std::uint64_t refused_count() const override { return refused_count_; }
  [[nodiscard]] const OrderId& order() const override { return setup_.order; }

 protected:
  // Mark of a part that has to come once more though it has come before: whatever it was sent behind.
  static constexpr std::uint32_t kAnyMark = std::numeric_limits<std::uint32_t>::max();

  // Ensures that self is a member, once. contribution: int64 or float32 [n], kept as it is.
  BucketReduction(ReductionSetup setup, TensorBlob contribution)
      : setup_(std::move(setup)), own_index_(index_of_self(setup_)), sums_(setup_, std::move(contribution)) {}

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(setup_.members.size()); }
  [[nodiscard]] bool is_other_member(Incarnation member) const;
  // Remembers behind which mark it goes.
  [[nodiscard]] AddressedPart send(Incarnation receiver, const PartId& id, TensorBlob values);
  void took_part() { ++parts_taken_; }

  // Returns the members that this one sends parts to: all others, or some of them.
  [[nodiscard]] virtual std::vector<Incarnation> receivers() const = 0;
  // Returns the part of this bucket that `sender` is to send here and that has not come.
  [[nodiscard]] virtual std::optional<PartId> lacks(std::size_t bucket, Incarnation sender) const = 0;
  // Sends it again if it is kept here; for a part that has to be made again, asks for what it is made of.
  virtual void give_again(Incarnation receiver, const PartId& id, SentAgain& answer) = 0;

  ReductionSetup setup_;
  std::uint32_t own_index_;
  BucketSums sums_;
  std::uint64_t refused_count_ = 0;

 private:
  struct SentTo {
    std::uint32_t marks = 0;
    std::map<PartId, std::uint32_t> behind;  // how many of them; none of what was sent before the first
  };
  [[nodiscard]] bool is_in_earnest(const MissingParts& question) const;

  std::map<Incarnation, SentTo> sent_;
  std::uint64_t parts_taken_ = 0;
};

}  // namespace shoal
