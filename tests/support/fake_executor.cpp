// Integers in, integers out: small enough that every sum can be checked by eye.
#include "tests/support/fake_executor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"

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
  if (blob.dtype == DType::kUint8) return values_of({DType::kInt64, {blob.shape.at(0) / 8}, blob.bytes});
  std::vector<std::int64_t> values;
  for (std::int64_t at = 0; at < blob.element_count(); ++at) {
    values.push_back(blob.dtype == DType::kInt64 ? blob.as<std::int64_t>()[at]
                                                 : static_cast<std::int64_t>(blob.as<float>()[at]));
  }
  return values;
}

TensorBlob joined_values(const std::vector<std::byte>& pieces) {
  auto bytes = std::make_shared<AlignedBuffer>(pieces.size());
  std::memcpy(bytes->data(), pieces.data(), pieces.size());
  return {DType::kInt64, {static_cast<std::int64_t>(pieces.size() / sizeof(std::int64_t))}, std::move(bytes)};
}

namespace {

// A signed blob has, behind what input_of() gives, the replica that computed it and the one whose input it used.
constexpr std::size_t kSignedAt = 3;

[[nodiscard]] TensorBlob without_signature(const TensorBlob& blob) {
  std::vector<std::int64_t> values = values_of(blob);
  values.resize(std::min(values.size(), kSignedAt));
  return make_values(blob.dtype, values);
}

[[nodiscard]] std::int64_t signature(const TensorBlob& blob, std::size_t index) {
  const std::vector<std::int64_t> values = values_of(blob);
  return values.size() > kSignedAt + index ? values[kSignedAt + index] : 0;
}

}  // namespace

FakeExecutor::FakeExecutor(FakeShape shape)
    : shape_(shape),
      accumulators_(shape.microbatch_count, 0),
      weights_(shape.microbatch_count, 0),
      outer_(has_rounds() ? shape.microbatch_count : 0) {}

TensorBlob FakeExecutor::input_of(std::uint32_t stage, StepId step, MicrobatchId microbatch) {
  return make_values(DType::kInt64, {stage, static_cast<std::int64_t>(step.value), microbatch.value});
}

TensorBlob FakeExecutor::signed_by(TensorBlob blob, std::int64_t input_from) const {
  if (!shape_.passes) return blob;
  std::vector<std::int64_t> values = values_of(blob);
  values.push_back(static_cast<std::int64_t>(shape_.self.value));
  values.push_back(input_from);
  return make_values(blob.dtype, values);
}

void FakeExecutor::check_input(const MicrobatchWork& work) const {
  if (shape_.samples && shape_.stage == 0) {
    const std::vector<std::int64_t> values = values_of(work.input);
    ENSURE(values.size() == kSignedAt && values[0] == 0, "a sample of stage 0");
    const std::pair sample{StepId{static_cast<std::uint64_t>(values[1])},
                           MicrobatchId{static_cast<std::uint32_t>(values[2])}};
    (*shape_.samples)[{shape_.self, work.step, work.microbatch}] = sample;
    return;
  }
  ENSURE(
      without_signature(work.input) == input_of(shape_.stage, work.step, work.microbatch),
      compose("stage ", shape_.stage, " got another input for microbatch ", work.microbatch, " of step ", work.step));
}

void FakeExecutor::spring_trap(StepId step, MicrobatchId microbatch, Pass pass) const {
  const bool is_here = trap_.call && trap_.step == step && trap_.microbatch == microbatch && trap_.pass == pass;
  if (is_here) trap_.call();
}

TensorBlob FakeExecutor::forward(const MicrobatchWork& work) {
  spring_trap(work.step, work.microbatch, Pass::kForward);
  ENSURE(shape_.stage + 1 < shape_.stage_count, "the last stage computes loss and gradient at once");
  check_input(work);
  const std::int64_t input_from = signature(work.input, 0);
  kept_[work.microbatch] = {work.step, input_from};
  return signed_by(input_of(shape_.stage + 1, work.step, work.microbatch), input_from);
}

