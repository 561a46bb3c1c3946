// The two architectures as lists of parts, and what parts cost.
#include "model/layer_list.h"

#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

// Cost of a table look-up, a normalisation or an exponential, if a multiply-add of a matrix product costs 1: they are
// bound by memory and by transcendental functions. Measured roughly; the cut needs proportions only.
constexpr double kElementCost = 12;

// Names the place of a layer's tensors: the beginning of their names, and the block.
struct Place {
  std::string prefix;
  std::optional<int> block;

  [[nodiscard]] TensorSpec vector(const std::string& name, std::int64_t extent, InitialValues initial) const {
    return {prefix + name, {extent}, initial, false, false, block};
  }
  [[nodiscard]] TensorSpec table(const std::string& name, std::int64_t rows, std::int64_t width) const {
    return {prefix + name, {rows, width}, InitialValues::kNormal, true, false, block};
  }
  [[nodiscard]] NormSpec layer_norm(const std::string& name, std::int64_t width) const {
    return {NormKind::kLayer, width, 1e-5, vector(name + ".weight", width, InitialValues::kOnes),
            vector(name + ".bias", width, InitialValues::kZeros)};
  }
  [[nodiscard]] NormSpec rms_norm(const std::string& name, std::int64_t width, double eps) const {
    return {NormKind::kRms, width, eps, vector(name + ".weight", width, InitialValues::kOnes), std::nullopt};
  }
  // GPT-2's.
  [[nodiscard]] ProjectionSpec biased(const std::string& name, std::int64_t in, std::int64_t out,
                                      InitialValues initial) const {
    return {in, out, Orientation::kInOut, TensorSpec{prefix + name + ".weight", {in, out}, initial, true, true, block},
            vector(name + ".bias", out, InitialValues::kZeros)};
  }
  // Llama's, and both heads.
  [[nodiscard]] ProjectionSpec plain(const std::string& name, std::int64_t in, std::int64_t out,
                                     InitialValues initial) const {
    return {in, out, Orientation::kOutIn,
            TensorSpec{prefix + name + ".weight", {out, in}, initial, true, block.has_value(), block}, std::nullopt};
  }
};

LayerSpec gpt2_block(const ModelConfig& model, int block) {
  const std::int64_t width = model.width;
  const Place place{"h." + std::to_string(block) + ".", block};
  AttentionSpec attention;
  attention.heads = attention.kv_heads = model.heads;
  attention.head_size = width / model.heads;
  attention.context = model.context;
  attention.in = {place.biased("attn.c_attn", width, 3 * width, InitialValues::kNormal)};
  attention.out = place.biased("attn.c_proj", width, width, InitialValues::kResidual);
  MlpSpec mlp{MlpKind::kGelu,
              {place.biased("mlp.c_fc", width, 4 * width, InitialValues::kNormal)},
              place.biased("mlp.c_proj", 4 * width, width, InitialValues::kResidual)};
  return {block, {place.layer_norm("ln_1", width), attention, place.layer_norm("ln_2", width), mlp}};
}

std::vector<LayerSpec> gpt2_layers(const ModelConfig& model) {
  const Place place;
  std::vector<LayerSpec> layers = {{std::nullopt,
                                    {EmbeddingSpec{place.table("wte.weight", model.vocabulary, model.width),
                                                   place.table("wpe.weight", model.context, model.width)}}}};
  for (int block = 0; block < model.layers; ++block) layers.push_back(gpt2_block(model, block));
  const ProjectionSpec head = place.plain("lm_head", model.width, model.vocabulary, InitialValues::kNormal);
  layers.push_back({std::nullopt, {place.layer_norm("ln_f", model.width), HeadSpec{head}}});
  return layers;
}

AttentionSpec llama_attention(const ModelConfig& model, const Place& place) {
  AttentionSpec attention;
  attention.heads = model.heads;
  attention.kv_heads = kv_heads_of(model);
  attention.head_size = head_size_of(model);
  attention.context = model.context;
  const std::int64_t queries = attention.heads * attention.head_size;
  const std::int64_t keys = attention.kv_heads * attention.head_size;
  attention.in = {place.plain("self_attn.q_proj", model.width, queries, InitialValues::kNormal),
                  place.plain("self_attn.k_proj", model.width, keys, InitialValues::kNormal),
                  place.plain("self_attn.v_proj", model.width, keys, InitialValues::kNormal)};
  if (model.qk_norm) {
    attention.query_norm = place.rms_norm("self_attn.q_norm", attention.head_size, model.norm_eps);
    attention.key_norm = place.rms_norm("self_attn.k_norm", attention.head_size, model.norm_eps);
  }
  attention.rotary = RotarySpec{.head_size = attention.head_size,
                                .theta = model.rope_theta,
                                .scaling = model.rope_scaling,
                                .factor = model.rope_factor,
                                .low_freq_factor = model.rope_low_freq_factor,
                                .high_freq_factor = model.rope_high_freq_factor,
                                .original_context = static_cast<double>(model.rope_original_context)};
  attention.out = place.plain("self_attn.o_proj", queries, model.width, InitialValues::kResidual);
  return attention;
}

