// The cut of a model into pipeline stages, and the names and shapes of the weights each stage holds.
//
// Pure and without torch: the spawner, `shoal plan` and the checkpoints use it too. Blocks stay whole and in order;
// the first stage also holds the embeddings, the last one the final norm and the head, which weigh in the cut by cost.
// Names, shapes and costs are those of layer_list.h.
#pragma once

#include <cstdint>
#include <vector>

#include "model/layer_list.h"
#include "model/tensor_spec.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

struct StagePlan {
  int first_layer = 0;  // of the blocks
  int layer_count = 0;
  bool has_embedding = false;
  bool has_head = false;
  std::vector<TensorSpec> tensors;  // ascending by name, byte order
  std::uint64_t parameter_count = 0;
  double cost = 0;                // multiply-adds of a forward pass per token
  std::uint64_t kept_values = 0;  // float32 values that blocks keep of each token for the backward pass; bf16: half
};

// Cuts the model into `stages` contiguous parts so that the dearest part is as cheap as possible. Every stage has at
// least one layer. Errors: kUsage when stages < 1 or stages > layers.
[[nodiscard]] Result<std::vector<StagePlan>> partition(const ModelConfig& model, int stages);

// The cut that a configuration wants: `pipeline.stages` parts, by `pipeline.cut`. Errors: kUsage, as above, and for a
// list that does not fit the model (config_file.h has checked one that came out of a file).
[[nodiscard]] Result<std::vector<StagePlan>> partition(const Config& config);

// Layers of a stage, in order.
[[nodiscard]] std::vector<LayerSpec> layers_of(const ModelConfig& model, const StagePlan& plan);

// Bytes of the tensors in an image of this stage's state: weights, averages, and what rounds keep beside them.
[[nodiscard]] std::uint64_t state_bytes(const StagePlan& plan, const Config& config);

// The whole model as one stage: what --single, init, eval and sample hold.
[[nodiscard]] StagePlan whole_model(const ModelConfig& model);

}  // namespace shoal