BackwardResult FakeExecutor::backward(MicrobatchId microbatch, const TensorBlob& output_gradient, WeightGradients) {
  const auto kept = kept_.find(microbatch);
  ENSURE(kept != kept_.end(), "a backward needs the forward before it");
  const auto [step, input_from] = kept->second;
  spring_trap(step, microbatch, Pass::kBackward);
  ENSURE(without_signature(output_gradient) == input_of(shape_.stage + 1, step, microbatch),
         "the gradient is of another input");
  return differentiate(step, microbatch, {input_from, signature(output_gradient, 0), signature(output_gradient, 1)});
}

BackwardResult FakeExecutor::forward_backward(const MicrobatchWork& work, WeightGradients) {
  spring_trap(work.step, work.microbatch, Pass::kForward);
  ENSURE(shape_.stage + 1 == shape_.stage_count, "only the last stage computes the loss");
  check_input(work);
  return differentiate(work.step, work.microbatch, {signature(work.input, 0), 0, 0});
}

AccumulateResult FakeExecutor::accumulate(MicrobatchId microbatch) {
  const auto half = half_done_.find(microbatch);
  ENSURE(half != half_done_.end(), "a microbatch is accumulated once, after its backward");
  accumulators_.at(microbatch.value) += gradient_of(half->second);
  half_done_.erase(half);
  AccumulateResult result{kTokens, std::nullopt};
  if (poisoned_.erase(microbatch) > 0) result.bad_tensor = "fake.weight";
  return result;
}

BackwardResult FakeExecutor::differentiate(StepId step, MicrobatchId microbatch, FakePass pass) {
  if (shape_.passes) (*shape_.passes)[{shape_.self, step, microbatch}] = pass;
  ENSURE(half_done_.emplace(microbatch, step).second, "a microbatch is accumulated before it is computed again");
  BackwardResult result;
  result.token_count = kTokens;
  if (shape_.stage + 1 == shape_.stage_count) result.loss_sum = 1.0 + microbatch.value;
  if (shape_.stage > 0) result.input_gradient = signed_by(input_of(shape_.stage, step, microbatch), pass.input_from);
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
  half_done_.clear();
}

void FakeExecutor::zero() { empty_step(); }

TensorBlob FakeExecutor::contribution() const {
  ENSURE(half_done_.empty(), "what is contributed is accumulated to the end");
  return make_values(shape_.dtype, accumulators_);
}

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
  ENSURE(sum_, "an apply needs a sum");
  const std::uint64_t factor = has_rounds() ? 1 : 3;
  for (std::size_t at = 0; at < weights_.size(); ++at) {  // modulo 2^64
    const auto before = static_cast<std::uint64_t>(weights_[at]), sum = static_cast<std::uint64_t>(sum_->at(at));
    weights_[at] = static_cast<std::int64_t>(before * factor + sum);
  }
  applied_sums_.push_back(*sum_);
  skip();
}

void FakeExecutor::skip() {
  empty_step();
  sum_.reset();
}

std::uint64_t FakeExecutor::state_digest() const {
  std::uint64_t digest = 17;
  if (has_rounds()) {
    for (std::uint32_t fragment = 0; fragment < static_cast<std::uint32_t>(shape_.sync.fragments); ++fragment) {
      digest = digest * 1'000'003 + outer_digest(fragment);
    }
    return digest;
  }
  for (const std::int64_t value : weights_) digest = digest * 1'000'003 + static_cast<std::uint64_t>(value);
  return digest;
}

TensorBlob FakeExecutor::state_image() const {
  std::vector<std::int64_t> values = weights_;
  for (const Outer& outer : outer_) {
    for (const double value : {outer.agreed, outer.momentum, outer.base, outer.contribution}) {
      values.push_back(std::bit_cast<std::int64_t>(value));
    }
  }
  const TensorBlob image = make_values(DType::kInt64, values);
  return {DType::kUint8, {static_cast<std::int64_t>(image.byte_count())}, image.bytes};
}

Status FakeExecutor::load_state(const TensorBlob& image) {
  const std::vector<std::int64_t> values = values_of(image);
  const std::size_t count = weights_.size();
  const bool has_outer = !outer_.empty() && values.size() == count * 5;
  if (values.size() != count && !has_outer) {
    return fail(Error::kInvalidData, "the image has another number of weights");
  }
  weights_.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t at = 0; at < outer_.size(); ++at) {
    const auto weight = static_cast<double>(weights_[at]);
    const auto value = [&](std::size_t field) { return std::bit_cast<double>(values[count + 4 * at + field]); };
    outer_[at] = has_outer ? Outer{value(0), value(1), value(2), value(3)} : Outer{weight, 0, weight, 0};
  }
  return Done{};
}

