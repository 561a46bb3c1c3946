// Makes the part that a description asks for: the only place that knows all kinds of parts.
// A new kind of part is an alternative of PartSpec (layer_list.h) and a line here.
#pragma once

#include <memory>

#include "model/layer_list.h"
#include "model/parts/part.h"

namespace shoal {

[[nodiscard]] std::unique_ptr<ModelPart> make_part(const PartSpec& spec, const Parameters& parameters);

}  // namespace shoal
