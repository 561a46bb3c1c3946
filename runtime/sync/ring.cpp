// One member's side of the ring. Hop arithmetic: a member at distance d from a bucket's start adds at hop d-1 (d > 0)
// and copies at hop R-1+d (d < R-1); the member at distance R-1 is the one that completes the sum.
#include "runtime/sync/ring.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace shoal {
namespace {

// Whichever link is slow, buckets of all members wait before it, each as it was encoded or as int64 or float32.
[[nodiscard]] std::size_t window_of(const ReductionSetup& setup) {
  if (setup.window != 0) return setup.window;
  return std::max<std::size_t>(1, kRingBytes / (setup.members.size() * setup.bucket_bytes));
}

}  // namespace

std::size_t bucket_bytes_of_ring(std::uint64_t sum_bytes, std::size_t members) {
  constexpr std::uint64_t kStartedByEach = 4;
  constexpr std::uint64_t kLeastBytes = std::uint64_t{32} << 10U;  // beside which a letter's own bytes count little
  constexpr std::uint64_t kWhole = 4096;
  const std::uint64_t pieces = kStartedByEach * std::max<std::size_t>(members, 1);
  const std::uint64_t even = (sum_bytes / pieces / kWhole + 1) * kWhole;
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(even, kLeastBytes, kBucketBytes));
}

RingReduction::RingReduction(ReductionSetup setup, TensorBlob contribution)
    : BucketReduction(std::move(setup), std::move(contribution)),
      passages_(sums_.count(), Passage::kAwaited),
      window_(window_of(setup_)),
      next_(own_index_) {}

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

std::vector<AddressedPart> RingReduction::start_more() {
  std::vector<AddressedPart> parts;
  if (size() == 1) return parts;
  for (; next_ < sums_.count() && under_way_ < window_; next_ += size(), ++under_way_) {
    passages_[next_] = Passage::kPassed;
    parts.push_back(pass_on(static_cast<std::uint32_t>(next_), 0, sums_.own(next_)));
  }
  kRingBytes.reached_if(next_ < sums_.count());
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
  if (distance(part.bucket) == 0) {
    --under_way_;
    std::ranges::move(start_more(), std::back_inserter(parts));
  }
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

// Whatever is lost farther ahead, who lacks it asks for itself. Who is whole gives the whole, whatever was asked for: a
// partial sum may have been late, and what it became lost.
void RingReduction::give_again(Incarnation receiver, const PartId& id, SentAgain& answer) {
  if (receiver != successor()) return;
  const std::uint32_t from_start = distance(id.bucket);
  const std::uint32_t whole_hop = (from_start + 1) % size() + size() - 1;
  const bool is_for_partial = id.hop == from_start && from_start != size() - 1;
  if (!is_for_partial && id.hop != whole_hop) return;
  if (sums_.is_whole(id.bucket)) {
    const bool is_kept = from_start != size() - 2;  // the successor made it
    if (is_kept) answer.parts.push_back(pass_on(id.bucket, whole_hop, sums_.sent_again(id.bucket)));
  } else if (is_for_partial && passages_[id.bucket] == Passage::kPassed) {
    if (from_start == 0) {
      answer.parts.push_back(pass_on(id.bucket, 0, sums_.own(id.bucket)));
    } else {
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
