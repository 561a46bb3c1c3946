// Chooses how many blocks each stage has: by cost, or evenly.
//
// Pure. A cut lists the blocks of each stage, at least one. The embedding belongs to the first block and the head to
// the last one, with their costs.
#pragma once

#include <vector>

#include "runtime/base/config.h"

namespace shoal {

// Costs of a model's layers, in multiply-adds of a forward pass per token: the embedding's, each block's, the head's.
[[nodiscard]] std::vector<double> layer_costs(const ModelConfig& model);

// The cost of a stage with blocks [first, end).
[[nodiscard]] double cost_of_blocks(const std::vector<double>& costs, int first, int end);

// Returns the cuts into 1, 2, ... `stages` stages whose dearest stage is as cheap as possible; of equally good ones,
// that whose later stages begin earliest. Ensures that there is a block for each stage. O(stages x blocks^2).
[[nodiscard]] std::vector<std::vector<int>> best_cuts(const std::vector<double>& costs, int stages);

// Returns the cut whose first stages have one block more where the blocks do not divide.
[[nodiscard]] std::vector<int> even_cut(int blocks, int stages);

// Returns the cuts of a configuration's model into 1, 2, ... stages, up to one for each block: by `pipeline.cut` where
// it says so, and by cost where it is a list of another length.
[[nodiscard]] std::vector<std::vector<int>> cuts_by_stages(const Config& config);

}  // namespace shoal