LayerSpec llama_block(const ModelConfig& model, int block) {
  const Place place{"model.layers." + std::to_string(block) + ".", block};
  const std::int64_t hidden = hidden_of(model);
  MlpSpec mlp{MlpKind::kSwiglu,
              {place.plain("mlp.gate_proj", model.width, hidden, InitialValues::kNormal),
               place.plain("mlp.up_proj", model.width, hidden, InitialValues::kNormal)},
              place.plain("mlp.down_proj", hidden, model.width, InitialValues::kResidual)};
  return {block,
          {place.rms_norm("input_layernorm", model.width, model.norm_eps), llama_attention(model, place),
           place.rms_norm("post_attention_layernorm", model.width, model.norm_eps), mlp}};
}

std::vector<LayerSpec> llama_layers(const ModelConfig& model) {
  const Place place{"model.", std::nullopt};
  std::vector<LayerSpec> layers = {
      {std::nullopt, {EmbeddingSpec{place.table("embed_tokens.weight", model.vocabulary, model.width), std::nullopt}}}};
  for (int block = 0; block < model.layers; ++block) layers.push_back(llama_block(model, block));
  const ProjectionSpec head = Place{}.plain("lm_head", model.width, model.vocabulary, InitialValues::kNormal);
  layers.push_back({std::nullopt, {place.rms_norm("norm", model.width, model.norm_eps), HeadSpec{head}}});
  return layers;
}

double products_of(const ProjectionSpec& projection) {
  return static_cast<double>(projection.in) * static_cast<double>(projection.out);
}

double products_of(const std::vector<ProjectionSpec>& projections) {
  double products = 0;
  for (const ProjectionSpec& projection : projections) products += products_of(projection);
  return products;
}

double elements_of(const NormSpec& norm) { return 2 * static_cast<double>(norm.width); }

double cost(const EmbeddingSpec& embedding) {
  const auto width = static_cast<double>(embedding.tokens.shape[1]);
  return kElementCost * (embedding.positions ? 2 : 1) * width;
}

double cost(const NormSpec& norm) { return kElementCost * elements_of(norm); }

double cost(const AttentionSpec& attention) {
  const auto heads = static_cast<double>(attention.heads);
  const auto kv_heads = static_cast<double>(attention.kv_heads);
  const auto head_size = static_cast<double>(attention.head_size);
  const auto context = static_cast<double>(attention.context);
  const double products = products_of(attention.in) + products_of(attention.out) + heads * head_size * context;
  double elements = 0.5 * heads * context + static_cast<double>(attention.out.out);
  if (attention.rotary) elements += 2 * (heads + kv_heads) * head_size;
  if (attention.query_norm) elements += heads * elements_of(*attention.query_norm);
  if (attention.key_norm) elements += kv_heads * elements_of(*attention.key_norm);
  return products + kElementCost * elements;  // the products are the causal half of both
}

double cost(const MlpSpec& mlp) {
  const double elements = 2 * static_cast<double>(mlp.out.in) + static_cast<double>(mlp.out.out);
  return products_of(mlp.in) + products_of(mlp.out) + kElementCost * elements;
}

double cost(const HeadSpec& head) {
  return products_of(head.projection) + kElementCost * 3 * static_cast<double>(head.projection.out);
}

double products_of(const EmbeddingSpec& /*embedding*/) { return 0; }

double products_of(const NormSpec& /*norm*/) { return 0; }

double products_of(const AttentionSpec& attention) {
  const auto scores_and_values = static_cast<double>(2 * attention.heads * attention.head_size * attention.context);
  return products_of(attention.in) + products_of(attention.out) + scores_and_values;
}

double products_of(const MlpSpec& mlp) { return products_of(mlp.in) + products_of(mlp.out); }

double products_of(const HeadSpec& head) { return products_of(head.projection); }

