// Inputs are decoded, outputs encoded; what is neither input nor output passes through.
#include "runtime/device/decorators/encoding_stage_executor.h"

#include <span>
#include <utility>

#include "runtime/base/ensure.h"
#include "runtime/sync/wire/wire_codec.h"

namespace shoal {

EncodingStageExecutor::EncodingStageExecutor(std::unique_ptr<StageExecutor> device, WireFormat format,
                                             std::vector<std::int64_t> shape)
    : ForwardingStageExecutor(std::move(device)), format_(format), shape_(std::move(shape)) {
  for (const std::int64_t extent : shape_) count_ *= static_cast<std::size_t>(extent);
}

TensorBlob EncodingStageExecutor::forward(const MicrobatchWork& work) {
  return encoded(device_->forward(decoded(work)));
}

BackwardResult EncodingStageExecutor::backward(MicrobatchId microbatch, const TensorBlob& output_gradient,
                                               WeightGradients when) {
  return encoded(device_->backward(microbatch, decoded(output_gradient), when));
}

BackwardResult EncodingStageExecutor::forward_backward(const MicrobatchWork& work, WeightGradients when) {
  return encoded(device_->forward_backward(decoded(work), when));
}

EvaluateResult EncodingStageExecutor::evaluate(const MicrobatchWork& work) {
  EvaluateResult result = device_->evaluate(decoded(work));
  result.activation = encoded(std::move(result.activation));
  return result;
}

// Nothing stays nothing: the first stage has no gradient to give, the last one no activation.
TensorBlob EncodingStageExecutor::encoded(TensorBlob values) const {
  if (!values.has_value()) return values;
  ENSURE(values.dtype == DType::kFloat32 && values.shape == shape_, "all activations of a run have one shape");
  auto fewer = encode_values(format_, std::span(values.as<float>(), count_));
  return fewer.ok() ? std::move(*fewer) : values;
}

BackwardResult EncodingStageExecutor::encoded(BackwardResult result) const {
  result.input_gradient = encoded(std::move(result.input_gradient));
  return result;
}

TensorBlob EncodingStageExecutor::decoded(const TensorBlob& sent) const {
  if (sent.dtype != DType::kUint8) return sent;
  auto bytes = std::make_shared<AlignedBuffer>(count_ * sizeof(float));
  const Status read = decode_values(sent, format_, std::span(reinterpret_cast<float*>(bytes->data()), count_));
  ENSURE(read.ok(), read.failure().message);
  return {DType::kFloat32, shape_, std::move(bytes)};
}

MicrobatchWork EncodingStageExecutor::decoded(const MicrobatchWork& work) const {
  MicrobatchWork plain = work;
  plain.input = decoded(work.input);
  return plain;
}

}  // namespace shoal
