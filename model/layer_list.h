// A model as a list of layers made of parts: what each part holds and costs. The only place that knows the names of
// tensors.
//
//   layer 0          embedding
//   layers 1 .. n    a block: x + attention(norm(x)), then x + mlp(norm(x))
//   layer n + 1      norm, head
//
// Pure and without torch: spawner, plan, checkpoints, import and export read it too; parts/ computes it.
// gpt2: Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), names as in GPT-2's checkpoints.
// llama: Touvron et al., "LLaMA" (2023), and Qwen3 with model.qk_norm; names as in transformers' LlamaForCausalLM and
// Qwen3ForCausalLM.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "model/tensor_spec.h"
#include "runtime/base/config.h"

namespace shoal {

// x W (+ b). GPT-2's weights are [in, out], Llama's [out, in].
enum class Orientation { kInOut, kOutIn };
struct ProjectionSpec {
  std::int64_t in = 0;
  std::int64_t out = 0;
  Orientation orientation = Orientation::kInOut;
  TensorSpec weight;
  std::optional<TensorSpec> bias;
};

// kLayer: (x - mean) / sqrt(variance + eps) weight + bias; Ba et al. (2016). kRms: x / sqrt(mean of x^2 + eps) weight;
// Zhang and Sennrich (2019).
enum class NormKind { kLayer, kRms };
struct NormSpec {
  NormKind kind = NormKind::kLayer;
  std::int64_t width = 0;
  double eps = 0;
  TensorSpec weight;
  std::optional<TensorSpec> bias;
};

// Rotary positions: element i of a head's first half turns with element i of its second half by position x frequency i;
// Su et al. (2021), in the layout of transformers.
struct RotarySpec {
  std::int64_t head_size = 0;
  double theta = 0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1;
  double low_freq_factor = 1;  // kLlama3 alone, as the two below
  double high_freq_factor = 4;
  double original_context = 0;
};

// Tokens, and learned positions where there are some.
struct EmbeddingSpec {
  TensorSpec tokens;
  std::optional<TensorSpec> positions;
};

// Causal attention; kv_heads divides heads, and each key and value serves heads / kv_heads queries in a row (Ainslie et
// al., "GQA", 2023).
struct AttentionSpec {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t context = 0;
  std::vector<ProjectionSpec> in;                // one for queries, keys and values in a row, or one for each
  std::optional<NormSpec> query_norm, key_norm;  // over the elements of a head
  std::optional<RotarySpec> rotary;
  ProjectionSpec out;
};

// kGelu: gelu(x W) W', tanh form. kSwiglu: (silu(x G) * x U) D; Shazeer, "GLU Variants Improve Transformer" (2020).
enum class MlpKind { kGelu, kSwiglu };
struct MlpSpec {
  MlpKind kind = MlpKind::kGelu;
  std::vector<ProjectionSpec> in;  // kGelu: one; kSwiglu: gate and up
  ProjectionSpec out;
};

struct HeadSpec {
  ProjectionSpec projection;
};

using PartSpec = std::variant<EmbeddingSpec, NormSpec, AttentionSpec, MlpSpec, HeadSpec>;

struct LayerSpec {
  std::optional<int> block;     // none: embedding, or final norm and head
  std::vector<PartSpec> parts;  // of a block: norm and attention, norm and MLP, each pair added to what it was given
};

// Layers in order, model.layers + 2 of them.
[[nodiscard]] std::vector<LayerSpec> model_layers(const ModelConfig& model);

// A part's tensors, in no stated order.
[[nodiscard]] std::vector<TensorSpec> tensors_of(const PartSpec& part);
// Multiply-adds of a forward pass per token; what is bound by memory or by transcendental functions is weighed in.
[[nodiscard]] double cost_of(const PartSpec& part);

// Multiply-adds of a forward pass and of a backward pass, which has twice as many, per token: of matrix products alone,
// two FLOPs each. Chowdhery et al., "PaLM" (2022), Appendix B: 6 N + 12 L H Q T FLOPs, where N counts what is
// multiplied (an embedding is looked up), and attention counts whole though a causal one leaves half out.
[[nodiscard]] double training_multiply_adds(const std::vector<LayerSpec>& layers);

// float32 values that a forward pass keeps of each token for the backward pass. Dropout's masks are left out.
[[nodiscard]] std::int64_t kept_of(const PartSpec& part);

// Frequencies in radians per position, one for each pair of elements, rounded to float32 as transformers has them.
[[nodiscard]] std::vector<float> rotary_frequencies(const RotarySpec& rotary);

}  // namespace shoal