std::shared_ptr<ImageSource> FakeExecutor::image_source() { return std::make_shared<WholeImage>(state_image()); }

Result<bool> FakeExecutor::load_piece(const ImagePiece& piece) {
  if (piece.offset == 0) pieces_.clear();
  ENSURE(pieces_.size() == piece.offset, "the pieces of an image are loaded in their order");
  const auto* from = piece.bytes.as<std::byte>();
  pieces_.insert(pieces_.end(), from, from + piece.bytes.byte_count());
  if (pieces_.size() < piece.bytes_total) return false;
  const Status loaded = load_state(joined_values(std::exchange(pieces_, {})));
  if (!loaded) return loaded.failure();
  return true;
}

std::vector<std::size_t> FakeExecutor::elements_of(std::uint32_t fragment) const {
  ENSURE(has_rounds(), "rounds are of sync.mode = diloco");
  const auto count = static_cast<std::size_t>(shape_.sync.fragments);
  ENSURE(fragment < count, "a fragment of the stage");
  std::vector<std::size_t> elements;
  for (std::size_t at = fragment; at < outer_.size(); at += count) elements.push_back(at);
  return elements;
}

TensorBlob FakeExecutor::contribute_round(std::uint32_t fragment) {
  std::vector<std::int64_t> deltas;
  for (const std::size_t at : elements_of(fragment)) {
    deltas.push_back(std::llround(outer_[at].base - static_cast<double>(weights_[at])));
  }
  return make_values(DType::kFloat32, deltas);
}

std::uint64_t FakeExecutor::apply_round(const RoundUpdate& update) {
  const std::vector<std::size_t> elements = elements_of(update.fragment);
  const bool has_mean = update.mean.has_value();
  ENSURE(!has_mean || update.round > 0, "no round has no mean");
  ENSURE(has_mean || shape_.sync.outer_update != OuterUpdate::kWait, "a round that is waited for has a mean");
  ENSURE(!has_mean || update.mean.element_count() == static_cast<std::int64_t>(elements.size()), "a mean of that size");
  const bool is_eager = shape_.sync.outer_update == OuterUpdate::kEager;
  const double total = update.newest_weight + update.total_weight - update.own_weight;
  for (std::size_t index = 0; index < elements.size(); ++index) {
    const std::size_t at = elements[index];
    Outer& outer = outer_[at];
    const double mean = has_mean ? static_cast<double>(update.mean.as<float>()[index]) : 0;
    if (has_mean) outer.momentum = outer.momentum / 2 + mean;
    outer.agreed -= mean;
    const double newest = outer.base - static_cast<double>(weights_[at]);
    const double others = update.total_weight * mean - update.own_weight * outer.contribution;
    const double ahead =
        is_eager && !update.is_closing && total > 0 ? (update.newest_weight * newest + others) / total : 0;
    if (is_eager) outer.contribution = update.is_closing ? 0 : newest;
    outer.base = std::round(outer.agreed - ahead);
    const double mix = shape_.sync.mix;
    weights_[at] = std::llround(mix * static_cast<double>(weights_[at]) + (1 - mix) * outer.base);
  }
  return outer_digest(update.fragment);
}

std::vector<std::uint64_t> FakeExecutor::restart_from_outer() {
  std::vector<std::uint64_t> digests;
  for (std::uint32_t fragment = 0; fragment < static_cast<std::uint32_t>(shape_.sync.fragments); ++fragment) {
    for (const std::size_t at : elements_of(fragment)) {
      outer_[at].base = std::round(outer_[at].agreed);
      outer_[at].contribution = 0;
      weights_[at] = std::llround(outer_[at].agreed);
    }
    digests.push_back(outer_digest(fragment));
  }
  return digests;
}

std::uint64_t FakeExecutor::outer_digest(std::uint32_t fragment) const {
  std::uint64_t digest = 29;
  for (const std::size_t at : elements_of(fragment)) {
    for (const double value : {outer_[at].agreed, outer_[at].momentum}) {
      digest = digest * 1'000'003 + std::bit_cast<std::uint64_t>(value);
    }
  }
  return digest;
}

}  // namespace shoal
