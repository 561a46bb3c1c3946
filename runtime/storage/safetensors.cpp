// Reads and writes the safetensors format (see the header for its grammar).
#include "runtime/storage/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr const char* kMetadata = "__metadata__";
constexpr std::uint64_t kHeaderBytesMax = 100'000'000;  // the format's own limit

std::optional<DType> parse_dtype(const std::string& text) {
  if (text == "F32") return DType::kFloat32;
  if (text == "I32") return DType::kInt32;
  if (text == "I64") return DType::kInt64;
  if (text == "U8") return DType::kUint8;
  return std::nullopt;
}

const char* dtype_text(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "F32";
    case DType::kInt32: return "I32";
    case DType::kInt64: return "I64";
    case DType::kUint8: return "U8";
  }
  return "?";
}

// Bytes of an element of any type that the format has; nothing for a word that names none.
std::optional<std::size_t> element_size(const std::string& dtype) {
  static const std::map<std::string, std::size_t> sizes = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"I64", 8}, {"U64", 8},
      {"I32", 4}, {"U32", 4}, {"I16", 2}, {"U16", 2},  {"I8", 1},      {"U8", 1},      {"BOOL", 1}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? std::nullopt : std::optional(found->second);
}

// Bytes of a tensor of this shape, or nothing when the product overflows or an extent is negative.
std::optional<std::uint64_t> byte_count(std::size_t size_of_element, const std::vector<std::int64_t>& shape) {
  std::uint64_t count = size_of_element;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(extent), &count)) return std::nullopt;
  }
  return count;
}

// Numbers of another kind would be converted without a word.
bool holds_integers(const nlohmann::json& list) {
  return list.is_array() &&
         std::all_of(list.begin(), list.end(), [](const auto& one) { return one.is_number_integer(); });
}

Failure unsupported(const ForeignTensor& tensor) {
  return fail(Error::kInvalidData,
              compose("tensor ", tensor.name, " has the unsupported dtype \"", tensor.dtype, "\""));
}

struct Placed {
  ForeignTensor tensor;     // without its bytes
  std::uint64_t begin = 0;  // behind the header
  std::uint64_t end = 0;
};

Result<Placed> parse_entry(const std::string& name, const nlohmann::json& json, std::uint64_t data_size) {
  Placed placed;
  placed.tensor.name = name;
  placed.tensor.dtype = json.at("dtype").get<std::string>();
  const auto size = element_size(placed.tensor.dtype);
  if (!size) return unsupported(placed.tensor);
  if (!holds_integers(json.at("shape")) || !holds_integers(json.at("data_offsets"))) {
    return fail(Error::kInvalidData, compose("tensor ", name, " has a shape or offsets that are not whole numbers"));
  }
  placed.tensor.shape = json.at("shape").get<std::vector<std::int64_t>>();
  const auto offsets = json.at("data_offsets").get<std::vector<std::uint64_t>>();
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_size) {
    return fail(Error::kInvalidData, compose("tensor ", name, " lies outside of the data"));
  }
  placed.begin = offsets[0];
  placed.end = offsets[1];
  if (byte_count(*size, placed.tensor.shape) != placed.end - placed.begin) {
    return fail(Error::kInvalidData, compose("tensor ", name, "'s shape does not agree with its size"));
  }
  return placed;
}

Status check_tiling(std::vector<Placed>& placed, std::uint64_t data_size) {
  std::sort(placed.begin(), placed.end(),
            [](const Placed& a, const Placed& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t at = 0;
  for (const auto& one : placed) {
    if (one.begin != at) return fail(Error::kInvalidData, compose("a gap or overlap before tensor ", one.tensor.name));
    at = one.end;
  }
  if (at != data_size) return fail(Error::kInvalidData, compose(data_size - at, " bytes behind the last tensor"));
  return Done{};
}

struct Header {
  std::uint64_t bytes = 0;      // its length and its text
  std::vector<Placed> tensors;  // ascending by name
};

// Parses the header of an image of `byte_count` bytes that begins with `first`; nothing where that lacks a part of it.
Result<std::optional<Header>> parse_header(std::span<const std::byte> first, std::uint64_t byte_count) {
  if (byte_count < kSafetensorsLengthBytes) return fail(Error::kInvalidData, "too short for a header");
  if (first.size() < kSafetensorsLengthBytes) return std::optional<Header>();
  std::uint64_t text_bytes = 0;
  std::memcpy(&text_bytes, first.data(), kSafetensorsLengthBytes);
  if (text_bytes > kHeaderBytesMax || text_bytes > byte_count - kSafetensorsLengthBytes) {
    return fail(Error::kInvalidData, compose("a header of ", text_bytes, " bytes in ", byte_count));
  }
  Header header{kSafetensorsLengthBytes + text_bytes, {}};
  if (first.size() < header.bytes) return std::optional<Header>();
  const auto* text = reinterpret_cast<const char*>(first.data() + kSafetensorsLengthBytes);
  const std::uint64_t data_size = byte_count - header.bytes;
  const auto json = nlohmann::json::parse(text, text + text_bytes);
  if (!json.is_object()) return fail(Error::kInvalidData, "the header is no object");
  for (const auto& [name, entry] : json.items()) {
    if (name == kMetadata) continue;
    auto one = parse_entry(name, entry, data_size);
    if (!one) return one.failure();
    header.tensors.push_back(std::move(one.value()));
  }
  if (auto tiled = check_tiling(header.tensors, data_size); !tiled) return tiled.failure();
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const Placed& a, const Placed& b) { return a.tensor.name < b.tensor.name; });
  return std::optional(std::move(header));
}

