// The two MLPs (layer_list.h has the formulas).
// Shape letters: F elements of the hidden layer.
#pragma once

#include <memory>

#include "model/layer_list.h"
#include "model/parts/part.h"

namespace shoal {

[[nodiscard]] std::unique_ptr<ModelPart> make_mlp(const MlpSpec& spec, const Parameters& parameters);

}  // namespace shoal
