// A model as far as planning needs it: the figures of its layers, and the stages that a cut joins them to.
//
// Pure values. The model, which this folder does not see, states its layers and its cuts once; every stage of every cut
// follows from them, because each figure of a stage is the sum of its layers' figures, or the largest of them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

struct CutStage {
  int first_layer = 0;
  int layer_count = 0;
  bool has_head = false;
  std::uint64_t parameter_count = 0;
  std::uint64_t state_bytes = 0;  // size of an image of its state
  double cost = 0;                // multiply-adds of a forward pass per token
  std::uint64_t kept_values = 0;  // float32 values that its blocks keep of each token for the backward pass
  std::uint64_t copy_bytes = 0;   // size of the copies of its weights that products in bf16 read
  std::uint64_t mask_values = 0;  // float32 values of dropout's masks that a processor keeps of each token beside them
  std::uint64_t passing_values = 0;  // float32 values that a backward pass holds of each token beside all these
  std::uint64_t largest_tensor = 0;  // elements

  friend bool operator==(const CutStage&, const CutStage&) = default;
};

struct ModelCuts {
  std::vector<CutStage> layers;  // each as a stage of its own; the first has the embedding, the last the head
  std::vector<std::vector<int>> by_stages;  // [s - 1]: the layers of each of s stages, unless a list says them
};

// Joins the layers to a configuration's pipeline.stages, by its list of layers if it has one. Errors: kUsage, for a
// number of stages without a cut, or a list that does not give every layer to a stage.
[[nodiscard]] Result<std::vector<CutStage>> stages_of(const ModelCuts& model, const PipelineConfig& pipeline);

}  // namespace shoal
