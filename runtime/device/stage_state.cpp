// Weights and averages: update, digest, image.
#include "runtime/device/stage_state.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "model/initial_weights.h"
#include "runtime/base/ensure.h"
#include "runtime/device/digest.h"
#include "runtime/storage/inner_parts.h"

namespace shoal {
namespace {

std::size_t average_size(const FlatLayout& layout, const OptimConfig& optim) {
  return optim.kind == OptimizerKind::kAdamw ? layout.size : 0;
}

}  // namespace

StageState::StageState(const FlatLayout& layout, const Config& config, BeginsWith begins)
    : layout_(layout),
      optim_(config.optim),
      inner_state_(inner_state_of(config)),
      weights_(layout.size),
      exp_avg_(average_size(layout, config.optim)),
      exp_avg_sq_(average_size(layout, config.optim)),
      updates_(inner_state_ == InnerState::kReset ? layout.tensors.size() : 0),
      has_begun_(begins == BeginsWith::kInitialWeights) {
  if (has_begun_) {
    for (const FlatTensor& tensor : layout_.tensors) {
      initial_weights(config.model, config.run.seed, tensor.spec, weights_.of(tensor));
    }
  }
  if (config.sync.mode == SyncMode::kDiloco) outer_.emplace(layout_, config.sync, weights_);
}

void StageState::ensure_begun() const { ENSURE(has_begun_, "a state is asked for before its image was loaded"); }

void StageState::update(const GradientSums& sums, const UpdateOrder& order) {
  ensure_begun();
  keep_for_readers();
  for (std::size_t index = 0; index < layout_.tensors.size(); ++index) {
    const FlatTensor& tensor = layout_.tensors[index];
    const double weight_decay = tensor.spec.decays ? optim_.weight_decay : 0;
    if (optim_.kind == OptimizerKind::kSgd) {
      const SgdCoefficients coefficients{static_cast<float>(order.clip_scale),
                                         static_cast<float>(1 - order.learning_rate * weight_decay),
                                         static_cast<float>(order.learning_rate)};
      apply_sgd(coefficients, weights_.of(tensor), sums.mean_of(tensor));
      continue;
    }
    apply_adamw(adamw_coefficients(next_adamw_rule(index, order)),
                {weights_.of(tensor), exp_avg_.of(tensor), exp_avg_sq_.of(tensor), sums.mean_of(tensor)});
  }
}

AdamwRule StageState::next_adamw_rule(std::size_t tensor, const UpdateOrder& order) {
  if (!updates_.empty()) keep_for_readers();
  const auto own_count = updates_.empty() ? order.optimizer_step : static_cast<std::uint64_t>(updates_[tensor] += 1);
  return {.learning_rate = order.learning_rate,
          .clip_scale = order.clip_scale,
          .beta1 = optim_.beta1,
          .beta2 = optim_.beta2,
          .eps = optim_.eps,
          .weight_decay = layout_.tensors[tensor].spec.decays ? optim_.weight_decay : 0,
          .optimizer_step = own_count};
}

std::vector<std::span<float>> StageState::buffers() {
  if (optim_.kind != OptimizerKind::kAdamw) return {weights_.all()};
  return {weights_.all(), exp_avg_.all(), exp_avg_sq_.all()};
}

template <class Value, class Self>
void StageState::list_fields(Self& self, std::vector<StateField<Value>>& fields) {
  add_part(fields, self.layout_, "", self.weights_);
  if (self.optim_.kind != OptimizerKind::kAdamw) return;
  add_part(fields, self.layout_, std::string(kExpAvg), self.exp_avg_);
  add_part(fields, self.layout_, std::string(kExpAvgSq), self.exp_avg_sq_);
  for (std::size_t index = 0; index < self.updates_.size(); ++index) {
    fields.push_back(
        {std::string(kUpdates), self.layout_.tensors[index].spec.name, {1}, std::span(&self.updates_[index], 1)});
  }
}

std::uint64_t StageState::digest() const {
  ensure_begun();
  if (outer_) return outer_->digest();
  ConstStateFields fields;
  list_fields(*this, fields);
  Digest digest;
  for (const auto& field : fields) digest.add(std::as_bytes(field.values));
  return digest.value();
}

ConstStateFields StageState::fields() const {
  ensure_begun();
  ConstStateFields fields;
  list_fields(*this, fields);
  if (outer_) outer_->add_fields(fields);
  return fields;
}

TensorBlob StageState::image() const { return write_state_image(fields()); }

std::shared_ptr<ImageSource> StageState::image_source() {
  auto bytes = read_.lock();
  if (!bytes) read_ = bytes = std::make_shared<StateImageBytes>(fields());
  return std::make_shared<StateImageSource>(std::move(bytes));
}

// Readers that come later read another version.
void StageState::keep_for_readers() {
  if (const auto bytes = std::exchange(read_, {}).lock()) bytes->keep();
}

StateImageLoader StageState::loader() {
  StateFields fields;
  list_fields(*this, fields);
  if (outer_) outer_->add_fields(fields);
  return {std::move(fields), outer_ ? outer_->parts() : std::set<std::string>()};
}

Status StageState::load(const TensorBlob& image) {
  if (!image.has_value() || image.dtype != DType::kUint8) return fail(Error::kInvalidData, "the state image is empty");
  keep_for_readers();
  StateImageLoader loader = this->loader();
  const auto loaded = loader.take({image.bytes->data(), image.byte_count()}, image.byte_count());
  if (!loaded) return loaded.failure();
  if (outer_) outer_->start_missing(loader.missing(), weights_);
  has_begun_ = true;
  return Done{};
}

Result<bool> StageState::load_piece(const ImagePiece& piece) {
  if (!piece.bytes.bytes || piece.bytes.dtype != DType::kUint8) {
    return fail(Error::kInvalidData, "a piece of the state image is empty");
  }
  if (piece.offset == 0) {
    keep_for_readers();
    loader_ = std::make_unique<StateImageLoader>(loader());
  }
  ENSURE(loader_ && loader_->taken() == piece.offset, "the pieces of an image are loaded in their order");
  auto is_whole = loader_->take({piece.bytes.bytes->data(), piece.bytes.byte_count()}, piece.bytes_total);
  if (is_whole && !is_whole.value()) return is_whole;
  const auto done = std::exchange(loader_, nullptr);
  if (!is_whole) return is_whole;
  if (outer_) outer_->start_missing(done->missing(), weights_);
  has_begun_ = true;
  return is_whole;
}

TensorBlob StageState::contribute_round(std::uint32_t fragment) {
  ENSURE(outer_, "rounds are of sync.mode = diloco");
  ensure_begun();
  keep_for_readers();
  const TensorBlob delta = outer_->contribute(fragment, weights_);
  return inner_state_ == InnerState::kAverage ? with_averages(fragment, delta) : delta;
}

std::uint64_t StageState::apply_round(const RoundUpdate& update) {
  ENSURE(outer_, "rounds are of sync.mode = diloco");
  ensure_begun();
  keep_for_readers();
  if (inner_state_ == InnerState::kReset) reset_averages(outer_->fragment(update.fragment).tensors);
  if (inner_state_ != InnerState::kAverage) return outer_->apply(update, weights_);
  RoundUpdate of_weights = update;
  of_weights.mean = take_averages(update.fragment, update.mean);
  return outer_->apply(of_weights, weights_);
}

std::vector<std::uint64_t> StageState::restart_from_outer() {
  ENSURE(outer_, "rounds are of sync.mode = diloco");
  ensure_begun();
  keep_for_readers();
  if (inner_state_ == InnerState::kReset) {
    std::vector<std::size_t> all(layout_.tensors.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    reset_averages(all);
  }
  return outer_->restart(weights_);
}

void StageState::reset_averages(const std::vector<std::size_t>& tensors) {
  for (const std::size_t index : tensors) {
    const FlatTensor& tensor = layout_.tensors[index];
    for (FlatBuffer<float>* average : {&exp_avg_, &exp_avg_sq_}) std::ranges::fill(average->of(tensor), 0.0F);
    updates_[index] = 0;
  }
}

TensorBlob StageState::with_averages(std::uint32_t fragment, const TensorBlob& delta) const {
  auto bytes = std::make_shared<AlignedBuffer>(3 * delta.byte_count());
  std::memcpy(bytes->data(), delta.bytes->data(), delta.byte_count());
  std::byte* to = bytes->data() + delta.byte_count();
  for (const FlatBuffer<float>* average : {&exp_avg_, &exp_avg_sq_}) {
    for (const std::size_t index : outer_->fragment(fragment).tensors) {
      const auto from = average->of(layout_.tensors[index]);
      std::memcpy(to, from.data(), from.size_bytes());
      to += from.size_bytes();
    }
  }
  return {DType::kFloat32, {3 * delta.element_count()}, bytes};
}

TensorBlob StageState::take_averages(std::uint32_t fragment, const TensorBlob& mean) {
  const Fragment& carried = outer_->fragment(fragment);
  ENSURE(mean.dtype == DType::kFloat32 && mean.element_count() == 3 * static_cast<std::int64_t>(carried.element_count),
         "a mean of the fragment's weights and averages");
  auto bytes = std::make_shared<AlignedBuffer>(mean.byte_count() / 3);
  std::memcpy(bytes->data(), mean.bytes->data(), bytes->size());
  const std::byte* from = mean.bytes->data() + bytes->size();
  for (FlatBuffer<float>* average : {&exp_avg_, &exp_avg_sq_}) {
    for (const std::size_t index : carried.tensors) {
      const auto to = average->of(layout_.tensors[index]);
      std::memcpy(to.data(), from, to.size_bytes());
      from += to.size_bytes();
    }
  }
  return {DType::kFloat32, {static_cast<std::int64_t>(carried.element_count)}, bytes};
}

}  // namespace shoal
