// safetensors: named tensors in one block of bytes. The format of checkpoints, and of state on its way between
// processes.
//
//   u64 little-endian n | n bytes of JSON {"name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, ...}
//   | the tensors' bytes, contiguous, in order of their offsets
//
// Parsing validates everything before a byte of a tensor is touched: lengths, JSON, dtypes, shapes against sizes, and
// that the tensors tile the data without gaps or overlaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/tensor_blob.h"
#include "runtime/base/error.h"

namespace shoal {

inline constexpr std::size_t kSafetensorsLengthBytes = 8;  // of the length before the header's text

struct StoredTensor {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // part of the parsed image, or of the caller's memory when one is built
};

// The tensors of an image, ascending by name. The spans point into `image`. Errors: kInvalidData saying what is wrong
// where; `where` names the file or sender for the sentence.
[[nodiscard]] Result<std::vector<StoredTensor>> parse_safetensors(std::span<const std::byte> image,
                                                                  const std::string& where);

// A tensor of an image that need not be in memory.
struct PlacedTensor {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // in the image
  std::uint64_t end = 0;
};
struct ImageLayout {
  std::uint64_t header_bytes = 0;     // before the first tensor
  std::uint64_t byte_count = 0;       // of the image
  std::vector<PlacedTensor> tensors;  // ascending by name
};
// The layout of an image of `byte_count` bytes that begins with `first`; nothing where its header is longer than that.
// Errors: as parse_safetensors.
[[nodiscard]] Result<std::optional<ImageLayout>> parse_layout(std::span<const std::byte> first,
                                                              std::uint64_t byte_count, const std::string& where);

// A tensor of a file that another program wrote: of any of the format's types.
struct ForeignTensor {
  std::string name;
  std::string dtype;  // as the file says: "F32", "BF16"
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};
// Parses as parse_safetensors does, with every type that the format has.
[[nodiscard]] Result<std::vector<ForeignTensor>> parse_foreign_safetensors(std::span<const std::byte> image,
                                                                           const std::string& where);

// An image, uint8 [n], of these tensors in the order of their names; `metadata` becomes the header's __metadata__.
// Equal arguments give equal bytes. Names are distinct and sizes agree with shapes (ENSURE).
[[nodiscard]] TensorBlob build_safetensors(std::vector<StoredTensor> tensors,
                                           const std::map<std::string, std::string>& metadata = {});

// The layout and header of the image that build_safetensors makes of tensors of these names, types and shapes.
struct NewLayout {
  ImageLayout layout;
  std::vector<std::byte> header;
};
[[nodiscard]] NewLayout lay_out_safetensors(std::vector<PlacedTensor> tensors,
                                            const std::map<std::string, std::string>& metadata = {});

// The tensor of that name, or nullptr. `tensors` is ascending by name.
[[nodiscard]] const StoredTensor* find_tensor(const std::vector<StoredTensor>& tensors, const std::string& name);

}  // namespace shoal
