// One member's side of a sum that a library makes on its device: when which order is handed to the library.
//
//   first member: order without an id ──▶ CollectiveIdMade ──Part, the id──▶ every other member: order with it
//   on a kept communicator: every member hands its order in at once, and no part travels
//
// The id is the only part of such a sum: bucket 0, hop 0. It is asked for and sent again as parts are (P-18a); a
// repeated one changes nothing. It works on int64, whose sums are exact whatever order the library adds in, and on
// float32, where equal digests show that all members have the same bits (P-19). Pure: whoever drives it takes orders
// out, tells news.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/sync/collective/collective.h"
#include "runtime/sync/reduction.h"

namespace shoal {

class CollectiveReduction final : public GroupReduction {
 public:
  // Ensures that self is a member, once. communicator: the order's epoch, where one is to be made.
  CollectiveReduction(ReductionSetup setup, const Epoch& communicator, TensorBlob contribution);

  // For the library, now; at most once.
  [[nodiscard]] std::optional<CollectiveSum> take_order();
  // Takes what came of it. News of another order change nothing.
  [[nodiscard]] std::vector<AddressedPart> hear(const CollectiveIdMade& made);
  void hear(const CollectiveSummed& summed);

  [[nodiscard]] std::vector<AddressedPart> begin() override;
  [[nodiscard]] std::vector<AddressedPart> receive(const Part& part) override;
  [[nodiscard]] std::vector<AddressedMark> mark() override;
  [[nodiscard]] std::optional<MissingParts> missing(const PartsSent& mark) const override;
  [[nodiscard]] SentAgain send_again(const MissingParts& question) override;
  [[nodiscard]] std::uint64_t parts_taken() const override { return steps_; }
  [[nodiscard]] bool is_complete() const override { return sum_.has_value(); }
  [[nodiscard]] TensorBlob sum() const override;
  [[nodiscard]] TensorBlob residual() const override { return {}; }
  [[nodiscard]] std::uint64_t refused_count() const override { return refused_count_; }
  [[nodiscard]] const OrderId& order() const override { return setup_.order; }

 private:
  [[nodiscard]] bool is_first() const { return setup_.members.front() == setup_.self; }
  [[nodiscard]] bool awaits_id() const { return order_.makes_communicator() && !is_first() && order_.id.empty(); }
  [[nodiscard]] AddressedPart id_for(Incarnation member) const;

  ReductionSetup setup_;
  CollectiveSum order_;
  bool is_due_ = false;  // take_order() gives it
  std::string id_;       // of the communicator that this member has begun
  TensorBlob sum_;
  std::uint64_t steps_ = 0;  // that brought the sum closer: the id, its end
  std::uint64_t refused_count_ = 0;
};

}  // namespace shoal
