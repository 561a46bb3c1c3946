// The id travels as a tensor of bytes, on the lane of parts.
#include "runtime/sync/collective/collective_reduction.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/ensure.h"
#include "runtime/sync/bucket_sums.h"

namespace shoal {
namespace {

[[nodiscard]] TensorBlob blob_of(const std::string& text) {
  auto bytes = std::make_shared<AlignedBuffer>(text.size());
  std::memcpy(bytes->data(), text.data(), text.size());
  return {DType::kUint8, {static_cast<std::int64_t>(text.size())}, std::move(bytes)};
}

}  // namespace

CollectiveReduction::CollectiveReduction(ReductionSetup setup, const Epoch& communicator, TensorBlob contribution)
    : setup_(std::move(setup)) {
  ENSURE(contribution.has_value(), "a reduction needs a contribution");
  order_ = {
      setup_.order, communicator,           index_of_self(setup_), static_cast<std::uint32_t>(setup_.members.size()),
      {},           std::move(contribution)};
}

std::vector<AddressedPart> CollectiveReduction::begin() {
  is_due_ = !awaits_id();
  return {};
}

std::optional<CollectiveSum> CollectiveReduction::take_order() {
  if (!std::exchange(is_due_, false)) return std::nullopt;
  return order_;
}

AddressedPart CollectiveReduction::id_for(Incarnation member) const {
  return {member, Part{setup_.order, setup_.self, 0, 0, blob_of(id_)}};
}

std::vector<AddressedPart> CollectiveReduction::hear(const CollectiveIdMade& made) {
  std::vector<AddressedPart> parts;
  if (made.order != setup_.order || !is_first() || !id_.empty()) return parts;
  id_ = made.id;
  ++steps_;
  for (const Incarnation member : setup_.members) {
    if (member != setup_.self) parts.push_back(id_for(member));
  }
  return parts;
}

void CollectiveReduction::hear(const CollectiveSummed& summed) {
  if (summed.order != setup_.order || is_complete()) return;
  sum_ = summed.sum;
  ++steps_;
}

std::vector<AddressedPart> CollectiveReduction::receive(const Part& part) {
  const bool is_id = part.order == setup_.order && part.member == setup_.members.front() && !is_first() &&
                     order_.makes_communicator() && part.bucket == 0 && part.hop == 0 && part.values.bytes &&
                     part.values.dtype == DType::kUint8 && part.values.byte_count() == kCollectiveIdBytes;
  if (!is_id) {
    ++refused_count_;
  } else if (awaits_id()) {
    order_.id.assign(part.values.as<char>(), kCollectiveIdBytes);
    is_due_ = true;
    ++steps_;
  }
  return {};
}

std::vector<AddressedMark> CollectiveReduction::mark() {
  std::vector<AddressedMark> marks;
  if (id_.empty()) return marks;
  for (const Incarnation member : setup_.members) {
    if (member == setup_.self) continue;
    marks.push_back({member, PartsSent{setup_.order, setup_.self, 1, blob_of(std::string(1, '\0'))}});
  }
  return marks;
}

std::optional<MissingParts> CollectiveReduction::missing(const PartsSent& mark) const {
  const bool is_of_first = mark.order == setup_.order && mark.member == setup_.members.front();
  if (!is_of_first || !awaits_id()) return std::nullopt;
  return MissingParts{setup_.order, setup_.self, mark.member, mark.mark, {PartId{}}};
}

SentAgain CollectiveReduction::send_again(const MissingParts& question) {
  const auto& members = setup_.members;
  const bool is_meant = question.order == setup_.order && question.holder == setup_.self && !id_.empty() &&
                        question.parts == std::vector{PartId{}} && question.member != setup_.self &&
                        std::ranges::find(members, question.member) != members.end();
  if (!is_meant) return {};
  return {{id_for(question.member)}, {}};
}

TensorBlob CollectiveReduction::sum() const {
  ENSURE(is_complete(), "the sum of a reduction that is not complete was read");
  return sum_;
}

}  // namespace shoal
