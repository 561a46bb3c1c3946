// Counts the tensors of projections, and the values that parts keep in bf16.
#include "model/precision_memory.h"

#include <variant>

namespace shoal {
namespace {

constexpr std::uint64_t kBf16Bytes = 2;

std::uint64_t elements_of(const ProjectionSpec& projection) {
  const std::int64_t bias = projection.bias ? element_count(*projection.bias) : 0;
  return static_cast<std::uint64_t>(element_count(projection.weight) + bias);
}

std::uint64_t elements_of(const std::vector<ProjectionSpec>& projections) {
  std::uint64_t elements = 0;
  for (const ProjectionSpec& projection : projections) elements += elements_of(projection);
  return elements;
}

// Elements of the tensors that products read.
struct CopiedElements {
  std::uint64_t operator()(const EmbeddingSpec& /*part*/) const { return 0; }
  std::uint64_t operator()(const NormSpec& /*part*/) const { return 0; }
  std::uint64_t operator()(const AttentionSpec& part) const { return elements_of(part.in) + elements_of(part.out); }
  std::uint64_t operator()(const MlpSpec& part) const { return elements_of(part.in) + elements_of(part.out); }
  std::uint64_t operator()(const HeadSpec& part) const { return elements_of(part.projection); }
};

// Values that a part keeps in bf16. What a norm makes for a product is one of them.
struct KeptInBf16 {
  std::int64_t operator()(const EmbeddingSpec& /*part*/) const { return 0; }
  std::int64_t operator()(const NormSpec& part) const { return part.width; }
  std::int64_t operator()(const AttentionSpec& part) const { return 4 * part.heads * part.head_size; }
  std::int64_t operator()(const MlpSpec& part) const { return (part.kind == MlpKind::kGelu ? 2 : 3) * part.out.in; }
  std::int64_t operator()(const HeadSpec& /*part*/) const { return 0; }
};

// Of a SwiGLU in bf16 the open gate is not kept.
std::int64_t not_kept(const PartSpec& part) {
  const auto* mlp = std::get_if<MlpSpec>(&part);
  return mlp != nullptr && mlp->kind == MlpKind::kSwiglu ? mlp->out.in : 0;
}

}  // namespace

std::uint64_t bf16_copy_bytes(const StagePlan& plan, const Config& config) {
  if (config.model.precision == Precision::kFp32) return 0;
  std::uint64_t elements = 0;
  for (const LayerSpec& layer : layers_of(config.model, plan)) {
    for (const PartSpec& part : layer.parts) elements += std::visit(CopiedElements{}, part);
  }
  return (config.sync.mode == SyncMode::kDiloco ? 2 : 1) * kBf16Bytes * elements;
}

std::int64_t kept_in_bf16(const PartSpec& part) {
  const std::int64_t narrow = std::visit(KeptInBf16{}, part);
  return kept_of(part) - not_kept(part) - narrow + (narrow + 1) / 2;
}

}  // namespace shoal
