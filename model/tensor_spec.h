// A tensor of a model: its global name, its shape, and what follows from its part: how it starts, whether it decays.
//
// Pure and without torch. Names do not depend on the cut, so that any cut can load any other's files. Whoever needs to
// know what a tensor is (optimiser, fragments of rounds, initial weights) reads it here, never from the name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal {

// kNormal: normal(0, init_std). kResidual: a projection back to the residual stream, normal(0, init_std / sqrt(2
// layers)).
enum class InitialValues { kNormal, kResidual, kOnes, kZeros };

struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  InitialValues initial = InitialValues::kNormal;
  bool decays = false;                      // under optim.weight_decay
  bool is_matrix = false;                   // a projection inside a block: embeddings, head, norms and biases are none
  std::optional<int> layer = std::nullopt;  // block; none for embedding, final norm and head
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

[[nodiscard]] std::int64_t element_count(const TensorSpec& tensor);

}  // namespace shoal
