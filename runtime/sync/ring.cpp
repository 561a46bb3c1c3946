// One member's side of the ring. Hop arithmetic: a member at distance d from a bucket's start adds at hop d-1 (d > 0)
// and copies at hop R-1+d (d < R-1); the member at distance R-1 is the one that completes the sum.
#include "runtime/sync/ring.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"

namespace shoal {
namespace {

// out[i] = a[i] + b[i]. Unsigned arithmetic for integers: wrapping is defined, and exact sums never need it.
template <class T>
void add_values(const std::byte* a, const std::byte* b, std::byte* out, std::size_t byte_count) {
  for (std::size_t at = 0; at < byte_count; at += sizeof(T)) {
    T left{};
    T right{};
    std::memcpy(&left, a + at, sizeof(T));
    std::memcpy(&right, b + at, sizeof(T));
    const T total = left + right;
    std::memcpy(out + at, &total, sizeof(T));
  }
}

TensorBlob make_blob(DType dtype, std::shared_ptr<const AlignedBuffer> bytes) {
  const auto element_count = static_cast<std::int64_t>(bytes->size() / size_of(dtype));
  return TensorBlob{dtype, {element_count}, std::move(bytes)};
}

}  // namespace

RingReduction::RingReduction(RingSetup setup, TensorBlob contribution)
    : setup_(std::move(setup)), contribution_(std::move(contribution)) {
  const auto& members = setup_.members;
  CHECK(std::count(members.begin(), members.end(), setup_.self) == 1, "a ring needs this member in it, once");
  CHECK(contribution_.has_value(), "a ring needs a contribution");
  CHECK(contribution_.dtype == DType::kInt64 || contribution_.dtype == DType::kFloat32, "sums are int64 or float32");
  CHECK(setup_.bucket_bytes > 0 && setup_.bucket_bytes % size_of(DType::kInt64) == 0, "buckets hold whole elements");
  own_index_ = static_cast<std::uint32_t>(std::find(members.begin(), members.end(), setup_.self) - members.begin());
  const std::size_t byte_count = contribution_.byte_count();
  buckets_.resize((byte_count + setup_.bucket_bytes - 1) / setup_.bucket_bytes);
  if (size() == 1) {
    done_count_ = buckets_.size();
  } else {
    result_ = std::make_shared<AlignedBuffer>(byte_count);
  }
}

std::uint32_t RingReduction::distance(std::size_t bucket) const {
  const auto start = static_cast<std::uint32_t>(bucket % size());
  return (own_index_ + size() - start) % size();
}

std::size_t RingReduction::length(std::size_t bucket) const {
  return std::min(setup_.bucket_bytes, contribution_.byte_count() - offset(bucket));
}

Incarnation RingReduction::successor() const { return setup_.members[(own_index_ + 1) % size()]; }

Part RingReduction::make_part(std::size_t bucket, std::uint32_t hop, TensorBlob values) const {
  return Part{setup_.order, setup_.self, static_cast<std::uint32_t>(bucket), hop, std::move(values)};
}

TensorBlob RingReduction::own_values(std::size_t bucket) const {
  auto bytes = std::make_shared<AlignedBuffer>(length(bucket));
  std::memcpy(bytes->data(), contribution_.bytes->data() + offset(bucket), bytes->size());
  return make_blob(contribution_.dtype, std::move(bytes));
}

std::vector<Part> RingReduction::begin() const {
  std::vector<Part> parts;
  if (size() == 1) return parts;
  for (std::size_t bucket = own_index_; bucket < buckets_.size(); bucket += size()) {
    parts.push_back(make_part(bucket, 0, own_values(bucket)));
  }
  return parts;
}

bool RingReduction::is_acceptable(const Part& part) const {
  if (size() == 1 || part.order != setup_.order || part.bucket >= buckets_.size()) return false;
  if (part.member != setup_.members[(own_index_ + size() - 1) % size()]) return false;
  if (part.values.dtype != contribution_.dtype || part.values.byte_count() != length(part.bucket)) return false;
  const std::uint32_t from_start = distance(part.bucket);
  const bool adds = from_start > 0 && part.hop == from_start - 1;
  const bool copies = from_start < size() - 1 && part.hop == size() - 1 + from_start;
  return adds || copies;
}

std::vector<Part> RingReduction::receive(const Part& part) {
  if (!is_acceptable(part)) {
    ++refused_count_;
    return {};
  }
  return part.hop < size() - 1 ? add(part) : copy(part);
}

// Added again when it comes again: what it became may have been lost behind this member.
std::vector<Part> RingReduction::add(const Part& part) {
  if (buckets_[part.bucket].is_whole) return {};
  auto bytes = std::make_shared<AlignedBuffer>(length(part.bucket));
  const std::byte* own = contribution_.bytes->data() + offset(part.bucket);
  if (contribution_.dtype == DType::kInt64) {
    add_values<std::uint64_t>(part.values.bytes->data(), own, bytes->data(), bytes->size());
  } else {
    add_values<float>(part.values.bytes->data(), own, bytes->data(), bytes->size());
  }
  TensorBlob total = make_blob(contribution_.dtype, std::move(bytes));
  if (distance(part.bucket) == size() - 1) keep_whole(part.bucket, total);
  std::vector<Part> parts;
  parts.push_back(make_part(part.bucket, part.hop + 1, std::move(total)));
  return parts;
}

std::vector<Part> RingReduction::copy(const Part& part) {
  if (buckets_[part.bucket].is_whole) return {};
  keep_whole(part.bucket, part.values);
  std::vector<Part> parts;
  if (part.hop + 1 <= 2 * size() - 3) parts.push_back(make_part(part.bucket, part.hop + 1, part.values));
  return parts;
}

void RingReduction::keep_whole(std::size_t bucket, const TensorBlob& values) {
  CHECK(!buckets_[bucket].is_whole, "a bucket is completed once");
  std::memcpy(result_->data() + offset(bucket), values.bytes->data(), values.byte_count());
  buckets_[bucket].is_whole = true;
  ++done_count_;
}

std::vector<Part> RingReduction::repeat() const {
  std::vector<Part> parts = begin();
  if (size() == 1) return parts;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    const std::uint32_t from_start = distance(bucket);
    const bool passes_on = buckets_[bucket].is_whole && from_start != size() - 2;
    if (!passes_on) continue;
    auto bytes = std::make_shared<AlignedBuffer>(length(bucket));
    std::memcpy(bytes->data(), result_->data() + offset(bucket), bytes->size());
    const std::uint32_t hop = from_start == size() - 1 ? size() - 1 : size() + from_start;
    parts.push_back(make_part(bucket, hop, make_blob(contribution_.dtype, std::move(bytes))));
  }
  return parts;
}

TensorBlob RingReduction::sum() const {
  CHECK(is_complete(), "the sum of a ring that is not complete was read");
  if (size() == 1) return contribution_;
  return TensorBlob{contribution_.dtype, contribution_.shape, result_};
}

void HeldParts::hold(const Part& part) {
  drop_below(part.order.epoch);
  if (part.order.epoch == epoch_ && parts_.size() < count_max_) parts_.push_back(part);
}

void HeldParts::drop_below(const Epoch& epoch) {
  if (epoch <= epoch_) return;
  parts_.clear();
  epoch_ = epoch;
}

std::vector<Part> HeldParts::take(const Epoch& epoch) {
  drop_below(epoch);
  if (epoch < epoch_) return {};
  return std::exchange(parts_, {});
}

}  // namespace shoal
