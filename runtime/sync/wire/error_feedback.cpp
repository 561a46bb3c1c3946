// Blobs are shared and never written, so the corrected contribution is a copy.
#include "runtime/sync/wire/error_feedback.h"

#include <cstring>
#include <utility>

#include "runtime/base/ensure.h"
#include "runtime/sync/wire/wire_kernels.h"

namespace shoal {

TensorBlob ErrorFeedback::corrected(std::uint64_t chain, const TensorBlob& contribution) const {
  const auto found = residuals_.find(chain);
  if (found == residuals_.end()) return contribution;
  ENSURE(contribution.dtype == DType::kFloat32 && found->second.byte_count() == contribution.byte_count(),
         "a residual has the size of its fragment");
  auto bytes = std::make_shared<AlignedBuffer>(contribution.byte_count());
  std::memcpy(bytes->data(), contribution.bytes->data(), bytes->size());
  add_floats(found->second.as<float>(), reinterpret_cast<float*>(bytes->data()),
             static_cast<std::size_t>(contribution.element_count()) / part_count_);
  return TensorBlob{DType::kFloat32, contribution.shape, std::move(bytes)};
}

void ErrorFeedback::keep(std::uint64_t chain, TensorBlob residual) {
  residuals_.erase(chain);
  if (residual.has_value()) residuals_.emplace(chain, std::move(residual));
}

}  // namespace shoal
