// Lists a model's tensors for import and export, out of its list of layers (model/layer_list.h), which alone knows the
// names.
#pragma once

#include "runtime/base/config.h"
#include "runtime/storage/hugging_face/model_tensors.h"

namespace shoal {

[[nodiscard]] ModelTensors model_tensors(const ModelConfig& model);

}  // namespace shoal
