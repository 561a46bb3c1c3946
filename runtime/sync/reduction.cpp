// The only place that knows which backends there are; and the parts that wait for one.
#include "runtime/sync/reduction.h"

#include <algorithm>
#include <span>
#include <utility>

#include "runtime/sync/alone.h"
#include "runtime/sync/owner.h"
#include "runtime/sync/ring.h"
#include "runtime/sync/wire/wire_codec.h"

namespace shoal {

Result<std::unique_ptr<GroupReduction>> make_reduction(SyncBackend backend, ReductionSetup setup,
                                                       TensorBlob contribution) {
  const bool is_encoded = contribution.dtype == DType::kFloat32 && setup.wire != WireFormat::kFp32;
  if (is_encoded) {
    const std::span values(contribution.as<float>(), static_cast<std::size_t>(contribution.element_count()));
    if (!are_within(values, kContributionMax)) {
      return fail(Error::kInvalidData, "the contribution has values that are no numbers, or beyond 2^90");
    }
  }
  if (backend == SyncBackend::kRing && contribution.dtype == DType::kInt64) {
    const std::size_t even = bucket_bytes_of_ring(contribution.byte_count(), setup.members.size());
    setup.bucket_bytes = std::min(setup.bucket_bytes, even);
  }
  std::unique_ptr<GroupReduction> made;
  if (setup.members.size() == 1 && !is_encoded) {
    ENSURE(setup.members.front() == setup.self, "self is among the members");
    made = std::make_unique<AloneReduction>(setup.order, std::move(contribution));
    return made;
  }
  switch (backend) {
    case SyncBackend::kRing: made = std::make_unique<RingReduction>(std::move(setup), std::move(contribution)); break;
    case SyncBackend::kNccl: break;  // CollectiveReduction: it needs a communicator
    case SyncBackend::kOwner: made = std::make_unique<OwnerReduction>(std::move(setup), std::move(contribution)); break;
  }
  ENSURE(made != nullptr, "a backend that exists");
  return made;
}

double analytic_bytes(WireFormat wire, std::uint64_t value_count, std::uint64_t member_count) {
  const double vector_bytes = static_cast<double>(value_count) * bits_per_value(wire) / 8;
  return 2 * static_cast<double>(member_count - 1) * vector_bytes;
}

void HeldParts::hold(const Part& part) {
  drop_below(part.order.epoch);
  if (part.order.epoch == epoch_ && !bound_->is_reached_by(parts_.size())) parts_.push_back(part);
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
