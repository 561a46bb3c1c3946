// One stage's weights and optimiser state: flat buffers, their file image, their digest, their update.
//
// Torch-free: the executor lays tensors over these buffers. Names and shapes are those of the plan; the image is the
// checkpoint's safetensors: `<name>`, `optimizer.exp_avg.<name>`, `optimizer.exp_avg_sq.<name>`, float32. SGD has no
// optimiser state. With sync.mode = diloco the outer state is part of it (outer/outer_state.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "messages/tensor_blob.h"
#include "model/partition.h"
#include "model/update_kernels.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/device/flat_layout.h"
#include "runtime/device/gradient_sums.h"
#include "runtime/device/outer/outer_state.h"
#include "runtime/device/state_image.h"
#include "runtime/executor/stage_executor.h"

namespace shoal {

class StageState {
 public:
  // Starts with empty averages. `layout` must outlive this.
  StageState(const FlatLayout& layout, const Config& config, BeginsWith begins);

  // Writes over the weights in place, one pass per tensor.
  void update(const GradientSums& sums, const UpdateOrder& order);

  // Digest of what every replica of the stage holds alike: weights and averages; with rounds, the agreed outer state.
  [[nodiscard]] std::uint64_t digest() const;
  [[nodiscard]] TensorBlob image() const;
  // Takes this stage's tensors out of an image that may hold others too. kInvalidData: nothing was changed.
  [[nodiscard]] Status load(const TensorBlob& image);
  // The same image, which is read while this lives: keep_for_readers() is called before values change. Who asks before
  // they do shares its bytes.
  [[nodiscard]] std::shared_ptr<ImageSource> image_source();
  // Loads an image piece by piece. True: that was the last one. Errors: kInvalidData.
  [[nodiscard]] Result<bool> load_piece(const ImagePiece& piece);
  // Called before the buffers are written from outside; all that is done here calls it itself.
  void keep_for_readers();
  // Ensures that there are values: an image that was to be loaded has come to its end. Whoever reads the buffers from
  // outside calls it; all that is done here calls it itself.
  void ensure_begun() const;

  // The rule for a tensor's next AdamW update; counts it where averages start anew (inner_state = reset).
  [[nodiscard]] AdamwRule next_adamw_rule(std::size_t tensor, const UpdateOrder& order);

  // The buffers that a device with memory of its own holds copies of: weights, then the optimiser's averages.
  [[nodiscard]] std::vector<std::span<float>> buffers();
  // inner_state = reset: the bias corrections of these tensors' averages, which the device has emptied, start anew.
  void restart_updates(const std::vector<std::size_t>& tensors);
  // Returns those of the outer state, which such a device has, too, in its order; none without rounds.
  [[nodiscard]] std::vector<std::span<float>> outer_buffers();

  [[nodiscard]] std::span<float> weights_of(const FlatTensor& tensor) { return weights_.of(tensor); }

  // Returns what all replicas of the stage agree on: with rounds the outer parameters, otherwise the weights.
  [[nodiscard]] std::span<float> agreed_of(const FlatTensor& tensor) {
    return outer_ ? part_of(outer_->agreed(), tensor) : weights_.of(tensor);
  }

  // sync.mode = diloco only (ensured): what the executor's methods of these names say, on the processor.
  [[nodiscard]] TensorBlob contribute_round(std::uint32_t fragment);
  [[nodiscard]] std::uint64_t apply_round(const RoundUpdate& update);
  std::vector<std::uint64_t> restart_from_outer();

 private:
  // Everything but the outer state; `Self` const where it is only read.
  template <class Value, class Self>
  static void list_fields(Self& self, std::vector<StateField<Value>>& fields);
  // inner_state = reset: the averages of these tensors start anew, and so does their bias correction.
  void reset_averages(const std::vector<std::size_t>& tensors);
  // inner_state = average: takes the averages out of a mean of all three.
  void take_averages(const Fragment& carried, const TensorBlob& mean);
  [[nodiscard]] ConstStateFields fields() const;
  [[nodiscard]] StateImageLoader loader();

  const FlatLayout& layout_;
  OptimConfig optim_;
  InnerState inner_state_;  // keep where there is nothing to average or reset
  FlatBuffer<float> weights_;
  FlatBuffer<float> exp_avg_;     // empty with SGD
  FlatBuffer<float> exp_avg_sq_;  // empty with SGD
  // inner_state = reset: updates of each tensor since its averages were empty; otherwise no elements. A float holds
  // them exactly: they are fewer than 2^24.
  std::vector<float> updates_;
  std::optional<OuterState> outer_;           // diloco
  std::weak_ptr<StateImageBytes> read_;       // of the present values, while somebody reads them
  std::unique_ptr<StateImageLoader> loader_;  // of an image that comes piece by piece
  bool has_begun_;
};

}  // namespace shoal
