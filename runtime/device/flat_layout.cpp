// Offsets of tensors in a flat buffer.
#include "runtime/device/flat_layout.h"

#include <numeric>

namespace shoal {
namespace {

constexpr std::size_t kCopyAlignment = 128;  // 256 bytes of bf16

}  // namespace

FlatLayout::FlatLayout(const std::vector<TensorSpec>& specs, std::size_t alignment) {
  for (const TensorSpec& spec : specs) {
    const auto count = static_cast<std::size_t>(element_count(spec));
    tensors.push_back({spec, size, count});
    size += (count + alignment - 1) / alignment * alignment;
  }
}

std::vector<std::size_t> FlatLayout::all() const {
  std::vector<std::size_t> indices(tensors.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

FlatLayout FlatLayout::of_copies() const {
  std::vector<TensorSpec> specs;
  for (const FlatTensor& tensor : tensors) specs.push_back(tensor.spec);
  return {specs, kCopyAlignment};
}

}  // namespace shoal
