// One tensor after the other: steps, merges, digests.
#include "runtime/device/outer_state.h"

#include <algorithm>
#include <cstring>
#include <memory>
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

void copy(std::span<const float> from, std::span<float> to) { std::copy(from.begin(), from.end(), to.begin()); }

}  // namespace

OuterState::OuterState(const FlatLayout& layout, const SyncConfig& sync, const FlatBuffer<float>& weights)
    : layout_(layout),
      sync_(sync),
      fragments_(fragments_of(layout, sync)),
      outer_(layout.size),
      momentum_(layout.size),
      start_(is_eager(sync, EagerVariant::kAgreed) ? layout.size : 0),
      own_outer_(is_eager(sync, EagerVariant::kPaper) ? layout.size : 0),
      own_momentum_(is_eager(sync, EagerVariant::kPaper) ? layout.size : 0),
      contribution_(sync.outer_update == OuterUpdate::kEager ? layout.size : 0),
      digests_(fragments_.size()),
      gradient_(sync.outer_update == OuterUpdate::kEager ? largest(layout) : 0),
      scratch_(gradient_.size()) {
  start_missing(parts(), weights);
}

const FlatBuffer<float>& OuterState::base() const {
  if (sync_.outer_update != OuterUpdate::kEager) return outer_;
  return sync_.eager_variant == EagerVariant::kPaper ? own_outer_ : start_;
}

TensorBlob OuterState::contribute(std::uint32_t fragment, const FlatBuffer<float>& weights) const {
  const Fragment& carried = fragments_.at(fragment);
  auto bytes = std::make_shared<AlignedBuffer>(carried.element_count * sizeof(float));
  std::span<float> rest(reinterpret_cast<float*>(bytes->data()), carried.element_count);
  for (const std::size_t index : carried.tensors) {
    const FlatTensor& tensor = layout_.tensors[index];
    outer_delta(base().of(tensor), weights.of(tensor), rest.first(tensor.count));
    rest = rest.subspan(tensor.count);
  }
  return {DType::kFloat32, {static_cast<std::int64_t>(carried.element_count)}, bytes};
}

void OuterState::step(std::uint64_t round, const OuterTensor& tensor) const {
  if (round <= sync_.outer_warmup) {
    apply_average(tensor.outer, tensor.gradient);
  } else {
    apply_nesterov({static_cast<float>(sync_.outer_lr), static_cast<float>(sync_.outer_momentum)}, tensor);
  }
}

std::uint64_t OuterState::apply(const RoundUpdate& update, FlatBuffer<float>& weights) {
  const Fragment& carried = fragments_.at(update.fragment);
  const bool has_mean = update.mean.has_value();
  ENSURE(!has_mean || update.round > 0, "no round has no mean");
  ENSURE(has_mean || sync_.outer_update != OuterUpdate::kWait, "a round that is waited for has a mean");
  ENSURE(!has_mean || (update.mean.dtype == DType::kFloat32 &&
                       update.mean.element_count() == static_cast<std::int64_t>(carried.element_count)),
         "a mean of the fragment's type and size");
  ENSURE(!update.own.has_value() || (sync_.outer_update == OuterUpdate::kEager &&
                                     update.own.element_count() == static_cast<std::int64_t>(carried.element_count)),
         "an eager delta of the fragment's size");
  digests_[update.fragment].reset();
  std::span<const float> rest;
  std::span<const float> own;
  if (has_mean) rest = {update.mean.as<float>(), carried.element_count};
  if (update.own.has_value()) own = {update.own.as<float>(), carried.element_count};
  for (const std::size_t index : carried.tensors) {
    const FlatTensor& tensor = layout_.tensors[index];
    std::span<const float> mean;
    if (has_mean) {
      mean = rest.first(tensor.count);
      rest = rest.subspan(tensor.count);
      step(update.round, {outer_.of(tensor), momentum_.of(tensor), mean});
    }
    if (!own.empty()) {
      copy(own.first(tensor.count), contribution_.of(tensor));
      own = own.subspan(tensor.count);
    }
    if (sync_.outer_update == OuterUpdate::kEager) {
      if (update.is_closing) {
        step_back(tensor);
      } else {
        step_ahead(update, tensor, mean, weights);
      }
    }
    blend(static_cast<float>(sync_.mix), base().of(tensor), weights.of(tensor));
  }
  return digest(update.fragment);
}

