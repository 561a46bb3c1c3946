// The model of a configuration as planning needs it: runtime/plan does not see the model, and is handed these values.
// Bytes are those of an image of each stage's state.
#pragma once

#include <vector>

#include "model/partition.h"
#include "model/pass_memory.h"
#include "model/precision_memory.h"
#include "model/stage_cuts.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/plan/resources/cut_stage.h"

namespace shoal {

// Errors: kUsage, for a model that has fewer blocks than stages.
[[nodiscard]] inline Result<std::vector<CutStage>> cut_of(const Config& config) {
  const auto stages = partition(config);
  if (!stages) return stages.failure();
  std::vector<CutStage> cut;
  for (const StagePlan& stage : *stages) {
    cut.push_back({stage.first_layer, stage.layer_count, stage.has_head, stage.parameter_count,
                   state_bytes(stage, config), stage.cost, stage.kept_values, bf16_copy_bytes(stage, config),
                   mask_values(stage, config.model), passing_values(stage, config.model), largest_tensor(stage)});
  }
  return cut;
}

// Every layer and every cut. Errors: kUsage, as above.
[[nodiscard]] inline Result<ModelCuts> cuts_of(const Config& config) {
  if (const auto wished = partition(config); !wished) return wished.failure();
  Config single = config;
  single.pipeline.stages = config.model.layers;
  single.pipeline.cut = Cut::kEven;
  auto layers = cut_of(single);
  if (!layers) return layers.failure();
  return ModelCuts{std::move(*layers), cuts_by_stages(config)};
}

}  // namespace shoal
