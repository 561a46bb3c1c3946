// Checks every tensor first, copies then.
#include "runtime/device/state_image.h"

#include <cstring>
#include <map>
#include <utility>

#include "runtime/storage/safetensors.h"

namespace shoal {
namespace {

Result<std::span<const std::byte>> bytes_of(const std::vector<StoredTensor>& stored, const StateField<float>& field) {
  const std::string name = field.part + field.name;
  const StoredTensor* tensor = find_tensor(stored, name);
  if (tensor == nullptr) {
    return fail(Error::kInvalidData, "the state has no tensor '" + name + "'; it belongs to another model");
  }
  if (tensor->dtype != DType::kFloat32 || tensor->shape != field.shape) {
    return fail(
        Error::kInvalidData,
        "tensor '" + name + "' of the state has another type or shape than this model's; check the [model] keys");
  }
  return tensor->bytes;
}

// Returns those of `optional` of which the image has nothing.
std::set<std::string> missing_parts(const std::vector<StoredTensor>& stored, const StateFields& fields,
                                    std::set<std::string> optional) {
  for (const auto& field : fields) {
    if (find_tensor(stored, field.part + field.name) != nullptr) optional.erase(field.part);
  }
  return optional;
}

}  // namespace

TensorBlob write_state_image(const ConstStateFields& fields) {
  std::vector<StoredTensor> tensors;
  tensors.reserve(fields.size());
  for (const auto& field : fields) {
    tensors.push_back({field.part + field.name, DType::kFloat32, field.shape, std::as_bytes(field.values)});
  }
  return build_safetensors(std::move(tensors));
}

Result<std::set<std::string>> read_state_image(const TensorBlob& image, const StateFields& fields,
                                               const std::set<std::string>& optional) {
  if (!image.has_value() || image.dtype != DType::kUint8) return fail(Error::kInvalidData, "the state image is empty");
  const auto stored = parse_safetensors({image.bytes->data(), image.bytes->size()}, "the state image");
  if (!stored.ok()) return stored.failure();
  std::set<std::string> missing = missing_parts(*stored, fields, optional);
  std::vector<std::pair<std::span<float>, std::span<const std::byte>>> copies;
  for (const auto& field : fields) {
    if (missing.contains(field.part)) continue;
    const auto found = bytes_of(*stored, field);
    if (!found.ok()) return found.failure();
    copies.emplace_back(field.values, *found);
  }
  for (const auto& [to, from] : copies) std::memcpy(to.data(), from.data(), to.size_bytes());
  return missing;
}

}  // namespace shoal