void OuterState::step_ahead(const RoundUpdate& update, const FlatTensor& tensor, std::span<const float> mean,
                            const FlatBuffer<float>& weights) {
  const std::span<float> gradient = std::span(gradient_).first(tensor.count);
  const std::span<float> scratch = std::span(scratch_).first(tensor.count);
  if (mean.empty()) {
    std::fill(scratch.begin(), scratch.end(), 0.0F);
    mean = scratch;
  }
  eager_gradient({update.newest_weight, update.own_weight, update.total_weight},
                 {base().of(tensor), weights.of(tensor), mean, contribution_.of(tensor), gradient});
  const std::uint64_t newest_round = update.round + 1;
  if (sync_.eager_variant == EagerVariant::kPaper) {
    step(newest_round, {own_outer_.of(tensor), own_momentum_.of(tensor), gradient});
  } else {
    copy(outer_.of(tensor), start_.of(tensor));
    copy(momentum_.of(tensor), scratch);
    step(newest_round, {start_.of(tensor), scratch, gradient});
  }
}

void OuterState::step_back(const FlatTensor& tensor) {
  if (sync_.eager_variant == EagerVariant::kPaper) {
    copy(outer_.of(tensor), own_outer_.of(tensor));
    copy(momentum_.of(tensor), own_momentum_.of(tensor));
  } else {
    copy(outer_.of(tensor), start_.of(tensor));
  }
  std::ranges::fill(contribution_.of(tensor), 0.0F);
}

std::vector<std::uint64_t> OuterState::restart(FlatBuffer<float>& weights) {
  copy(outer_.all(), weights.all());
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
  if (known) return *known;
  Digest digest;
  for (const FlatBuffer<float>* buffer : {&outer_, &momentum_}) {
    for (const std::size_t index : fragments_.at(fragment).tensors) {
      digest.add(std::as_bytes(buffer->of(layout_.tensors[index])));
    }
  }
  known = digest.value();
  return *known;
}

template <class Value, class Self>
void OuterState::list_fields(Self& self, std::vector<StateField<Value>>& fields) {
  for (const auto& [part, buffer] :
       {std::pair(kOuter, &self.outer_), std::pair(kMomentum, &self.momentum_), std::pair(kStart, &self.start_),
        std::pair(kOwnOuter, &self.own_outer_), std::pair(kOwnMomentum, &self.own_momentum_),
        std::pair(kContribution, &self.contribution_)}) {
    if (!buffer->all().empty()) add_part(fields, self.layout_, part, *buffer);
  }
}

void OuterState::add_fields(StateFields& fields) { list_fields(*this, fields); }
void OuterState::add_fields(ConstStateFields& fields) const { list_fields(*this, fields); }

std::set<std::string> OuterState::parts() const {
  ConstStateFields fields;
  add_fields(fields);
  std::set<std::string> parts;
  for (const auto& field : fields) parts.insert(field.part);
  return parts;
}

void OuterState::start_missing(const std::set<std::string>& missing, const FlatBuffer<float>& weights) {
  digests_.assign(fragments_.size(), std::nullopt);
  if (missing.contains(kOuter)) copy(weights.all(), outer_.all());
  if (missing.contains(kMomentum)) momentum_.clear();
  if (missing.contains(kStart)) copy(outer_.all(), start_.all());
  if (missing.contains(kOwnOuter)) copy(outer_.all(), own_outer_.all());
  if (missing.contains(kOwnMomentum)) copy(momentum_.all(), own_momentum_.all());
  if (missing.contains(kContribution)) contribution_.clear();
}

}  // namespace shoal
