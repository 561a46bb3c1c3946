// Layout of a stage's tensors in its flat buffers: weights, averages, accumulators, mean.
//
// Tensors are in the order of their names; each starts at a multiple of 16 elements, so that in every buffer it starts
// at a multiple of 64 bytes whatever the cut (equal bits of vectorised kernels need equal alignment). The elements
// between tensors are zero and stay zero.
//
// Copies of the weights in bf16 have a layout of their own. Libraries of products look at addresses up to 256 bytes
// when they choose an algorithm, so there each tensor starts at a multiple of these whatever the cut; the layout of the
// float32 buffers is seen by peers, whose sums it is, and stays as it is.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "messages/tensor_blob.h"
#include "model/partition.h"

namespace shoal {

struct FlatTensor {
  TensorSpec spec;
  std::size_t offset = 0;  // in elements
  std::size_t count = 0;
};

struct FlatLayout {
  std::vector<FlatTensor> tensors;  // ascending by name
  std::size_t size = 0;             // elements, with the gaps

  explicit FlatLayout(const std::vector<TensorSpec>& specs) : FlatLayout(specs, kElementAlignment) {}
  // Indices of all tensors.
  [[nodiscard]] std::vector<std::size_t> all() const;
  // The same tensors where copies in bf16 have them.
  [[nodiscard]] FlatLayout of_copies() const;

 private:
  static constexpr std::size_t kElementAlignment = 16;

  FlatLayout(const std::vector<TensorSpec>& specs, std::size_t alignment);
};

// A zeroed buffer of elements of T, 64-byte aligned, that lives as long as its owner.
template <class T>
class FlatBuffer {
 public:
  explicit FlatBuffer(std::size_t size) : bytes_(size * sizeof(T)), size_(size) { clear(); }

  void clear() { std::memset(bytes_.data(), 0, bytes_.size()); }
  [[nodiscard]] std::span<T> all() { return {reinterpret_cast<T*>(bytes_.data()), size_}; }
  [[nodiscard]] std::span<const T> all() const { return {reinterpret_cast<const T*>(bytes_.data()), size_}; }
  [[nodiscard]] std::span<T> of(const FlatTensor& tensor) { return all().subspan(tensor.offset, tensor.count); }
  [[nodiscard]] std::span<const T> of(const FlatTensor& tensor) const {
    return all().subspan(tensor.offset, tensor.count);
  }

 private:
  AlignedBuffer bytes_;
  std::size_t size_;
};

}  // namespace shoal
