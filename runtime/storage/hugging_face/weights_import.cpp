// Names, types and shapes of others, checked one by one.
#include "runtime/storage/hugging_face/weights_import.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/storage/safetensors.h"

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

std::optional<NumberType> number_type(const std::string& dtype) {
  if (dtype == "F32") return NumberType::kFloat32;
  if (dtype == "F16") return NumberType::kFloat16;
  if (dtype == "BF16") return NumberType::kBfloat16;
  return std::nullopt;
}

// The first value that is infinite or no number.
std::optional<std::uint64_t> first_not_finite(const ImportedTensor& tensor) {
  const std::uint64_t count = tensor.value_count();
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!std::isfinite(tensor.value(i))) return i;
  }
  return std::nullopt;
}

// True where the bits of all values are equal, as float32.
bool are_equal(const ImportedTensor& one, const ImportedTensor& other) {
  if (one.type == other.type) return std::ranges::equal(one.bytes, other.bytes);
  const std::uint64_t count = one.value_count();
  if (count != other.value_count()) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (std::bit_cast<std::uint32_t>(one.value(i)) != std::bit_cast<std::uint32_t>(other.value(i))) return false;
  }
  return true;
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
    const auto type = number_type(tensor.dtype);
    if (!type) return refuse(compose(tensor.name, " is ", tensor.dtype, "; F32, F16 and BF16 can be read"));
    ImportedTensor taken{name, *type, std::move(tensor.shape), tensor.bytes};
    if (const auto index = first_not_finite(taken)) {
      return refuse(compose("the tensor ", tensor.name, " has a value that is not finite at ", *index));
    }
    taken_.emplace(name, std::move(taken));
    return Done{};
  }

  // Copies the embedding where the file leaves the head to it.
  Status tie_head() {
    const auto embedding = taken_.find(model_.embedding);
    if (embedding == taken_.end()) return Done{};  // finish() says so
    const auto head = taken_.find(model_.head);
    if (head == taken_.end()) {
      ImportedTensor copy = embedding->second;
      copy.name = model_.head;
      taken_.emplace(model_.head, std::move(copy));
      return Done{};
    }
    if (are_equal(head->second, embedding->second)) return Done{};
    return refuse(compose(model_.head, " differs from ", model_.embedding,
                          ", and config.json says that they are one (tie_word_embeddings; set it to false to import "
                          "both)"));
  }

  Result<ImportedWeights> finish() {
    for (const auto& [name, shape] : model_.shapes) {
      if (taken_.contains(name)) continue;
      return refuse(compose("no tensor ", name, prefix_.empty() ? "" : ", as it is or with " + prefix_ + " in front"));
    }
    ImportedWeights weights;
    for (auto& [name, tensor] : taken_) weights.tensors.push_back(std::move(tensor));
    return weights;
  }

 private:
  static Failure refuse(const std::string& what) { return fail(Error::kInvalidData, what); }

  ModelKind kind_;
  std::string prefix_;
  const ModelTensors& model_;
  std::map<std::string, ImportedTensor> taken_;
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

std::uint64_t ImportedTensor::value_count() const {
  return bytes.size() / (type == NumberType::kFloat32 ? sizeof(float) : sizeof(std::uint16_t));
}

float ImportedTensor::value(std::uint64_t index) const {
  if (type == NumberType::kFloat32) {
    float wide = 0;
    std::memcpy(&wide, bytes.data() + index * sizeof wide, sizeof wide);
    return wide;
  }
  std::uint16_t narrow = 0;
  std::memcpy(&narrow, bytes.data() + index * sizeof narrow, sizeof narrow);
  return type == NumberType::kFloat16 ? from_half(narrow) : from_bf16(narrow);
}

const ImportedTensor& ImportedWeights::of(const std::string& name) const {
  const auto found = std::ranges::lower_bound(tensors, name, {}, &ImportedTensor::name);
  ENSURE(found != tensors.end() && found->name == name, "an import has every weight: " + name);
  return *found;
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
