// The cut of a model into pipeline stages, and the names and shapes of the weights each stage holds.
//
// Pure and without torch: the spawner, `shoal plan` and the checkpoints use it too. Layers stay whole and in order;
// the first stage also holds the embeddings, the last one the final norm and the head, which weigh in the cut. The
// names are those of `shoal init` and GPT-2's checkpoints: they are global, so that any cut can load any other's files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

[[nodiscard]] std::int64_t element_count(const TensorSpec& tensor);

struct StagePlan {
  int first_layer = 0;
  int layer_count = 0;
  bool has_embedding = false;
  bool has_head = false;
  std::vector<TensorSpec> tensors;  // ascending by name, byte order
  std::uint64_t parameter_count = 0;
  double cost = 0;  // multiply-adds of a forward pass per token
};

// Cuts the model into `stages` contiguous parts so that the dearest part is as cheap as possible. Every stage has at
// least one layer. Errors: kUsage when stages < 1 or stages > layers.
[[nodiscard]] Result<std::vector<StagePlan>> partition(const ModelConfig& model, int stages);

// Bytes of the tensors in an image of this stage's state: weights, averages, and what rounds keep beside them.
[[nodiscard]] std::uint64_t state_bytes(const StagePlan& plan, const Config& config);

// The whole model as one stage: what --single, init, eval and sample hold.
[[nodiscard]] StagePlan whole_model(const ModelConfig& model);

}  // namespace shoal