void add(std::vector<TensorSpec>& tensors, const EmbeddingSpec& part) {
  tensors.push_back(part.tokens);
  if (part.positions) tensors.push_back(*part.positions);
}
// Counts the values that a part makes for the next one, not those that it is given.
std::int64_t kept(const EmbeddingSpec& embedding) { return embedding.tokens.shape[1]; }

std::int64_t kept(const NormSpec& norm) {
  return norm.kind == NormKind::kLayer ? 2 * norm.width + 2 : 3 * norm.width + 1;
}

// Queries, keys, values and the result, as many of each as there are queries, and the logarithms of sums.
std::int64_t kept(const AttentionSpec& attention) {
  std::int64_t values = 4 * attention.heads * attention.head_size + attention.heads;
  if (attention.query_norm) values += attention.heads * (2 * attention.head_size + 1);
  if (attention.key_norm) values += attention.kv_heads * (2 * attention.head_size + 1);
  return values;
}

std::int64_t kept(const MlpSpec& mlp) { return (mlp.kind == MlpKind::kGelu ? 2 : 4) * mlp.out.in; }

std::int64_t kept(const HeadSpec& /*head*/) { return 0; }

template <class Weighted>
requires requires(Weighted part) { part.bias; }
void add(std::vector<TensorSpec>& tensors, const Weighted& part) {
  tensors.push_back(part.weight);
  if (part.bias) tensors.push_back(*part.bias);
}
void add(std::vector<TensorSpec>& tensors, const AttentionSpec& part) {
  for (const ProjectionSpec& projection : part.in) add(tensors, projection);
  if (part.query_norm) add(tensors, *part.query_norm);
  if (part.key_norm) add(tensors, *part.key_norm);
  add(tensors, part.out);
}
void add(std::vector<TensorSpec>& tensors, const MlpSpec& part) {
  for (const ProjectionSpec& projection : part.in) add(tensors, projection);
  add(tensors, part.out);
}
void add(std::vector<TensorSpec>& tensors, const HeadSpec& part) { add(tensors, part.projection); }

// Llama 3.1's: long waves are slowed down by the factor, short ones are kept, and those between are mixed.
double scaled_as_llama3(const RotarySpec& rotary, double frequency) {
  const double turns = rotary.original_context * frequency / (2 * std::numbers::pi);  // within the original context
  if (turns < rotary.low_freq_factor) return frequency / rotary.factor;
  if (turns > rotary.high_freq_factor) return frequency;
  const double kept = (turns - rotary.low_freq_factor) / (rotary.high_freq_factor - rotary.low_freq_factor);
  return (1 - kept) * frequency / rotary.factor + kept * frequency;
}

}  // namespace

std::int64_t element_count(const TensorSpec& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.shape) count *= extent;
  return count;
}

std::vector<LayerSpec> model_layers(const ModelConfig& model) {
  return model.kind == ModelKind::kGpt2 ? gpt2_layers(model) : llama_layers(model);
}

std::vector<TensorSpec> tensors_of(const PartSpec& part) {
  std::vector<TensorSpec> tensors;
  std::visit([&tensors](const auto& one) { add(tensors, one); }, part);
  return tensors;
}

double cost_of(const PartSpec& part) {
  return std::visit([](const auto& one) { return cost(one); }, part);
}

double training_multiply_adds(const std::vector<LayerSpec>& layers) {
  constexpr double kPasses = 3;
  double sum = 0;
  for (const LayerSpec& layer : layers) {
    for (const PartSpec& part : layer.parts) {
      sum += std::visit([](const auto& one) { return products_of(one); }, part);
    }
  }
  return kPasses * sum;
}

std::int64_t kept_of(const PartSpec& part) {
  return std::visit([](const auto& one) { return kept(one); }, part);
}

std::vector<float> rotary_frequencies(const RotarySpec& rotary) {
  ENSURE(rotary.head_size % 2 == 0, "rotary positions turn pairs of elements");
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < rotary.head_size; i += 2) {
    const double exponent = static_cast<double>(i) / static_cast<double>(rotary.head_size);
    double frequency = std::pow(rotary.theta, -exponent);
    if (rotary.scaling == RopeScaling::kLinear) frequency /= rotary.factor;
    if (rotary.scaling == RopeScaling::kLlama3) frequency = scaled_as_llama3(rotary, frequency);
    frequencies.push_back(static_cast<float>(frequency));
  }
  return frequencies;
}

}  // namespace shoal
