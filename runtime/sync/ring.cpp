// One member's side of the ring. Hop arithmetic: a member at distance d from a bucket's start adds at hop d-1 (d > 0)
// and copies at hop R-1+d (d < R-1); the member at distance R-1 is the one that completes the sum.
#include "runtime/sync/ring.h"

#include <optional>
#include <utility>

namespace shoal {

RingReduction::RingReduction(ReductionSetup setup, TensorBlob contribution)
    : BucketReduction(std::move(setup), std::move(contribution)), passages_(sums_.count(), Passage::kAwaited) {}

std::uint32_t RingReduction::distance(std::size_t bucket) const {
  const auto start = static_cast<std::uint32_t>(bucket % size());
  return (own_index_ + size() - start) % size();
}

Incarnation RingReduction::successor() const { return setup_.members[(own_index_ + 1) % size()]; }

Incarnation RingReduction::predecessor() const { return setup_.members[(own_index_ + size() - 1) % size()]; }

std::vector<Incarnation> RingReduction::receivers() const {
  return size() == 1 ? std::vector<Incarnation>{} : std::vector{successor()};
}

AddressedPart RingReduction::pass_on(std::uint32_t bucket, std::uint32_t hop, TensorBlob values) {
  return send(successor(), {bucket, hop}, std::move(values));
}

std::vector<AddressedPart> RingReduction::begin() {
  std::vector<AddressedPart> parts;
  if (size() == 1) return parts;
  for (std::size_t bucket = own_index_; bucket < sums_.count(); bucket += size()) {
    passages_[bucket] = Passage::kPassed;
    parts.push_back(pass_on(static_cast<std::uint32_t>(bucket), 0, sums_.own(bucket)));
  }
  return parts;
}

bool RingReduction::is_acceptable(const Part& part) const {
  if (size() == 1 || part.order != setup_.order || part.bucket >= sums_.count()) return false;
  if (part.member != predecessor()) return false;
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

std::vector<AddressedPart> RingReduction::add(const Part& part) {
  Passage& passage = passages_[part.bucket];
  if (sums_.is_whole(part.bucket) || passage == Passage::kPassed) return {};
  auto total = sums_.plus_own(part.bucket, part.values);
  if (!total) {
    ++refused_count_;
    return {};
  }
  if (std::exchange(passage, Passage::kPassed) == Passage::kAwaited) took_part();
  if (distance(part.bucket) == size() - 1) keep_whole(part.bucket, *total);
  std::vector<AddressedPart> parts;
  parts.push_back(pass_on(part.bucket, part.hop + 1, std::move(*total)));
  return parts;
}

std::vector<AddressedPart> RingReduction::copy(const Part& part) {
  if (sums_.is_whole(part.bucket)) return {};
  keep_whole(part.bucket, part.values);
  took_part();
  std::vector<AddressedPart> parts;
  if (part.hop + 1 <= 2 * size() - 3) parts.push_back(pass_on(part.bucket, part.hop + 1, part.values));
  return parts;
}

void RingReduction::keep_whole(std::size_t bucket, const TensorBlob& values) {
  sums_.keep_whole(bucket, values);
  if (distance(bucket) != size() - 2) sums_.remember(bucket, values);
}

std::optional<PartId> RingReduction::lacks(std::size_t bucket, Incarnation sender) const {
  if (sender != predecessor() || sums_.is_whole(bucket)) return std::nullopt;
  const std::uint32_t from_start = distance(bucket);
  const bool lacks_partial = from_start > 0 && passages_[bucket] != Passage::kPassed;
  return PartId{static_cast<std::uint32_t>(bucket), lacks_partial ? from_start - 1 : size() - 1 + from_start};
}

// Whatever is lost farther ahead, who lacks it asks for itself.
void RingReduction::give_again(Incarnation receiver, const PartId& id, SentAgain& answer) {
  const std::uint32_t from_start = distance(id.bucket);
  if (receiver != successor()) return;
  const bool is_whole = sums_.is_whole(id.bucket);
  if (id.hop == (from_start + 1) % size() + size() - 1 && from_start != size() - 2) {
    if (is_whole) answer.parts.push_back(pass_on(id.bucket, id.hop, sums_.sent_again(id.bucket)));
  } else if (id.hop == from_start && from_start != size() - 1 && !is_whole) {
    if (from_start == 0) {
      answer.parts.push_back(pass_on(id.bucket, 0, sums_.own(id.bucket)));
    } else if (passages_[id.bucket] == Passage::kPassed) {
      passages_[id.bucket] = Passage::kAwaitedAgain;
      ask_predecessor({id.bucket, id.hop - 1}, answer);
    }
  }
}

void RingReduction::ask_predecessor(const PartId& id, SentAgain& answer) const {
  if (answer.questions.empty()) answer.questions.push_back({setup_.order, setup_.self, predecessor(), kAnyMark, {}});
  answer.questions.front().parts.push_back(id);
}

}  // namespace shoal
