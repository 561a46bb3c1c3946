// The sum of a group of one member: its own contribution, as it is, wherever it lies.
// Nothing is copied or sent, so that a device's accumulators never leave it.
#pragma once

#include <utility>

#include "runtime/sync/reduction.h"

namespace shoal {

class AloneReduction final : public GroupReduction {
 public:
  AloneReduction(const OrderId& order, TensorBlob contribution)
      : order_(order), contribution_(std::move(contribution)) {}

  [[nodiscard]] std::vector<AddressedPart> begin() override { return {}; }
  [[nodiscard]] std::vector<AddressedPart> receive(const Part& /*part*/) override {
    ++refused_;
    return {};
  }
  [[nodiscard]] std::vector<AddressedMark> mark() override { return {}; }
  [[nodiscard]] std::optional<MissingParts> missing(const PartsSent& /*mark*/) const override { return std::nullopt; }
  [[nodiscard]] SentAgain send_again(const MissingParts& /*question*/) override { return {}; }
  [[nodiscard]] std::uint64_t parts_taken() const override { return 0; }
  [[nodiscard]] bool is_complete() const override { return true; }
  [[nodiscard]] TensorBlob sum() const override { return contribution_; }
  [[nodiscard]] TensorBlob residual() const override { return {}; }
  [[nodiscard]] std::uint64_t refused_count() const override { return refused_; }
  [[nodiscard]] const OrderId& order() const override { return order_; }

 private:
  OrderId order_;
  TensorBlob contribution_;
  std::uint64_t refused_ = 0;
};

}  // namespace shoal
