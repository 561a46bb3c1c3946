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
constexpr std::size_t kLengthBytes = 8;
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
  ForeignTensor tensor;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Result<Placed> parse_entry(const std::string& name, const nlohmann::json& json, std::span<const std::byte> data) {
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
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size()) {
    return fail(Error::kInvalidData, compose("tensor ", name, " lies outside of the data"));
  }
  placed.begin = offsets[0];
  placed.end = offsets[1];
  if (byte_count(*size, placed.tensor.shape) != placed.end - placed.begin) {
    return fail(Error::kInvalidData, compose("tensor ", name, "'s shape does not agree with its size"));
  }
  placed.tensor.bytes = data.subspan(placed.begin, placed.end - placed.begin);
  return placed;
}

Status check_tiling(std::vector<Placed>& placed, std::size_t data_size) {
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

Result<std::vector<ForeignTensor>> parse(std::span<const std::byte> image) {
  if (image.size() < kLengthBytes) return fail(Error::kInvalidData, "too short for a header");
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, image.data(), kLengthBytes);
  if (header_bytes > kHeaderBytesMax || header_bytes > image.size() - kLengthBytes) {
    return fail(Error::kInvalidData, compose("a header of ", header_bytes, " bytes in ", image.size()));
  }
  const auto* text = reinterpret_cast<const char*>(image.data() + kLengthBytes);
  const auto data = image.subspan(kLengthBytes + header_bytes);
  const auto json = nlohmann::json::parse(text, text + header_bytes);
  if (!json.is_object()) return fail(Error::kInvalidData, "the header is no object");
  std::vector<Placed> placed;
  for (const auto& [name, entry] : json.items()) {
    if (name == kMetadata) continue;
    auto one = parse_entry(name, entry, data);
    if (!one) return one.failure();
    placed.push_back(std::move(one.value()));
  }
  if (auto tiled = check_tiling(placed, data.size()); !tiled) return tiled.failure();
  std::vector<ForeignTensor> tensors;
  for (auto& one : placed) tensors.push_back(std::move(one.tensor));
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return tensors;
}

}  // namespace

Result<std::vector<ForeignTensor>> parse_foreign_safetensors(std::span<const std::byte> image,
                                                             const std::string& where) {
  try {
    auto tensors = parse(image);
    if (!tensors) return fail(tensors.failure().error, where + ": " + tensors.failure().message);
    return tensors;
  } catch (const nlohmann::json::exception& error) {
    return fail(Error::kInvalidData, compose(where, ": the header is not as safetensors has it: ", error.what()));
  }
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

TensorBlob build_safetensors(std::vector<StoredTensor> tensors, const std::map<std::string, std::string>& metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::uint64_t at = 0;
  for (const auto& tensor : tensors) {
    CHECK(tensor.name != kMetadata && !header.contains(tensor.name), "two tensors named " + tensor.name);
    CHECK(byte_count(size_of(tensor.dtype), tensor.shape) == tensor.bytes.size(), "size and shape of " + tensor.name);
    header[tensor.name] = {
        {"dtype", dtype_text(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {at, at + tensor.bytes.size()}}};
    at += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  auto buffer = std::make_shared<AlignedBuffer>(kLengthBytes + text.size() + at);
  const std::uint64_t header_bytes = text.size();
  std::memcpy(buffer->data(), &header_bytes, kLengthBytes);
  std::memcpy(buffer->data() + kLengthBytes, text.data(), text.size());
  std::byte* out = buffer->data() + kLengthBytes + text.size();
  for (const auto& tensor : tensors) {
    if (!tensor.bytes.empty()) std::memcpy(out, tensor.bytes.data(), tensor.bytes.size());
    out += tensor.bytes.size();
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
