// A stage on a device with a queue: the parts of the model by the device's arithmetic (math/device_math.h), activations
// that stay where they are.
//
// What a processor's executor does at once is queued here, and the figures that only the device knows (loss, tensors
// out of range) are copied to the host behind it. With Answering::kAtOnce each call waits for them and gives host
// tensors instead: for one process (--single). The device's memory that a call reads stays until its queue is past it:
// other stages' tensors are held for so long. Where the queue records, and work is the same each time, passes over the
// layers are replayed (stage_passes.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/partition.h"
#include "model/transformer.h"
#include "runtime/base/config.h"
#include "runtime/device/flat_layout.h"
#include "runtime/device/queue/borders.h"
#include "runtime/device/queue/device_queue.h"
#include "runtime/device/queue/device_state.h"
#include "runtime/device/queue/device_sums.h"
#include "runtime/device/queue/queued_reads.h"
#include "runtime/device/queue/stage_passes.h"
#include "runtime/executor/late_stage_executor.h"

namespace shoal {

class QueuedStageExecutor final : public LateStageExecutor {
 public:
  struct Settings {
    Answering answers = Answering::kAtOnce;
    std::shared_ptr<const DeviceMath> math = torch_math();
    BeginsWith begins = BeginsWith::kInitialWeights;
  };
  QueuedStageExecutor(const Config& config, StagePlan plan, std::shared_ptr<DeviceQueue> queue, Settings settings);
  ~QueuedStageExecutor() override;

  [[nodiscard]] LateEnding ending() override;
  void injure(DeviceInjury how) override;
  [[nodiscard]] TensorBlob forward(const MicrobatchWork& work) override;
  [[nodiscard]] BackwardResult backward(MicrobatchId microbatch, const TensorBlob& output_gradient,
                                        WeightGradients when) override;
  [[nodiscard]] BackwardResult forward_backward(const MicrobatchWork& work, WeightGradients when) override;
  [[nodiscard]] AccumulateResult accumulate(MicrobatchId microbatch) override;
  [[nodiscard]] EvaluateResult evaluate(const MicrobatchWork& work) override;
  void zero() override;
  [[nodiscard]] TensorBlob contribution() const override;
  [[nodiscard]] ReducedSum adopt_sum(const TensorBlob& sum, std::uint64_t token_count) override;
  void apply(const UpdateOrder& order) override;
  void skip() override { zero(); }
  [[nodiscard]] std::uint64_t state_digest() const override;
  [[nodiscard]] TensorBlob state_image() const override;
  [[nodiscard]] Status load_state(const TensorBlob& image) override;
  [[nodiscard]] std::shared_ptr<ImageSource> image_source() override;
  [[nodiscard]] Result<bool> load_piece(const ImagePiece& piece) override;
  [[nodiscard]] std::vector<std::string> tensor_names() const override;
  [[nodiscard]] TensorBlob contribute_round(std::uint32_t fragment) override;
  [[nodiscard]] std::uint64_t apply_round(const RoundUpdate& update) override;
  std::vector<std::uint64_t> restart_from_outer() override;

 private:
  using Slot = std::shared_ptr<StagePasses::Slot>;
  struct Models {
    std::unique_ptr<Transformer> trained;
    std::unique_ptr<Transformer> agreed;
  };
  struct Kept {  // a forward that waits for its backward; no tape where the forward will be computed again
    MicrobatchWork work;
    std::optional<Tape> tape;
    Slot slot = {};  // of recorded passes, in place of the tape
  };
  struct HalfDone {  // a backward that is not accumulated yet
    ParameterGradients gradients;
    std::uint64_t token_count = 0;
    at::Tensor loss;  // on the host, once the device is past it; last stage only
    QueuedReads::Residents read = {};
    Slot slot = {};  // of recorded passes, whose memory these gradients are
    std::vector<at::Tensor> recorded = {};
  };
  struct Figures {  // on the host, once the device is past them
    at::Tensor loss;
    at::Tensor loss_of_accumulated;
    at::Tensor is_within;  // bool, by tensor
  };

  [[nodiscard]] at::Tensor on_device(const TensorBlob& blob) { return on_device_of(*queue_, blob, reads_); }
  // Tokens stay on the host: their gradient's order is made there.
  [[nodiscard]] at::Tensor input_of(const MicrobatchWork& work);
  // To a neighbour. kReplayed: the next replay writes over the values' memory.
  enum class Memory : std::uint8_t { kOwn, kReplayed };
  [[nodiscard]] TensorBlob sent(const at::Tensor& values, Memory memory = Memory::kOwn) const;
  [[nodiscard]] BackwardResult half_done(const MicrobatchWork& work, Slot slot, StagePasses::Differentiated results);
  [[nodiscard]] BackwardResult differentiate(at::Tensor gradient, Tape& tape, const MicrobatchWork& work,
                                             WeightGradients when);
  void settle();
  [[nodiscard]] LateFigures read(const Figures& figures) const;

  Config config_;
  StagePlan plan_;
  FlatLayout layout_;
  Answering answers_;
  std::shared_ptr<DeviceQueue> queue_;
  std::shared_ptr<DeviceQueue> copies_;
  std::shared_ptr<const DeviceMath> math_;
  Borders borders_;
  std::unique_ptr<DeviceState> state_;
  std::unique_ptr<DeviceSums> sums_;
  Models models_;
  std::unique_ptr<StagePasses> passes_;  // none where nothing is recorded
  std::map<MicrobatchId, Kept> kept_;
  std::map<MicrobatchId, HalfDone> half_done_;
  Figures figures_;
  QueuedReads reads_;
};

}  // namespace shoal
