// Fills a piece with the part of each tensor that lies in it.
#include "runtime/storage/hugging_face/imported_image.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "runtime/storage/state_names.h"

namespace shoal {
namespace {

NewLayout layout_of(const ImportedWeights& weights, const std::vector<std::string>& names,
                    const std::vector<InnerPart>& parts) {
  std::vector<PlacedTensor> tensors;
  for (const std::string& name : names) {
    const auto& shape = weights.of(name).shape;
    tensors.push_back({name, DType::kFloat32, shape, 0, 0});
    for (const InnerPart& part : parts) {
      const bool is_one = part.size == PartSize::kOneValue;
      tensors.push_back(
          {with_prefix(part.prefix, name), DType::kFloat32, is_one ? std::vector<std::int64_t>{1} : shape, 0, 0});
    }
  }
  return lay_out_safetensors(std::move(tensors));
}

// Copies the bytes of the tensor's values as float32, from byte `from` of these on. A piece may end within a value.
void copy_widened(const ImportedTensor& tensor, std::uint64_t from, std::span<std::byte> out) {
  if (tensor.type == NumberType::kFloat32) {
    std::memcpy(out.data(), tensor.bytes.data() + from, out.size());
    return;
  }
  while (!out.empty()) {
    const auto bytes = std::bit_cast<std::array<std::byte, sizeof(float)>>(tensor.value(from / sizeof(float)));
    const std::size_t skipped = from % sizeof(float);
    const std::size_t count = std::min(sizeof(float) - skipped, out.size());
    std::memcpy(out.data(), bytes.data() + skipped, count);
    from += count;
    out = out.subspan(count);
  }
}

}  // namespace

ImportedImage::ImportedImage(const ImportedWeights& weights, const std::vector<std::string>& names,
                             const std::vector<InnerPart>& parts)
    : weights_(weights), made_(layout_of(weights, names, parts)) {}

Result<TensorBlob> ImportedImage::read(std::uint64_t offset, std::size_t size) {
  auto piece = piece_buffer(offset, size, byte_count());
  const std::span<std::byte> bytes(piece->data(), piece->size());
  const std::uint64_t end = offset + bytes.size();
  std::ranges::fill(bytes, std::byte{0});
  if (offset < made_.header.size()) {
    std::memcpy(bytes.data(), made_.header.data() + offset, std::min<std::uint64_t>(end, made_.header.size()) - offset);
  }
  for (const PlacedTensor& tensor : made_.layout.tensors) {
    const std::uint64_t from = std::max(offset, tensor.begin);
    const std::uint64_t to = std::min(end, tensor.end);
    if (from >= to || !is_weight_name(tensor.name)) continue;
    copy_widened(weights_.of(tensor.name), from - tensor.begin, bytes.subspan(from - offset, to - from));
  }
  return as_piece(std::move(piece));
}

}  // namespace shoal
