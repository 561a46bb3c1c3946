// Names, types and shapes of others, checked one by one.
#include "runtime/storage/gpt2_import.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/storage/gpt2_layout.h"

namespace shoal {
namespace {

using Json = nlohmann::json;

constexpr const char* kHead = "lm_head.weight";
constexpr std::string_view kPrefix = "transformer.";

// A key of config.json that must have one value, because this model has no other; absent means that value too.
struct FixedKey {
  const char* name;
  Json value;
};

const std::vector<FixedKey>& fixed_keys() {
  static const std::vector<FixedKey> keys = {
      {"model_type", "gpt2"},       {"activation_function", "gelu_new"},        {"layer_norm_epsilon", 1e-5},
      {"scale_attn_weights", true}, {"scale_attn_by_inverse_layer_idx", false}, {"add_cross_attention", false}};
  return keys;
}

Status check_fixed(const Json& json) {
  for (const FixedKey& key : fixed_keys()) {
    const auto found = json.find(key.name);
    if (found == json.end() || *found == key.value) continue;
    return fail(Error::kInvalidData,
                compose(key.name, " = ", found->dump(), ", and this model has ", key.value.dump()));
  }
  const auto inner = json.find("n_inner");
  const bool is_usual = inner == json.end() || inner->is_null() || *inner == 4 * json.at("n_embd").get<std::int64_t>();
  if (is_usual) return Done{};
  return fail(Error::kInvalidData, compose("n_inner = ", inner->dump(), ", and this model has 4 x n_embd"));
}

int extent_of(const Json& json, const char* name) {
  const auto value = json.at(name).get<std::int64_t>();
  return value < 1 || value > 1 << 30 ? 0 : static_cast<int>(value);
}

Result<Gpt2Description> describe(const Json& json) {
  if (!json.is_object()) return fail(Error::kInvalidData, "it is no JSON object");
  if (auto status = check_fixed(json); !status) return status.failure();
  Gpt2Description out;
  const std::array<std::pair<const char*, int*>, 5> extents = {{{"n_layer", &out.model.layers},
                                                                {"n_head", &out.model.heads},
                                                                {"n_embd", &out.model.width},
                                                                {"n_positions", &out.model.context},
                                                                {"vocab_size", &out.model.vocabulary}}};
  for (const auto& [name, extent] : extents) {
    *extent = extent_of(json, name);
    if (*extent == 0) return fail(Error::kInvalidData, compose(name, " = ", json.at(name).dump(), " is no extent"));
  }
  // Absent: transformers' defaults. Of its three dropouts this model has one, which acts where resid_pdrop does.
  out.model.dropout = json.value("resid_pdrop", 0.1);
  out.model.init_std = json.value("initializer_range", 0.02);
  out.head_is_tied = json.value("tie_word_embeddings", true);
  return out;
}

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

// Our name of a tensor.
std::string name_here(const std::string& name) {
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

// The causal mask is a constant.
bool is_mask(const std::string& name) {
  return name.starts_with("h.") && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"));
}

std::string advice_for(const std::vector<std::int64_t>& is, const std::vector<std::int64_t>& wanted) {
  const bool is_turned =
      is.size() == 2 && is != wanted && is == std::vector<std::int64_t>(wanted.rbegin(), wanted.rend());
  return is_turned ? "; it is transposed: GPT-2's c_ matrices are [in, out]" : "";
}

// Puts the file's tensors together, one by one.
class Import {
 public:
  explicit Import(const ModelConfig& model) : shapes_(gpt2_shapes(model)) {}

  Status take(ForeignTensor tensor) {
    std::string name = name_here(tensor.name);
    if (is_mask(name)) return Done{};
    const auto wanted = shapes_.find(name);
    if (wanted == shapes_.end()) return refuse(tensor.name + " has no place in GPT-2 as config.json describes it");
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

  // Copies the first matrix, wte, where the file leaves the head to it.
  Status tie_head() {
    const auto wte = taken_.find("wte.weight");
    if (wte == taken_.end()) return Done{};  // finish() says so
    const auto head = taken_.find(kHead);
    if (head == taken_.end()) {
      StoredTensor copy = wte->second;
      copy.name = kHead;
      taken_[kHead] = std::move(copy);
      return Done{};
    }
    if (std::ranges::equal(head->second.bytes, wte->second.bytes)) return Done{};
    return refuse(
        "lm_head.weight differs from wte.weight, and config.json says that they are one "
        "(tie_word_embeddings; set it to false to import both)");
  }

  Result<Gpt2Weights> finish() {
    for (const auto& [name, shape] : shapes_) {
      if (taken_.contains(name)) continue;
      return refuse(compose("no tensor ", name, ", as it is or with ", kPrefix, " in front"));
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

  TensorShapes shapes_;
  std::map<std::string, StoredTensor> taken_;
  Gpt2Weights weights_;
};

Result<Gpt2Weights> put_together(std::vector<ForeignTensor> tensors, const Gpt2Description& description) {
  Import import(description.model);
  for (ForeignTensor& tensor : tensors) {
    if (auto status = import.take(std::move(tensor)); !status) return status.failure();
  }
  if (description.head_is_tied) {
    if (auto status = import.tie_head(); !status) return status.failure();
  }
  return import.finish();
}

}  // namespace

Result<Gpt2Description> parse_gpt2_config(const std::string& text, const std::string& where) {
  try {
    auto description = describe(Json::parse(text));
    if (description) return description;
    return fail(Error::kInvalidData, compose(where, ": ", description.failure().message));
  } catch (const Json::exception& error) {
    return fail(Error::kInvalidData, compose(where, " is not a GPT-2's configuration: ", error.what()));
  }
}

std::vector<StoredTensor> Gpt2Weights::of(const std::vector<std::string>& names) const {
  std::vector<StoredTensor> found;
  for (const std::string& name : names) {
    const StoredTensor* tensor = find_tensor(tensors, name);
    CHECK(tensor != nullptr, "an import has every weight: " + name);
    found.push_back(*tensor);
  }
  return found;
}

Result<Gpt2Weights> import_gpt2(std::span<const std::byte> file, const Gpt2Description& description,
                                const std::string& where) {
  auto tensors = parse_foreign_safetensors(file, where);
  if (!tensors) return tensors.failure();
  auto weights = put_together(std::move(*tensors), description);
  if (weights) return weights;
  return fail(Error::kInvalidData, compose(where, ": ", weights.failure().message));
}

}  // namespace shoal
