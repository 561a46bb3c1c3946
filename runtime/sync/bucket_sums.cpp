// Offsets are bytes of the contribution, whatever its buckets travel as.
#include "runtime/sync/bucket_sums.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {

std::uint32_t index_of_self(const ReductionSetup& setup) {
  const auto& members = setup.members;
  ENSURE(std::count(members.begin(), members.end(), setup.self) == 1, "a reduction needs this member in it, once");
  return static_cast<std::uint32_t>(std::find(members.begin(), members.end(), setup.self) - members.begin());
}

BucketSums::BucketSums(const ReductionSetup& setup, TensorBlob contribution)
    : bucket_bytes_(setup.bucket_bytes),
      contribution_(std::move(contribution)),
      payload_(make_payload(contribution_.dtype, setup.wire)) {
  ENSURE(contribution_.has_value(), "a reduction needs a contribution");
  ENSURE(bucket_bytes_ > 0 && bucket_bytes_ % size_of(DType::kInt64) == 0, "buckets hold whole elements");
  const std::size_t byte_count = contribution_.byte_count();
  whole_.resize((byte_count + bucket_bytes_ - 1) / bucket_bytes_);
  kBucketBytes.reached_if(whole_.size() > 1);
  if (setup.members.size() == 1) {
    whole_.assign(whole_.size(), true);
    whole_count_ = whole_.size();
    return;
  }
  result_ = std::make_shared<AlignedBuffer>(byte_count);
  if (!payload_->is_lossy()) return;
  remembered_.resize(whole_.size());
  if (setup.error_feedback) residual_ = std::make_shared<AlignedBuffer>(byte_count);
}

std::size_t BucketSums::length(std::size_t bucket) const {
  return std::min(bucket_bytes_, contribution_.byte_count() - offset(bucket));
}

PlainBytes BucketSums::own_plain(std::size_t bucket) const {
  return {contribution_.bytes->data() + offset(bucket), length(bucket)};
}

std::span<float> BucketSums::lost(std::size_t bucket) {
  if (!residual_) return {};
  return {reinterpret_cast<float*>(residual_->data() + offset(bucket)), length(bucket) / sizeof(float)};
}

bool BucketSums::fits(std::size_t bucket, const TensorBlob& values) const {
  return payload_->fits(values, length(bucket));
}

TensorBlob BucketSums::own(std::size_t bucket) {
  auto packed = payload_->pack(own_plain(bucket), lost(bucket));
  ENSURE(packed.has_value(), "a contribution that can travel");  // make_reduction() refused others
  return std::move(*packed);
}

std::optional<TensorBlob> BucketSums::plus_own(std::size_t bucket, const TensorBlob& values) {
  return payload_->combine(values, own_plain(bucket), lost(bucket));
}

std::optional<TensorBlob> BucketSums::total(std::size_t bucket, const std::vector<TensorBlob>& values,
                                            std::size_t own_index) {
  const std::size_t byte_count = length(bucket);
  scratch_.resize(2 * bucket_bytes_);
  const std::span plain(scratch_.data(), byte_count);
  const std::span sum(scratch_.data() + bucket_bytes_, byte_count);
  for (std::size_t member = 0; member < values.size(); ++member) {
    const bool is_own = member == own_index;
    if (!is_own) payload_->unpack(values[member], plain);
    const PlainBytes more = is_own ? own_plain(bucket) : plain;
    if (member == 0) {
      std::memcpy(sum.data(), more.data(), byte_count);
    } else {
      payload_->add(more, sum);
    }
  }
  return payload_->pack(sum, lost(bucket));
}

void BucketSums::keep_whole(std::size_t bucket, const TensorBlob& values) {
  ENSURE(!whole_[bucket], "a bucket is completed once");
  payload_->unpack(values, {result_->data() + offset(bucket), length(bucket)});
  whole_[bucket] = true;
  ++whole_count_;
}

void BucketSums::remember(std::size_t bucket, const TensorBlob& values) {
  if (payload_->is_lossy()) remembered_[bucket] = values;
}

TensorBlob BucketSums::sent_again(std::size_t bucket) {
  ENSURE(whole_[bucket], "a whole sum is sent again");
  if (payload_->is_lossy()) return remembered_[bucket];
  return *payload_->pack({result_->data() + offset(bucket), length(bucket)}, {});
}

TensorBlob BucketSums::sum() const {
  ENSURE(is_complete(), "the sum of a reduction that is not complete was read");
  if (!result_) return contribution_;
  return TensorBlob{contribution_.dtype, contribution_.shape, result_};
}

TensorBlob BucketSums::residual() const {
  ENSURE(is_complete(), "the residual of a reduction that is not complete was read");
  if (!residual_) return {};
  return TensorBlob{DType::kFloat32, contribution_.shape, residual_};
}

}  // namespace shoal
