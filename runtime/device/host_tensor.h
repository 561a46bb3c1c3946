// Tensors of torch over memory that it has not allocated: between a TensorBlob and a tensor, and over arrays.
// Borrowing keeps the blob's bytes alive and aligned as they came; copies are aligned anew.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <ATen/core/Tensor.h>

#include "messages/tensor_blob.h"

namespace shoal {

// A tensor over the blob's bytes, which live as long as the tensor. Never to be written to. Float32, int32 or int64;
// Ensures that shape and bytes agree.
[[nodiscard]] at::Tensor borrow(const TensorBlob& blob);

// A tensor over an array in the device's memory, which must outlive it; float32 [n].
[[nodiscard]] at::Tensor tensor_over(std::span<const float> values, at::Device device);

// Copies the bytes of a tensor that is on the host and dense, those from `begin` on.
[[nodiscard]] std::shared_ptr<AlignedBuffer> copied_bytes(const at::Tensor& tensor, std::size_t begin = 0);

// A copy, contiguous. Float32 or int64.
[[nodiscard]] TensorBlob to_blob(const at::Tensor& tensor);

}  // namespace shoal
