// Borrows bytes inwards, copies outwards.
#include "runtime/device/host_tensor.h"

#include <cstring>
#include <memory>

#include <ATen/ops/from_blob.h>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

at::ScalarType scalar_type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return at::kFloat;
    case DType::kInt32: return at::kInt;
    case DType::kInt64: return at::kLong;
    case DType::kUint8: return at::kByte;
  }
  return at::kByte;
}

}  // namespace

at::Tensor borrow(const TensorBlob& blob) {
  ENSURE(blob.has_value(), "a tensor was sent");
  std::int64_t elements = 1;
  for (const std::int64_t extent : blob.shape) {
    ENSURE(extent >= 0 && (extent == 0 || elements <= blob.element_count() / extent), "shape and bytes agree");
    elements *= extent;
  }
  ENSURE(elements == blob.element_count(), "shape and bytes agree");
  auto* data = const_cast<std::byte*>(blob.bytes->data());  // torch has no tensor of const memory
  const auto keep = [bytes = blob.bytes](void* /*data*/) {};
  return at::from_blob(data, blob.shape, keep, at::TensorOptions().dtype(scalar_type_of(blob.dtype)));
}

at::Tensor tensor_over(std::span<const float> values, at::Device device) {
  return at::for_blob(const_cast<float*>(values.data()), {static_cast<std::int64_t>(values.size())})
      .options(at::TensorOptions(at::kFloat).device(device))
      .target_device(device)
      .make_tensor();
}

std::shared_ptr<AlignedBuffer> copied_bytes(const at::Tensor& tensor, std::size_t begin) {
  auto bytes = std::make_shared<AlignedBuffer>(tensor.nbytes() - begin);
  const auto* from = static_cast<const std::byte*>(tensor.const_data_ptr());
  if (bytes->size() > 0) std::memcpy(bytes->data(), from + begin, bytes->size());
  return bytes;
}

TensorBlob to_blob(const at::Tensor& tensor) {
  ENSURE(tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kLong, "a type that has a wire form");
  const at::Tensor dense = tensor.contiguous();
  const DType dtype = tensor.scalar_type() == at::kFloat ? DType::kFloat32 : DType::kInt64;
  return {dtype, dense.sizes().vec(), copied_bytes(dense)};
}

}  // namespace shoal
