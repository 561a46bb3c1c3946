// Names, types and shapes of others, checked one by one.
#include "runtime/storage/hugging_face/weights_import.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

// IEEE half precision: every value is a float's.
float from_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16U;
  const std::uint32_t exponent = half >> 10U & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23U | fraction << 13U);
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }

std::unique_ptr<AlignedBuffer> widen(std::span<const std::byte> from, float (*widened)(std::uint16_t)) {
  auto to = std::make_unique<AlignedBuffer>(2 * from.size());
  for (std::size_t i = 0; i < from.size() / 2; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from.data() + 2 * i, 2);
    const float value = widened(bits);
    std::memcpy(to->data() + 4 * i, &value, 4);
  }
  return to;
}

std::string advice_for(const std::vector<std::int64_t>& is, const std::vector<std::int64_t>& wanted) {
  const bool is_turned =
      is.size() == 2 && is != wanted && is == std::vector<std::int64_t>(wanted.rbegin(), wanted.rend());
  return is_turned ? "; it is transposed" : "";
}

// Puts the files' tensors together, one by one.
class Import {
 public:
  Import(const ModelDescription& description, const ModelTensors& model)
      : kind_(description.model.kind), prefix_(prefix_of(kind_)), model_(model) {}

  Status take(ForeignTensor tensor) {
    const bool has_prefix = !prefix_.empty() && tensor.name.starts_with(prefix_);
    const std::string name = has_prefix ? tensor.name.substr(prefix_.size()) : tensor.name;
    if (is_constant(kind_, name)) return Done{};
    const auto wanted = model_.shapes.find(name);
    if (wanted == model_.shapes.end())
      return refuse(tensor.name + " has no place in the model that config.json describes");
    if (taken_.contains(name)) return refuse(compose("the tensor ", name, " is there twice"));
    if (tensor.shape != wanted->second) {
      return refuse(compose(tensor.name, " is ", shape_text(tensor.shape), ", config.json says ",
                            shape_text(wanted->second), advice_for(tensor.shape, wanted->second)));
    }
    const auto bytes = as_floats(tensor);
    if (!bytes) return bytes.failure();
    taken_[name] = StoredTensor{name, DType::kFloat32, std::move(tensor.shape), *bytes};
    return Done{};
  }

  // Copies the embedding where the file leaves the head to it.
  Status tie_head() {
    const auto embedding = taken_.find(model_.embedding);
    if (embedding == taken_.end()) return Done{};  // finish() says so
    const auto head = taken_.find(model_.head);
    if (head == taken_.end()) {
      StoredTensor copy = embedding->second;
      copy.name = model_.head;
      taken_[model_.head] = std::move(copy);
      return Done{};
    }
    if (std::ranges::equal(head->second.bytes, embedding->second.bytes)) return Done{};
    return refuse(compose(model_.head, " differs from ", model_.embedding,
                          ", and config.json says that they are one (tie_word_embeddings; set it to false to import "
                          "both)"));
  }

  Result<ImportedWeights> finish() {
    for (const auto& [name, shape] : model_.shapes) {
      if (taken_.contains(name)) continue;
      return refuse(compose("no tensor ", name, prefix_.empty() ? "" : ", as it is or with " + prefix_ + " in front"));
    }
    for (auto& [name, tensor] : taken_) weights_.tensors.push_back(std::move(tensor));
    return std::move(weights_);
  }

 private:
  static Failure refuse(const std::string& what) { return fail(Error::kInvalidData, what); }

  Result<std::span<const std::byte>> as_floats(const ForeignTensor& tensor) {
    if (tensor.dtype == "F32") return tensor.bytes;
    if (tensor.dtype != "F16" && tensor.dtype != "BF16") {
      return refuse(compose(tensor.name, " is ", tensor.dtype, "; F32, F16 and BF16 can be read"));
    }
    weights_.converted.push_back(widen(tensor.bytes, tensor.dtype == "F16" ? from_half : from_bf16));
    const AlignedBuffer& floats = *weights_.converted.back();
    return std::span<const std::byte>(floats.data(), floats.size());
  }

  ModelKind kind_;
  std::string prefix_;
  const ModelTensors& model_;
  std::map<std::string, StoredTensor> taken_;
  ImportedWeights weights_;
};

Status take_file(Import& import, const WeightFile& file) {
  auto tensors = parse_foreign_safetensors(file.bytes, file.where);
  if (!tensors) return tensors.failure();
  for (ForeignTensor& tensor : *tensors) {
    if (auto status = import.take(std::move(tensor)); !status) {
      return fail(Error::kInvalidData, compose(file.where, ": ", status.failure().message));
    }
  }
  return Done{};
}

// A file beside the index; nothing that leads elsewhere.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == name.npos && name != "." && name != "..";
}

}  // namespace

std::vector<StoredTensor> ImportedWeights::of(const std::vector<std::string>& names) const {
  std::vector<StoredTensor> found;
  for (const std::string& name : names) {
    const StoredTensor* tensor = find_tensor(tensors, name);
    ENSURE(tensor != nullptr, "an import has every weight: " + name);
    found.push_back(*tensor);
  }
  return found;
}

Result<std::vector<std::string>> files_of_index(const std::string& text, const std::string& where) {
  const auto wrong = [&where](const std::string& what) {
    return fail(Error::kInvalidData, compose(where, ": ", what));
  };
  try {
    const auto index = nlohmann::json::parse(text);
    std::set<std::string> names;
    for (const auto& [tensor, file] : index.at("weight_map").items()) {
      names.insert(file.get<std::string>());
    }
    if (names.empty()) return wrong("it names no file");
    for (const std::string& name : names) {
      if (!is_plain_name(name)) return wrong(compose("'", name, "' is not the name of a file beside it"));
    }
    return std::vector<std::string>(names.begin(), names.end());
  } catch (const nlohmann::json::exception& error) {
    return wrong(compose("it is no index of safetensors files: ", error.what()));
  }
}

Result<ImportedWeights> import_weights(const std::vector<WeightFile>& files, const ModelDescription& description,
                                       const ModelTensors& model, const std::string& where) {
  Import import(description, model);
  for (const WeightFile& file : files) {
    if (auto status = take_file(import, file); !status) return status.failure();
  }
  const auto here = [&where](const Failure& failure) {
    return fail(Error::kInvalidData, compose(where, ": ", failure.message));
  };
  if (description.head_is_tied) {
    if (auto status = import.tie_head(); !status) return here(status.failure());
  }
  auto weights = import.finish();
  if (weights) return weights;
  return here(weights.failure());
}

}  // namespace shoal
