// When a member tells its group how far its sum has come: about twice a second while it comes closer, and only then, so
// that what is slow is not taken for what stands still (SumAgreement). Pure: time comes in.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/clock.h"
#include "runtime/sync/reduction.h"

namespace shoal {

class SumProgress {
 public:
  static constexpr Duration kPause = std::chrono::milliseconds(500);

  // Part of a part came: one takes long on a slow way.
  void piece_came() { ++pieces_; }
  // Returns what to say of it now. The first pause begins with the first look: most sums are done before it ends.
  [[nodiscard]] std::optional<Progress> of(const GroupReduction& sum, Incarnation self, Instant now) {
    const std::uint64_t parts = sum.parts_taken() + pieces_;
    if (!told_at_) told_at_ = now;
    if (parts <= told_ || now - *told_at_ < kPause) return std::nullopt;
    told_at_ = now;
    told_ = parts;
    return Progress{sum.order(), self, 0, parts};
  }

 private:
  std::uint64_t pieces_ = 0;
  std::uint64_t told_ = 0;
  std::optional<Instant> told_at_;
};

}  // namespace shoal
