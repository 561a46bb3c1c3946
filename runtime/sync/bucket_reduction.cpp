// Marks, and what is lost when one comes.
#include "runtime/sync/bucket_reduction.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace shoal {
namespace {

// Returns one byte, zero: a mark goes the way of parts because it has a tensor.
[[nodiscard]] TensorBlob one_byte() {
  auto bytes = std::make_shared<AlignedBuffer>(1);
  *bytes->data() = std::byte{0};
  return {DType::kUint8, {1}, std::move(bytes)};
}

}  // namespace

bool BucketReduction::is_other_member(Incarnation member) const {
  const auto& members = setup_.members;
  return member != setup_.self && std::find(members.begin(), members.end(), member) != members.end();
}

AddressedPart BucketReduction::send(Incarnation receiver, const PartId& id, TensorBlob values) {
  SentTo& sent = sent_[receiver];
  if (sent.marks > 0) sent.behind[id] = sent.marks;
  return {receiver, Part{setup_.order, setup_.self, id.bucket, id.hop, std::move(values)}};
}

std::vector<AddressedMark> BucketReduction::mark() {
  std::vector<AddressedMark> marks;
  for (const Incarnation receiver : receivers()) {
    const std::uint32_t number = ++sent_[receiver].marks;
    marks.push_back({receiver, PartsSent{setup_.order, setup_.self, number, one_byte()}});
  }
  return marks;
}

std::optional<MissingParts> BucketReduction::missing(const PartsSent& mark) const {
  if (mark.order != setup_.order || !is_other_member(mark.member)) return std::nullopt;
  MissingParts question{setup_.order, setup_.self, mark.member, mark.mark, {}};
  for (std::size_t bucket = 0; bucket < sums_.count(); ++bucket) {
    if (const auto lacking = lacks(bucket, mark.member)) question.parts.push_back(*lacking);
  }
  return question.parts.empty() ? std::nullopt : std::optional(std::move(question));
}

bool BucketReduction::is_in_earnest(const MissingParts& question) const {
  const auto rises = [](const PartId& one, const PartId& next) { return one.bucket >= next.bucket; };
  const auto& parts = question.parts;
  return question.order == setup_.order && question.holder == setup_.self && is_other_member(question.member) &&
         !parts.empty() && parts.back().bucket < sums_.count() &&
         std::adjacent_find(parts.begin(), parts.end(), rises) == parts.end();
}

SentAgain BucketReduction::send_again(const MissingParts& question) {
  SentAgain answer;
  if (!is_in_earnest(question)) return answer;
  const auto& behind = sent_[question.member].behind;
  for (const PartId& id : question.parts) {
    const auto sent = behind.find(id);
    const bool is_on_its_way = sent != behind.end() && sent->second >= question.mark;
    if (!is_on_its_way) give_again(question.member, id, answer);
  }
  return answer;
}

}  // namespace shoal
