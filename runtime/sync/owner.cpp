// One member's side: the sender of its own values to each owner, and the owner of its share of the buckets.
#include "runtime/sync/owner.h"

#include <algorithm>
#include <utility>

namespace shoal {
namespace {

constexpr std::uint32_t kToOwner = 0;
constexpr std::uint32_t kFromOwner = 1;

}  // namespace

OwnerReduction::OwnerReduction(ReductionSetup setup, TensorBlob contribution)
    : BucketReduction(std::move(setup), std::move(contribution)),
      window_(setup_.window != 0 ? setup_.window : kOwnerWindow) {}

AddressedPart OwnerReduction::own_part(std::size_t bucket) {
  return send(owner(bucket), {static_cast<std::uint32_t>(bucket), kToOwner}, sums_.own(bucket));
}

AddressedPart OwnerReduction::sum_part(std::size_t bucket, Incarnation receiver, TensorBlob values) {
  return send(receiver, {static_cast<std::uint32_t>(bucket), kFromOwner}, std::move(values));
}

std::size_t OwnerReduction::index_of(Incarnation member) const {
  const auto& members = setup_.members;
  return static_cast<std::size_t>(std::find(members.begin(), members.end(), member) - members.begin());
}

std::vector<Incarnation> OwnerReduction::receivers() const {
  std::vector<Incarnation> others = setup_.members;
  std::erase(others, setup_.self);
  return others;
}

std::vector<AddressedPart> OwnerReduction::send_more() {
  std::vector<AddressedPart> parts;
  if (size() == 1) return parts;
  for (; next_ < sums_.count() && under_way_ < window_; ++next_) {
    if (is_ours(next_)) continue;
    parts.push_back(own_part(next_));
    ++under_way_;
  }
  kOwnerWindow.reached_if(next_ < sums_.count());
  return parts;
}

bool OwnerReduction::is_acceptable(const Part& part) const {
  if (size() == 1 || part.order != setup_.order || part.bucket >= sums_.count()) return false;
  const bool is_contribution = part.hop == kToOwner && is_ours(part.bucket) && is_other_member(part.member);
  // A sum of a bucket this member has not begun cannot be: it lacks this member's values.
  const bool is_sum =
      part.hop == kFromOwner && !is_ours(part.bucket) && part.member == owner(part.bucket) && part.bucket < next_;
  return (is_contribution || is_sum) && sums_.fits(part.bucket, part.values);
}

std::vector<AddressedPart> OwnerReduction::receive(const Part& part) {
  if (!is_acceptable(part)) {
    ++refused_count_;
    return {};
  }
  if (part.hop == kToOwner) return gather(part);
  if (sums_.is_whole(part.bucket)) return {};
  sums_.keep_whole(part.bucket, part.values);
  took_part();
  --under_way_;
  return send_more();
}

std::vector<AddressedPart> OwnerReduction::gather(const Part& part) {
  if (sums_.is_whole(part.bucket)) return {};
  Gathered& gathered = gathered_[part.bucket];
  gathered.values.resize(size());
  const std::size_t from = index_of(part.member);
  if (gathered.values[from].has_value()) return {};
  gathered.values[from] = part.values;
  ++gathered.count;
  took_part();
  return gathered.count == size() - 1 ? conclude(part.bucket) : std::vector<AddressedPart>{};
}

// Beyond range, the bucket waits for other contributions: honest ones never add up to that (kContributionMax).
std::vector<AddressedPart> OwnerReduction::conclude(std::size_t bucket) {
  const auto sum = sums_.total(bucket, gathered_[bucket].values, own_index_);
  gathered_.erase(bucket);
  if (!sum) {
    ++refused_count_;
    return {};
  }
  sums_.keep_whole(bucket, *sum);
  sums_.remember(bucket, *sum);
  std::vector<AddressedPart> parts;
  for (const Incarnation member : setup_.members) {
    if (member != setup_.self) parts.push_back(sum_part(bucket, member, *sum));
  }
  return parts;
}

std::optional<PartId> OwnerReduction::lacks(std::size_t bucket, Incarnation sender) const {
  const auto number = static_cast<std::uint32_t>(bucket);
  if (sums_.is_whole(bucket)) return std::nullopt;
  if (!is_ours(bucket)) {
    const bool is_under_way = owner(bucket) == sender && bucket < next_;
    return is_under_way ? std::optional(PartId{number, kFromOwner}) : std::nullopt;
  }
  const auto gathered = gathered_.find(bucket);
  const bool is_here = gathered != gathered_.end() && gathered->second.values[index_of(sender)].has_value();
  return is_here ? std::nullopt : std::optional(PartId{number, kToOwner});
}

void OwnerReduction::give_again(Incarnation receiver, const PartId& id, SentAgain& answer) {
  const bool is_whole = sums_.is_whole(id.bucket);
  if (id.hop == kToOwner && owner(id.bucket) == receiver && id.bucket < next_ && !is_whole) {
    answer.parts.push_back(own_part(id.bucket));
  } else if (id.hop == kFromOwner && is_ours(id.bucket) && is_whole) {
    answer.parts.push_back(sum_part(id.bucket, receiver, sums_.sent_again(id.bucket)));
  }
}

}  // namespace shoal
