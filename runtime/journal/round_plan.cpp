// Deals tensors to fragments, and counts versions.
#include "runtime/journal/round_plan.h"

#include <algorithm>
#include <map>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

class Dealer {
 public:
  Dealer(const std::vector<StageTensor>& tensors, std::uint32_t count) : tensors_(tensors), fragments_(count) {}

  void give(std::size_t fragment, std::size_t tensor) {
    fragments_[fragment].tensors.push_back(tensor);
    fragments_[fragment].element_count += tensors_[tensor].element_count;
  }

  void pack_by_size(std::vector<std::size_t> loose) {
    std::stable_sort(loose.begin(), loose.end(), [this](std::size_t a, std::size_t b) {
      return tensors_[a].element_count > tensors_[b].element_count;
    });
    for (const std::size_t tensor : loose) {
      const auto least =
          std::min_element(fragments_.begin(), fragments_.end(),
                           [](const Fragment& a, const Fragment& b) { return a.element_count < b.element_count; });
      give(static_cast<std::size_t>(least - fragments_.begin()), tensor);
    }
  }

  [[nodiscard]] std::vector<Fragment> take() {
    for (Fragment& fragment : fragments_) std::sort(fragment.tensors.begin(), fragment.tensors.end());
    return std::move(fragments_);
  }

 private:
  const std::vector<StageTensor>& tensors_;
  std::vector<Fragment> fragments_;
};

}  // namespace

std::vector<Fragment> deal_fragments(const std::vector<StageTensor>& tensors, std::uint32_t count,
                                     FragmentPattern pattern) {
  ENSURE(count >= 1, "a stage has at least one fragment");
  std::map<int, std::vector<std::size_t>> blocks;  // by layer
  std::vector<std::size_t> loose;
  for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    const auto layer = tensors[tensor].layer;
    (layer ? blocks[*layer] : loose).push_back(tensor);
  }
  Dealer dealer(tensors, count);
  std::size_t index = 0;
  for (const auto& [layer, block] : blocks) {
    const std::size_t at = pattern == FragmentPattern::kStrided ? index % count : index * count / blocks.size();
    ++index;
    for (const std::size_t tensor : block) {
      if (blocks.size() < count) {
        loose.push_back(tensor);
      } else {
        dealer.give(at, tensor);
      }
    }
  }
  dealer.pack_by_size(std::move(loose));
  return dealer.take();
}

RoundSchedule::RoundSchedule(const SyncConfig& sync)
    : period_(sync.H), overlap_(sync.overlap), waits_(sync.outer_update == OuterUpdate::kWait) {
  if (sync.mode != SyncMode::kDiloco) return;
  ENSURE(sync.H >= 1 && sync.fragments >= 1, "a round has steps, a stage fragments");
  ENSURE(!waits_ || sync.overlap < sync.H, "a round ends before the fragment's next one begins");
  const auto count = static_cast<std::uint64_t>(sync.fragments);
  for (std::uint64_t fragment = 0; fragment < count; ++fragment) {
    const std::uint64_t rounded = (2 * (fragment + 1) * period_ + count) / (2 * count);
    offsets_.push_back(rounded % period_ == 0 ? period_ : rounded % period_);
  }
}

std::uint64_t RoundSchedule::round_at(std::uint32_t fragment, std::uint64_t version) const {
  const bool contributes = version >= offsets_[fragment] && (version - offsets_[fragment]) % period_ == 0;
  return contributes ? contributed_by(fragment, version) : 0;
}

std::uint64_t RoundSchedule::contributed_by(std::uint32_t fragment, std::uint64_t version) const {
  return version < offsets_[fragment] ? 0 : (version - offsets_[fragment]) / period_ + 1;
}

std::vector<RoundId> RoundSchedule::contributions_at(std::uint64_t version) const {
  std::vector<RoundId> rounds;
  for (std::uint32_t fragment = 0; fragment < fragment_count(); ++fragment) {
    const std::uint64_t round = round_at(fragment, version);
    if (round > 0) rounds.push_back({fragment, round});
  }
  return rounds;
}

std::vector<RoundId> RoundSchedule::due_at(std::uint64_t version) const {
  std::vector<RoundId> due;
  if (waits_) return version < overlap_ ? due : contributions_at(version - overlap_);
  due = contributions_at(version);
  for (RoundId& round : due) round.number -= 1;
  return due;
}

std::vector<RoundId> RoundSchedule::in_flight_after(std::uint64_t version) const {
  std::vector<RoundId> rounds;
  for (std::uint32_t fragment = 0; fragment < fragment_count(); ++fragment) {
    const std::uint64_t newest = contributed_by(fragment, version);
    if (newest > 0 && due_version({fragment, newest}) > version) rounds.push_back({fragment, newest});
  }
  return rounds;
}

std::uint64_t RoundSchedule::contribution_version(const RoundId& round) const {
  ENSURE(round.number >= 1, "rounds count from 1");
  return offsets_.at(round.fragment) + (round.number - 1) * period_;
}

std::uint64_t RoundSchedule::due_version(const RoundId& round) const { return contribution_version(round) + delay(); }

std::uint64_t RoundSchedule::feedback_chain(const RoundId& round) const {
  const std::uint64_t count = 1 + delay() / period_;  // a round that is due where the next one is contributed to: 2
  return round.fragment * count + round.number % count;
}

}  // namespace shoal
