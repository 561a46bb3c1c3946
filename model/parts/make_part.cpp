// One overload for each kind.
#include "model/parts/make_part.h"

#include <variant>

#include "model/parts/attention.h"
#include "model/parts/embedding.h"
#include "model/parts/mlp.h"
#include "model/parts/norm.h"
#include "model/parts/projection.h"

namespace shoal {
namespace {

struct Maker {
  const Parameters& parameters;

  std::unique_ptr<ModelPart> operator()(const EmbeddingSpec& spec) const {
    return std::make_unique<Embedding>(spec, parameters);
  }
  std::unique_ptr<ModelPart> operator()(const NormSpec& spec) const {
    return make_norm(spec, parameters, parameters.product_type());
  }
  std::unique_ptr<ModelPart> operator()(const AttentionSpec& spec) const {
    return std::make_unique<Attention>(spec, parameters);
  }
  std::unique_ptr<ModelPart> operator()(const MlpSpec& spec) const { return make_mlp(spec, parameters); }
  std::unique_ptr<ModelPart> operator()(const HeadSpec& spec) const {
    return std::make_unique<Head>(spec.projection, parameters);
  }
};

}  // namespace

std::unique_ptr<ModelPart> make_part(const PartSpec& spec, const Parameters& parameters) {
  return std::visit(Maker{parameters}, spec);
}

}  // namespace shoal
