// One member's side of the ring. Hop arithmetic: a member at distance d from a bucket's start adds at hop d-1 (d > 0)
// and copies at hop R-1+d (d < R-1); the member at distance R-1 is the one that completes the sum.
#include "runtime/sync/ring.h"

#include <utility>

namespace shoal {

RingReduction::RingReduction(ReductionSetup setup, TensorBlob contribution)
    : BucketReduction(std::move(setup), std::move(contribution)) {}

std::uint32_t RingReduction::distance(std::size_t bucket) const {
  const auto start = static_cast<std::uint32_t>(bucket % size());
  return (own_index_ + size() - start) % size();
}

Incarnation RingReduction::successor() const { return setup_.members[(own_index_ + 1) % size()]; }

AddressedPart RingReduction::make_part(std::size_t bucket, std::uint32_t hop, TensorBlob values) const {
  return {successor(), Part{setup_.order, setup_.self, static_cast<std::uint32_t>(bucket), hop, std::move(values)}};
}

std::vector<AddressedPart> RingReduction::begin() {
  std::vector<AddressedPart> parts;
  if (size() == 1) return parts;
  for (std::size_t bucket = own_index_; bucket < sums_.count(); bucket += size()) {
    parts.push_back(make_part(bucket, 0, sums_.own(bucket)));
  }
  return parts;
}

bool RingReduction::is_acceptable(const Part& part) const {
  if (size() == 1 || part.order != setup_.order || part.bucket >= sums_.count()) return false;
  if (part.member != setup_.members[(own_index_ + size() - 1) % size()]) return false;
  const std::uint32_t from_start = distance(part.bucket);
  const bool adds = from_start > 0 && part.hop == from_start - 1;
  const bool copies = from_start < size() - 1 && part.hop == size() - 1 + from_start;
  return (adds || copies) && sums_.fits(part.bucket, part.values);
}

std::vector<AddressedPart> RingReduction::receive(const Part& part) {
  if (!is_acceptable(part)) {
    ++refused_count_;
    return {};
  }
  return part.hop < size() - 1 ? add(part) : copy(part);
}

// Added again when it comes again: what it became may have been lost behind this member.
std::vector<AddressedPart> RingReduction::add(const Part& part) {
  if (sums_.is_whole(part.bucket)) return {};
  auto total = sums_.plus_own(part.bucket, part.values);
  if (!total) {
    ++refused_count_;
    return {};
  }
  if (distance(part.bucket) == size() - 1) keep_whole(part.bucket, *total);
  std::vector<AddressedPart> parts;
  parts.push_back(make_part(part.bucket, part.hop + 1, std::move(*total)));
  return parts;
}

std::vector<AddressedPart> RingReduction::copy(const Part& part) {
  if (sums_.is_whole(part.bucket)) return {};
  keep_whole(part.bucket, part.values);
  std::vector<AddressedPart> parts;
  if (part.hop + 1 <= 2 * size() - 3) parts.push_back(make_part(part.bucket, part.hop + 1, part.values));
  return parts;
}

void RingReduction::keep_whole(std::size_t bucket, const TensorBlob& values) {
  sums_.keep_whole(bucket, values);
  if (distance(bucket) != size() - 2) sums_.remember(bucket, values);
}

std::vector<AddressedPart> RingReduction::repeat() {
  std::vector<AddressedPart> parts = begin();
  if (size() == 1) return parts;
  for (std::size_t bucket = 0; bucket < sums_.count(); ++bucket) {
    const std::uint32_t from_start = distance(bucket);
    const bool passes_on = sums_.is_whole(bucket) && from_start != size() - 2;
    if (!passes_on) continue;
    const std::uint32_t hop = from_start == size() - 1 ? size() - 1 : size() + from_start;
    parts.push_back(make_part(bucket, hop, sums_.sent_again(bucket)));
  }
  return parts;
}

}  // namespace shoal
