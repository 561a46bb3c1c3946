// Scratch memory and launches, operation by operation.
#include "runtime/device/cuda/math/kernel_math.h"

#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "runtime/device/cuda/kernels/cross_entropy.h"
#include "runtime/device/cuda/kernels/injury.h"
#include "runtime/device/cuda/kernels/mean.h"
#include "runtime/device/cuda/kernels/update.h"
#include "runtime/device/cuda/math/flat_kernels.h"
#include "runtime/device/cuda/math/fused_kernels.h"
#include "runtime/device/cuda/math/launched.h"
#include "runtime/device/cuda/math/outer_kernels.h"
#include "runtime/device/cuda/math/wire_kernels.h"

namespace shoal {
namespace {

using gpu::Bf16;

constexpr std::uint64_t kHangs = 60'000'000'000;  // ns

at::Tensor scratch(std::int64_t count, at::ScalarType dtype, const at::Tensor& beside) {
  return at::empty({count}, beside.options().dtype(dtype));
}

class KernelMath final : public DeviceMath {
 public:
  explicit KernelMath(std::shared_ptr<DeviceQueue> queue) : queue_(std::move(queue)), fused_(queue_) {}

  void divide(const Division& of, const at::Tensor& mean) const override {
    auto* to = written_to<float>(mean);
    if (of.sums.scalar_type() == at::kLong) {
      const gpu::MeanOfExact from{read_from<std::int64_t>(of.sums), of.fraction_bits, of.tokens};
      check_launched(gpu::mean_of_exact(from, count_of(mean), to, stream()), "mean_of_exact");
    } else {
      const auto* from = read_from<float>(of.sums);
      check_launched(gpu::mean_of_fast(from, count_of(mean), of.tokens, to, stream()), "mean_of_fast");
    }
  }

  void apply_sgd(const SgdCoefficients& coefficients, const SgdTensors& at) const override {
    const gpu::SgdArrays arrays{written_to<float>(at.weights), read_from<float>(at.gradient),
                                written_to<Bf16>(at.copy)};
    check_launched(gpu::apply_sgd(coefficients, arrays, count_of(at.weights), stream()), "apply_sgd");
  }

  // In place where rows of the vocabulary begin where the kernel wants them, padded ones among them.
  [[nodiscard]] LossAndGradient loss_and_gradient(const at::Tensor& logits_BTV,
                                                  const at::Tensor& targets_BT) const override {
    const std::int64_t B = logits_BTV.size(0), T = logits_BTV.size(1), V = logits_BTV.size(2);
    std::int64_t stride = logits_BTV.stride(1);
    const bool is_placed = logits_BTV.stride(2) == 1 && stride % 8 == 0 && logits_BTV.stride(0) == T * stride;
    at::Tensor rows = logits_BTV;
    if (!is_placed) {
      stride = (V + 7) / 8 * 8;
      rows = at::empty({B, T, stride}, logits_BTV.options());
      rows.narrow(2, 0, V).copy_(logits_BTV);
    }
    const at::Tensor targets = targets_BT.contiguous();
    ENSURE(targets.scalar_type() == at::kInt && targets.numel() == B * T, "an int32 target for each position");
    const at::Tensor losses = scratch(B * T, at::kFloat, logits_BTV);
    const at::Tensor sum = at::zeros({}, logits_BTV.options().dtype(at::kDouble));
    const gpu::LossShape shape{count_of(losses), static_cast<std::size_t>(V), static_cast<std::size_t>(stride)};
    const auto launched = [&]<class Logit>(Logit) {
      const gpu::LossArrays<Logit> arrays{written_to<Logit>(rows), read_from<std::int32_t>(targets),
                                          written_to<float>(losses)};
      return gpu::loss_and_gradient(shape, arrays, stream());
    };
    const bool is_float = rows.scalar_type() == at::kFloat;
    check_launched(is_float ? launched(float{}) : launched(Bf16{}), "loss_and_gradient");
    check_launched(gpu::sum_losses(read_from<float>(losses), count_of(losses), written_to<double>(sum), stream()),
                   "sum_losses");
    return {sum.to(at::kFloat), rows.narrow(2, 0, V)};
  }

  [[nodiscard]] std::unique_ptr<FlatMath> of_flat(std::vector<FlatSpan> spans, at::Device device) const override {
    return std::make_unique<FlatKernels>(queue_, spans, device);
  }

  [[nodiscard]] std::unique_ptr<OuterArithmetic> of_outer(at::Device /*device*/) const override {
    return std::make_unique<OuterKernels>(queue_);
  }

  void encode(const at::Tensor& values, const EncodedValues& into) const override {
    encode_by_kernels(values, into, stream());
  }
  void decode(const EncodedValues& from, const at::Tensor& values) const override {
    decode_by_kernels(from, values, stream());
  }

  void injure(DeviceInjury how) const override {
    if (how == DeviceInjury::kIllegalAddress) return check_launched(gpu::write_nowhere(stream()), "write_nowhere");
    check_launched(gpu::spin(kHangs, stream()), "spin");
  }

  [[nodiscard]] const FusedMath* fused() const override { return &fused_; }

 private:
  [[nodiscard]] gpu::Stream stream() const { return queue_->stream(); }

  std::shared_ptr<DeviceQueue> queue_;
  FusedKernels fused_;
};

}  // namespace

std::unique_ptr<DeviceMath> make_kernel_math(std::shared_ptr<DeviceQueue> queue) {
  return std::make_unique<KernelMath>(std::move(queue));
}

}  // namespace shoal
