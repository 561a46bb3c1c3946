// Chooses how many layers each stage has when the machines of the stages are given and unequal (`pipeline.cut = [..]`).
//
// Pure. The slowest stage decides: its layers' work divided by the speed of its machines is as small as can be.
#pragma once

#include <vector>

namespace shoal {

// layer_costs: work of each layer, above zero; the first has the embedding's, the last one the head's. speeds: of each
// stage, all its machines together, above zero. Returns the layers of each stage, at least one; of equally good cuts
// the one whose later stages begin earliest. Ensures that there is a layer for each stage. O(stages x layers^2).
[[nodiscard]] std::vector<int> cut_for(const std::vector<double>& layer_costs, const std::vector<double>& speeds);

}  // namespace shoal