// Puts `where` before what is wrong.
Result<std::optional<Header>> parse_named_header(std::span<const std::byte> first, std::uint64_t byte_count,
                                                 const std::string& where) {
  try {
    auto header = parse_header(first, byte_count);
    if (!header) return fail(header.failure().error, where + ": " + header.failure().message);
    return header;
  } catch (const nlohmann::json::exception& error) {
    return fail(Error::kInvalidData, compose(where, ": the header is not as safetensors has it: ", error.what()));
  }
}

}  // namespace

Result<std::vector<ForeignTensor>> parse_foreign_safetensors(std::span<const std::byte> image,
                                                             const std::string& where) {
  auto header = parse_named_header(image, image.size(), where);
  if (!header) return header.failure();
  ENSURE(header.value().has_value(), "a whole image holds its header");
  const auto data = image.subspan((*header)->bytes);
  std::vector<ForeignTensor> tensors;
  for (Placed& one : (*header)->tensors) {
    one.tensor.bytes = data.subspan(one.begin, one.end - one.begin);
    tensors.push_back(std::move(one.tensor));
  }
  return tensors;
}

Result<std::optional<ImageLayout>> parse_layout(std::span<const std::byte> first, std::uint64_t byte_count,
                                                const std::string& where) {
  auto header = parse_named_header(first, byte_count, where);
  if (!header) return header.failure();
  if (!header.value()) return std::optional<ImageLayout>();
  ImageLayout layout{(*header)->bytes, byte_count, {}};
  for (Placed& one : (*header)->tensors) {
    const auto dtype = parse_dtype(one.tensor.dtype);
    if (!dtype) return fail(Error::kInvalidData, where + ": " + unsupported(one.tensor).message);
    layout.tensors.push_back({std::move(one.tensor.name), *dtype, std::move(one.tensor.shape),
                              layout.header_bytes + one.begin, layout.header_bytes + one.end});
  }
  return std::optional(std::move(layout));
}

Result<std::vector<StoredTensor>> parse_safetensors(std::span<const std::byte> image, const std::string& where) {
  auto tensors = parse_foreign_safetensors(image, where);
  if (!tensors) return tensors.failure();
  std::vector<StoredTensor> stored;
  for (ForeignTensor& tensor : *tensors) {
    const auto dtype = parse_dtype(tensor.dtype);
    if (!dtype) return fail(Error::kInvalidData, where + ": " + unsupported(tensor).message);
    stored.push_back({std::move(tensor.name), *dtype, std::move(tensor.shape), tensor.bytes});
  }
  return stored;
}

NewLayout lay_out_safetensors(std::vector<PlacedTensor> tensors, const std::map<std::string, std::string>& metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json[kMetadata] = metadata;
  std::uint64_t at = 0;
  for (PlacedTensor& tensor : tensors) {
    ENSURE(tensor.name != kMetadata && !json.contains(tensor.name), "two tensors named " + tensor.name);
    const auto size = byte_count(size_of(tensor.dtype), tensor.shape);
    ENSURE(size.has_value(), "the size of " + tensor.name);
    tensor.begin = std::exchange(at, at + *size);
    tensor.end = at;
    json[tensor.name] = {
        {"dtype", dtype_text(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {tensor.begin, tensor.end}}};
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t text_bytes = text.size();
  NewLayout made{{kSafetensorsLengthBytes + text_bytes, kSafetensorsLengthBytes + text_bytes + at, std::move(tensors)},
                 {}};
  made.header.resize(made.layout.header_bytes);
  std::memcpy(made.header.data(), &text_bytes, kSafetensorsLengthBytes);
  std::memcpy(made.header.data() + kSafetensorsLengthBytes, text.data(), text.size());
  for (PlacedTensor& tensor : made.layout.tensors) {
    tensor.begin += made.layout.header_bytes;
    tensor.end += made.layout.header_bytes;
  }
  return made;
}

TensorBlob build_safetensors(std::vector<StoredTensor> tensors, const std::map<std::string, std::string>& metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::vector<PlacedTensor> described;
  for (const auto& tensor : tensors) described.push_back({tensor.name, tensor.dtype, tensor.shape, 0, 0});
  const NewLayout made = lay_out_safetensors(std::move(described), metadata);
  auto buffer = std::make_shared<AlignedBuffer>(made.layout.byte_count);
  std::memcpy(buffer->data(), made.header.data(), made.header.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const PlacedTensor& place = made.layout.tensors[i];
    ENSURE(place.end - place.begin == tensors[i].bytes.size(), "size and shape of " + place.name);
    if (!tensors[i].bytes.empty())
      std::memcpy(buffer->data() + place.begin, tensors[i].bytes.data(), tensors[i].bytes.size());
  }
  const auto size = static_cast<std::int64_t>(buffer->size());
  return {DType::kUint8, {size}, std::move(buffer)};
}

const StoredTensor* find_tensor(const std::vector<StoredTensor>& tensors, const std::string& name) {
  const auto found =
      std::lower_bound(tensors.begin(), tensors.end(), name,
                       [](const StoredTensor& tensor, const std::string& key) { return tensor.name < key; });
  return found != tensors.end() && found->name == name ? &*found : nullptr;
}

}  // namespace shoal
