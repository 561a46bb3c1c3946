// The accumulators of a step on a device, and the mean they become.
//
// Accumulators and mean have the bits of the processor's kernels (model/update_kernels.h), whatever the device's
// arithmetic is. A value out of range is not added, and nobody waits to see it: the tensor's flag is read with the
// job's figures.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/tensor_blob.h"
#include "runtime/base/config.h"
#include "runtime/device/flat_layout.h"
#include "runtime/device/queue/math/flat_math.h"
#include "runtime/device/queue/queued_tensor.h"
#include "runtime/executor/stage_executor.h"

namespace shoal {

// copies: the layout of a copy in bf16, where one is kept.
[[nodiscard]] std::vector<FlatSpan> spans_of(const FlatLayout& layout, const FlatLayout* copies = nullptr);

// The end of a group of tensors from `first` on, of at most so many bytes of gradients, or of one tensor.
[[nodiscard]] std::size_t end_of_group(const FlatLayout& layout, std::size_t first, std::size_t bytes);

class DeviceSums {
 public:
  struct Place {
    at::Device device;
    const DeviceMath& math;
  };
  // Within a turn of the device's queue, as all calls. `layout` and the place's math must outlive this.
  DeviceSums(const FlatLayout& layout, Reduction reduction, std::uint64_t planned_tokens, const Place& place);

  // Adds one microbatch's gradients of tensors first, first + 1, ... of the layout, each where all of it is within
  // range. Returns bool [gradients]: it was.
  [[nodiscard]] at::Tensor add(std::size_t first, std::span<const at::Tensor> gradients,
                               std::uint64_t microbatch_tokens);
  // Begins anew: in other memory while what values() gave away is held, else in the same.
  void clear();

  // The adopted sum was given as this tensor; none: as bytes. Others may hold it, such as letters to a joiner.
  void adopted_from(const std::shared_ptr<const QueuedTensor>& sum) { adopted_ = sum; }
  // Others who hold the adopted sum find it on the host from here on: on the device it would lie beside the next step's
  // activations, for which the memory is planned. Waits where there are any.
  void leave_to_readers();

  // The accumulators themselves, [layout.size], int64 (exact) or float32 (fast). Who holds them reads this step's sum.
  [[nodiscard]] const at::Tensor& values() const { return sums_; }
  // sum: of their type and size, on the device. Waits.
  [[nodiscard]] ReducedSum adopt(const at::Tensor& sum, std::uint64_t token_count);
  [[nodiscard]] bool has_mean() const { return has_mean_; }
  // Float32 [layout.size].
  [[nodiscard]] const at::Tensor& mean() const { return mean_; }
  [[nodiscard]] at::Tensor mean_of(const FlatTensor& tensor) const;

 private:
  [[nodiscard]] bool is_exact() const { return sums_.scalar_type() == at::kLong; }

  const FlatLayout& layout_;
  const DeviceMath& math_;
  std::unique_ptr<FlatMath> flat_math_;
  int fraction_bits_;
  at::Tensor sums_;
  at::Tensor mean_;  // float32
  bool has_mean_ = false;
  std::weak_ptr<const QueuedTensor> adopted_;
};

}  // namespace shoal
