// Weights and averages: update, digest, image.
#include "runtime/device/stage_state.h"

#include <algorithm>
#include <cstring>
#include <memory>
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
  if (config.sync.mode == SyncMode::kDiloco) {
    outer_.emplace(layout_, config.sync, host_outer_math(), weights_.all());
  }
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

std::vector<std::span<float>> StageState::outer_buffers() {
  return outer_ ? outer_->buffers() : std::vector<std::span<float>>();
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
  if (outer_) outer_->buffers_changed();
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
  if (outer_) outer_->start_missing(loader.missing(), weights_.all());
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
  if (outer_) outer_->start_missing(done->missing(), weights_.all());
  has_begun_ = true;
  return is_whole;
}

// inner_state = average: what travels is delta, exp_avg, exp_avg_sq of the fragment, float32 [3n].
TensorBlob StageState::contribute_round(std::uint32_t fragment) {
  ENSURE(outer_, "rounds are of sync.mode = diloco");
  ensure_begun();
  const Fragment& carried = outer_->fragment(fragment);
  const std::size_t count = carried.element_count * round_arrays(inner_state_);
  auto bytes = std::make_shared<AlignedBuffer>(count * sizeof(float));
  std::span<float> to(reinterpret_cast<float*>(bytes->data()), count);
  outer_->contribute(fragment, weights_.all(), to.first(carried.element_count));
  to = to.subspan(carried.element_count);
  for (const FlatBuffer<float>* average : {&exp_avg_, &exp_avg_sq_}) {
    if (to.empty()) break;
    for (const std::size_t index : carried.tensors) {
      const auto from = average->of(layout_.tensors[index]);
      std::ranges::copy(from, to.begin());
      to = to.subspan(from.size());
    }
  }
  return {DType::kFloat32, {static_cast<std::int64_t>(count)}, std::move(bytes)};
}

std::uint64_t StageState::apply_round(const RoundUpdate& update) {
  ENSURE(outer_, "rounds are of sync.mode = diloco");
  ensure_begun();
  const Fragment& carried = outer_->fragment(update.fragment);
  ensure_round_values(update, carried, inner_state_);
  keep_for_readers();
  if (inner_state_ == InnerState::kReset) reset_averages(carried.tensors);
  OuterState::RoundValues values;
  if (update.mean.has_value()) values.mean = {update.mean.as<float>(), carried.element_count};
  if (update.own.has_value()) values.own = {update.own.as<float>(), carried.element_count};
  if (inner_state_ == InnerState::kAverage) take_averages(carried, update.mean);
  return outer_->apply(update, values, weights_.all());
}

std::vector<std::uint64_t> StageState::restart_from_outer() {
  ENSURE(outer_, "rounds are of sync.mode = diloco");
  ensure_begun();
  keep_for_readers();
  if (inner_state_ == InnerState::kReset) reset_averages(layout_.all());
  return outer_->restart(weights_.all());
}

void StageState::reset_averages(const std::vector<std::size_t>& tensors) {
  for (const std::size_t index : tensors) {
    const FlatTensor& tensor = layout_.tensors[index];
    for (FlatBuffer<float>* average : {&exp_avg_, &exp_avg_sq_}) std::ranges::fill(average->of(tensor), 0.0F);
  }
  restart_updates(tensors);
}

void StageState::restart_updates(const std::vector<std::size_t>& tensors) {
  keep_for_readers();
  for (const std::size_t index : tensors) updates_[index] = 0;
}

// They stand behind the delta's mean.
void StageState::take_averages(const Fragment& carried, const TensorBlob& mean) {
  const float* from = mean.as<float>() + carried.element_count;
  for (FlatBuffer<float>* average : {&exp_avg_, &exp_avg_sq_}) {
    for (const std::size_t index : carried.tensors) {
      const auto to = average->of(layout_.tensors[index]);
      std::copy_n(from, to.size(), to.begin());
      from += to.size();
    }
  }
}

}  // namespace shoal
