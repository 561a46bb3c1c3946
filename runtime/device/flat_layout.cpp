// Offsets of tensors in a flat buffer.
#include "runtime/device/flat_layout.h"

namespace shoal {
namespace {

constexpr std::size_t kElementAlignment = 16;

}  // namespace

FlatLayout::FlatLayout(const std::vector<TensorSpec>& specs) {
  for (const TensorSpec& spec : specs) {
    const auto count = static_cast<std::size_t>(element_count(spec));
    tensors.push_back({spec, size, count});
    size += (count + kElementAlignment - 1) / kElementAlignment * kElementAlignment;
  }
}

}  // namespace shoal
