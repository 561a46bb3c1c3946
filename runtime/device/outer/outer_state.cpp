// One tensor after the other: steps, merges, digests.
#include "runtime/device/outer/outer_state.h"

#include <algorithm>
#include <utility>

#include "runtime/base/ensure.h"
#include "runtime/device/digest.h"

namespace shoal {
namespace {

constexpr const char* kOuter = "outer.";
constexpr const char* kMomentum = "outer.momentum.";
constexpr const char* kStart = "outer.start.";
constexpr const char* kOwnOuter = "outer.own.";
constexpr const char* kOwnMomentum = "outer.own_momentum.";
constexpr const char* kContribution = "outer.contribution.";

bool is_eager(const SyncConfig& sync, EagerVariant variant) {
  return sync.outer_update == OuterUpdate::kEager && sync.eager_variant == variant;
}

std::vector<Fragment> fragments_of(const FlatLayout& layout, const SyncConfig& sync) {
  std::vector<StageTensor> tensors;
  for (const FlatTensor& tensor : layout.tensors) tensors.push_back({tensor.spec.layer, tensor.count});
  return deal_fragments(tensors, static_cast<std::uint32_t>(sync.fragments), sync.pattern);
}

std::size_t largest(const FlatLayout& layout) {
  std::size_t count = 0;
  for (const FlatTensor& tensor : layout.tensors) count = std::max(count, tensor.count);
  return count;
}

}  // namespace

std::size_t round_arrays(InnerState inner) { return inner == InnerState::kAverage ? 3 : 1; }

void ensure_round_values(const RoundUpdate& update, const Fragment& carried, InnerState inner) {
  const auto has_values = [&](const TensorBlob& blob, std::size_t arrays) {
    return blob.dtype == DType::kFloat32 &&
           blob.element_count() == static_cast<std::int64_t>(arrays * carried.element_count);
  };
  ENSURE(update.mean.has_value() || inner != InnerState::kAverage, "averages come with a mean");
  ENSURE(!update.mean.has_value() || has_values(update.mean, round_arrays(inner)), "a mean of the fragment's values");
  ENSURE(!update.own.has_value() || has_values(update.own, 1), "a delta of the fragment's values");
}

OuterState::OuterState(const FlatLayout& layout, const SyncConfig& sync, std::unique_ptr<OuterMath> math,
                       ConstValues weights)
    : layout_(layout), sync_(sync), math_(std::move(math)), fragments_(fragments_of(layout, sync)) {
  outer_ = math_->zeros(layout.size);
  momentum_ = math_->zeros(layout.size);
  if (is_eager(sync, EagerVariant::kAgreed)) start_ = math_->zeros(layout.size);
  if (is_eager(sync, EagerVariant::kPaper)) {
    own_outer_ = math_->zeros(layout.size);
    own_momentum_ = math_->zeros(layout.size);
  }
  if (sync.outer_update == OuterUpdate::kEager) {
    contribution_ = math_->zeros(layout.size);
    gradient_ = math_->zeros(largest(layout));
    scratch_ = math_->zeros(largest(layout));
  }
  start_missing(parts(), weights);
}

OuterState::Values OuterState::base() const {
  if (sync_.outer_update != OuterUpdate::kEager) return outer_;
  return sync_.eager_variant == EagerVariant::kPaper ? own_outer_ : start_;
}

void OuterState::contribute(std::uint32_t fragment, ConstValues weights, Values delta) const {
  const Fragment& carried = fragments_.at(fragment);
  ENSURE(delta.size() == carried.element_count, "a delta of the fragment's size");
  for (const std::size_t index : carried.tensors) {
    const FlatTensor& tensor = layout_.tensors[index];
    math_->delta(part_of(base(), tensor), part_of(weights, tensor), delta.first(tensor.count));
    delta = delta.subspan(tensor.count);
  }
}

void OuterState::step(std::uint64_t round, const OuterTensor& tensor) const {
  if (round <= sync_.outer_warmup) {
    math_->average(tensor.outer, tensor.gradient);
  } else {
    math_->nesterov({static_cast<float>(sync_.outer_lr), static_cast<float>(sync_.outer_momentum)}, tensor);
  }
}

std::uint64_t OuterState::apply(const RoundUpdate& update, const RoundValues& values, Values weights) {
  const Fragment& carried = fragments_.at(update.fragment);
  const bool has_mean = update.mean.has_value();
  ENSURE(!has_mean || update.round > 0, "no round has no mean");
  ENSURE(has_mean || sync_.outer_update != OuterUpdate::kWait, "a round that is waited for has a mean");
  ENSURE(values.mean.size() == (has_mean ? carried.element_count : 0), "a mean of the fragment's size");
  ENSURE(values.own.size() == (update.own.has_value() ? carried.element_count : 0) &&
             (values.own.empty() || sync_.outer_update == OuterUpdate::kEager),
         "an eager delta of the fragment's size");
  digests_[update.fragment].reset();
  ConstValues rest = values.mean;
  ConstValues own = values.own;
  for (const std::size_t index : carried.tensors) {
    const FlatTensor& tensor = layout_.tensors[index];
    ConstValues mean;
    if (has_mean) {
      mean = rest.first(tensor.count);
      rest = rest.subspan(tensor.count);
      step(update.round, {part_of(outer_, tensor), part_of(momentum_, tensor), mean});
    }
    if (!own.empty()) {
      math_->copy(own.first(tensor.count), part_of(contribution_, tensor));
      own = own.subspan(tensor.count);
    }
    if (sync_.outer_update == OuterUpdate::kEager) {
      if (update.is_closing) {
        step_back(tensor);
      } else {
        step_ahead(update, tensor, mean, weights);
      }
    }
    math_->blend(static_cast<float>(sync_.mix), part_of(base(), tensor), part_of(weights, tensor));
  }
  return digest(update.fragment);
}

void OuterState::step_ahead(const RoundUpdate& update, const FlatTensor& tensor, ConstValues mean,
                            ConstValues weights) {
  const Values gradient = gradient_.first(tensor.count);
  const Values scratch = scratch_.first(tensor.count);
  if (mean.empty()) {
    math_->clear(scratch);
    mean = scratch;
  }
  math_->eager_gradient(
      {update.newest_weight, update.own_weight, update.total_weight},
      {part_of(base(), tensor), part_of(weights, tensor), mean, part_of(contribution_, tensor), gradient});
  const std::uint64_t newest_round = update.round + 1;
  if (sync_.eager_variant == EagerVariant::kPaper) {
    step(newest_round, {part_of(own_outer_, tensor), part_of(own_momentum_, tensor), gradient});
  } else {
    math_->copy(part_of(outer_, tensor), part_of(start_, tensor));
    math_->copy(part_of(momentum_, tensor), scratch);
    step(newest_round, {part_of(start_, tensor), scratch, gradient});
  }
}

void OuterState::step_back(const FlatTensor& tensor) {
  if (sync_.eager_variant == EagerVariant::kPaper) {
    math_->copy(part_of(outer_, tensor), part_of(own_outer_, tensor));
    math_->copy(part_of(momentum_, tensor), part_of(own_momentum_, tensor));
  } else {
    math_->copy(part_of(outer_, tensor), part_of(start_, tensor));
  }
  math_->clear(part_of(contribution_, tensor));
}

std::vector<std::uint64_t> OuterState::restart(Values weights) {
  math_->copy(outer_, weights);
  std::set<std::string> derived = parts();
  derived.erase(kOuter);
  derived.erase(kMomentum);
  start_missing(derived, weights);
  std::vector<std::uint64_t> digests;
  for (std::uint32_t index = 0; index < fragments_.size(); ++index) digests.push_back(digest(index));
  return digests;
}

std::uint64_t OuterState::digest() const {
  Digest digest;
  for (std::uint32_t fragment = 0; fragment < fragments_.size(); ++fragment) {
    const std::uint64_t one = this->digest(fragment);
    digest.add_values({&one, 1});
  }
  return digest.value();
}

std::uint64_t OuterState::digest(std::uint32_t fragment) const {
  std::optional<std::uint64_t>& known = digests_.at(fragment);
  if (!known) known = math_->digest({layout_, fragments_.at(fragment).tensors, {outer_, momentum_}});
  return *known;
}

// Lists those of the variant.
std::vector<std::pair<const char*, OuterState::Values>> OuterState::named_buffers() const {
  std::vector<std::pair<const char*, Values>> named;
  for (const auto& one : {std::pair(kOuter, outer_), std::pair(kMomentum, momentum_), std::pair(kStart, start_),
                          std::pair(kOwnOuter, own_outer_), std::pair(kOwnMomentum, own_momentum_),
                          std::pair(kContribution, contribution_)}) {
    if (!one.second.empty()) named.push_back(one);
  }
  return named;
}

std::vector<OuterState::Values> OuterState::buffers() {
  std::vector<Values> buffers;
  for (const auto& [part, buffer] : named_buffers()) buffers.push_back(buffer);
  return buffers;
}

template <class Value, class Self>
void OuterState::list_fields(Self& self, std::vector<StateField<Value>>& fields) {
  for (const auto& [part, buffer] : self.named_buffers()) {
    for (const FlatTensor& tensor : self.layout_.tensors) {
      fields.push_back({part, tensor.spec.name, tensor.spec.shape, part_of(buffer, tensor)});
    }
  }
}

void OuterState::add_fields(StateFields& fields) { list_fields(*this, fields); }
void OuterState::add_fields(ConstStateFields& fields) const { list_fields(*this, fields); }

std::set<std::string> OuterState::parts() const {
  std::set<std::string> parts;
  for (const auto& [part, buffer] : named_buffers()) parts.insert(part);
  return parts;
}

void OuterState::start_missing(const std::set<std::string>& missing, ConstValues weights) {
  buffers_changed();
  if (missing.contains(kOuter)) math_->copy(weights, outer_);
  if (missing.contains(kMomentum)) math_->clear(momentum_);
  if (missing.contains(kStart)) math_->copy(outer_, start_);
  if (missing.contains(kOwnOuter)) math_->copy(outer_, own_outer_);
  if (missing.contains(kOwnMomentum)) math_->copy(momentum_, own_momentum_);
  if (missing.contains(kContribution)) math_->clear(contribution_);
}

}  // namespace shoal
