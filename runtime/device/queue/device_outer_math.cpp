// Block values of whole arrays are computed, and those of the wanted tensors digested: a device reads its memory at
// once.
#include "runtime/device/queue/device_outer_math.h"

#include <ATen/ops/zeros.h>

#include "runtime/device/digest.h"
#include "runtime/device/host_tensor.h"

namespace shoal {
namespace {

std::size_t blocks_of(const FlatTensor& tensor) { return digest_blocks(tensor.count * sizeof(float)); }

// The first block of each tensor among those of an array.
std::vector<std::size_t> first_blocks(const FlatLayout& layout) {
  std::vector<std::size_t> firsts;
  std::size_t first = 0;
  for (const FlatTensor& tensor : layout.tensors) {
    firsts.push_back(first);
    first += blocks_of(tensor);
  }
  return firsts;
}

}  // namespace

OuterMath::Values DeviceOuterMath::zeros(std::size_t count) {
  memory_.push_back(at::zeros({static_cast<std::int64_t>(count)}, at::TensorOptions(at::kFloat).device(device_)));
  return {memory_.back().mutable_data_ptr<float>(), count};
}

void DeviceOuterMath::copy(ConstValues from, Values to) const {
  tensor_over(to, device_).copy_(tensor_over(from, device_));
}

void DeviceOuterMath::clear(Values values) const { tensor_over(values, device_).zero_(); }

std::uint64_t DeviceOuterMath::digest(const Digested& of) const {
  const std::vector<std::size_t> firsts = first_blocks(of.layout);
  Digest digest;
  for (const ConstValues array : of.arrays) {
    const at::Tensor values = flat_.block_values(tensor_over(array, device_)).cpu();
    const auto* const first = reinterpret_cast<const std::uint64_t*>(values.const_data_ptr<std::int64_t>());
    for (const std::size_t index : of.tensors) {
      digest.add_values({first + firsts[index], blocks_of(of.layout.tensors[index])});
    }
  }
  return digest.value();
}

}  // namespace shoal
