// Integers in, integers out: small enough that every sum can be checked by eye.
#include "tests/support/fake_executor.h"

#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/compose.h"

namespace shoal {

TensorBlob make_values(DType dtype, const std::vector<std::int64_t>& values) {
  auto bytes = std::make_shared<AlignedBuffer>(values.size() * size_of(dtype));
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (dtype == DType::kInt64) {
      std::memcpy(bytes->data() + at * sizeof(std::int64_t), &values[at], sizeof(std::int64_t));
    } else {
      const auto value = static_cast<float>(values[at]);
      std::memcpy(bytes->data() + at * sizeof(float), &value, sizeof(float));
    }
  }
  return TensorBlob{dtype, {static_cast<std::int64_t>(values.size())}, std::move(bytes)};
}

std::vector<std::int64_t> values_of(const TensorBlob& blob) {
  std::vector<std::int64_t> values;
  for (std::int64_t at = 0; at < blob.element_count(); ++at) {
    values.push_back(blob.dtype == DType::kInt64 ? blob.as<std::int64_t>()[at]
                                                 : static_cast<std::int64_t>(blob.as<float>()[at]));
  }
  return values;
}

FakeExecutor::FakeExecutor(FakeShape shape)
    : shape_(shape), accumulators_(shape.microbatch_count, 0), weights_(shape.microbatch_count, 0) {}

TensorBlob FakeExecutor::input_of(std::uint32_t stage, StepId step, MicrobatchId microbatch) {
  return make_values(DType::kInt64, {stage, static_cast<std::int64_t>(step.value), microbatch.value});
}

void FakeExecutor::check_input(const MicrobatchWork& work) const {
  CHECK(work.input == input_of(shape_.stage, work.step, work.microbatch),
        compose("stage ", shape_.stage, " got another input for microbatch ", work.microbatch, " of step ", work.step));
}

void FakeExecutor::spring_trap(StepId step, MicrobatchId microbatch, Pass pass) const {
  const bool is_here = trap_.call && trap_.step == step && trap_.microbatch == microbatch && trap_.pass == pass;
  if (is_here) trap_.call();
}

TensorBlob FakeExecutor::forward(const MicrobatchWork& work) {
  spring_trap(work.step, work.microbatch, Pass::kForward);
  CHECK(shape_.stage + 1 < shape_.stage_count, "the last stage computes loss and gradient at once");
  check_input(work);
  kept_[work.microbatch] = work.step;
  return input_of(shape_.stage + 1, work.step, work.microbatch);
}

BackwardResult FakeExecutor::backward(MicrobatchId microbatch, const TensorBlob& output_gradient) {
  const auto kept = kept_.find(microbatch);
  CHECK(kept != kept_.end(), "a backward needs the forward before it");
  spring_trap(kept->second, microbatch, Pass::kBackward);
  CHECK(output_gradient == input_of(shape_.stage + 1, kept->second, microbatch), "the gradient is of another input");
  return accumulate(kept->second, microbatch);
}

BackwardResult FakeExecutor::forward_backward(const MicrobatchWork& work) {
  spring_trap(work.step, work.microbatch, Pass::kForward);
  CHECK(shape_.stage + 1 == shape_.stage_count, "only the last stage computes the loss");
  check_input(work);
  return accumulate(work.step, work.microbatch);
}

BackwardResult FakeExecutor::accumulate(StepId step, MicrobatchId microbatch) {
  accumulators_.at(microbatch.value) += gradient_of(step);
  BackwardResult result;
  result.token_count = kTokens;
  if (shape_.stage + 1 == shape_.stage_count) result.loss_sum = 1.0 + microbatch.value;
  if (shape_.stage > 0) result.input_gradient = input_of(shape_.stage, step, microbatch);
  if (poisoned_.erase(microbatch) > 0) result.bad_tensor = "fake.weight";
  return result;
}

EvaluateResult FakeExecutor::evaluate(const MicrobatchWork& work) {
  EvaluateResult result;
  result.token_count = kTokens;
  if (shape_.stage + 1 == shape_.stage_count) {
    result.loss_sum = 1.0 + work.microbatch.value;
  } else {
    result.activation = input_of(shape_.stage + 1, work.step, work.microbatch);
  }
  return result;
}

void FakeExecutor::empty_step() {
  accumulators_.assign(shape_.microbatch_count, 0);
  kept_.clear();
}

void FakeExecutor::zero() { empty_step(); }

TensorBlob FakeExecutor::contribution() const { return make_values(shape_.dtype, accumulators_); }

ReducedSum FakeExecutor::adopt_sum(const TensorBlob& sum, std::uint64_t token_count) {
  sum_ = values_of(sum);
  token_count_ = token_count;
  ReducedSum reduced;
  double squares = 0;
  for (const std::int64_t value : *sum_) {
    reduced.digest = reduced.digest * 1'000'003 + static_cast<std::uint64_t>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  reduced.norms = {{compose("fake.", shape_.stage), squares}};
  return reduced;
}

void FakeExecutor::apply(const UpdateOrder&) {
  CHECK(sum_, "an apply needs a sum");
  for (std::size_t at = 0; at < weights_.size(); ++at) weights_[at] = weights_[at] * 3 + sum_->at(at);
  applied_sums_.push_back(*sum_);
  skip();
}

void FakeExecutor::skip() {
  empty_step();
  sum_.reset();
}

std::uint64_t FakeExecutor::state_digest() const {
  std::uint64_t digest = 17;
  for (const std::int64_t value : weights_) digest = digest * 1'000'003 + static_cast<std::uint64_t>(value);
  return digest;
}

TensorBlob FakeExecutor::state_image() const { return make_values(DType::kInt64, weights_); }

Status FakeExecutor::load_state(const TensorBlob& image) {
  if (image.element_count() != static_cast<std::int64_t>(weights_.size())) {
    return fail(Error::kInvalidData, "the image has another number of weights");
  }
  weights_ = values_of(image);
  return Done{};
}

}  // namespace shoal
