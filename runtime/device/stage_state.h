// One stage's weights and optimiser state: flat buffers, their file image, their digest, their update.
//
// Torch-free: the executor lays tensors over these buffers. Names and shapes are those of the plan; the image is the
// checkpoint's safetensors: `<name>`, `optimizer.exp_avg.<name>`, `optimizer.exp_avg_sq.<name>`, float32. SGD has no
// optimiser state.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "messages/tensor_blob.h"
#include "model/partition.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/device/flat_layout.h"
#include "runtime/device/gradient_sums.h"

namespace shoal {

class StageState {
 public:
  // Starts at the initial weights of (seed, name), with empty averages. `layout` must outlive this.
  StageState(const FlatLayout& layout, const Config& config);

  // Writes over the weights in place, one pass per tensor.
  void update(const GradientSums& sums, const UpdateOrder& order);

  [[nodiscard]] std::uint64_t digest() const;
  [[nodiscard]] TensorBlob image() const;
  // Takes this stage's tensors out of an image that may hold others too. kInvalidData: nothing was changed.
  [[nodiscard]] Status load(const TensorBlob& image);

  [[nodiscard]] std::span<float> weights_of(const FlatTensor& tensor) { return weights_.of(tensor); }

 private:
  // The buffers with the prefix of their names in the image; const where `self` is.
  template <class Self>
  [[nodiscard]] static auto parts(Self& self);

  const FlatLayout& layout_;
  OptimConfig optim_;
  FlatBuffer<float> weights_;
  FlatBuffer<float> exp_avg_;     // empty with SGD
  FlatBuffer<float> exp_avg_sq_;  // empty with SGD
};

}  // namespace shoal
